// Declarations alone; see c/common.h.
#pragma once

#include "tensorflow/lite/c/common.h"

namespace tflite {

enum class MemoryPlannerType { kGreedy, kLinear };

class MicroAllocator {
 public:
  static MicroAllocator* Create(uint8_t* tensor_arena, size_t arena_size,
                                MemoryPlannerType memory_planner_type = MemoryPlannerType::kGreedy);
};

}  // namespace tflite
