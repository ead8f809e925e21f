// Declarations alone; see c/common.h.
#pragma once

namespace tflite {
struct Model;
const Model* GetModel(const void* buffer);
}
