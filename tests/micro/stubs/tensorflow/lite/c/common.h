// Declarations alone, with TFLM's names and signatures: what a firmware's lines are compiled against in the tests.
#pragma once

#include <cstddef>
#include <cstdint>

enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 };

union TfLitePtrUnion {
  float* f;
  int8_t* int8;
};

struct TfLiteQuantizationParams {
  float scale;
  int32_t zero_point;
};

struct TfLiteTensor {
  TfLiteQuantizationParams params;
  TfLitePtrUnion data;
  size_t bytes;
};

struct TfLiteContext;
struct TfLiteNode;

#define TF_LITE_ENSURE_STATUS(a)      \
  do {                                \
    const TfLiteStatus status = (a);  \
    if (status != kTfLiteOk) return status; \
  } while (0)
