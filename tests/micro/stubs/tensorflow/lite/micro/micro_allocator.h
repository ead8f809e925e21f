// Declarations alone; see c/common.h.
#pragma once

#include "tensorflow/lite/c/common.h"

namespace tflite {

enum class MemoryPlannerType { kGreedy, kLinear };

class MicroAllocator {
 public:
  static MicroAllocator* Create(uint8_t* tensor_arena, size_t arena_size,
                                MemoryPlannerType memory_planner_type = MemoryPlannerType::kGreedy);
  static MicroAllocator* Create(uint8_t* persistent_tensor_arena, size_t persistent_arena_size,
                                uint8_t* non_persistent_tensor_arena, size_t non_persistent_arena_size,
                                MemoryPlannerType memory_planner_type = MemoryPlannerType::kGreedy);
};

}  // namespace tflite
