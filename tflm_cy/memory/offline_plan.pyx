"""The planner that obeys: offsets made elsewhere (an offline plan), the rest planned around them.

    >>> from tflm_cy.memory.problem import Problem
    >>> plan = offline_plan(Problem([32, 16, 48], [0, 0, 1], [0, 1, 1]), [16, 0, -1])
    >>> plan.offsets, plan.high_water_mark
    ((16, 0, 16), 64)

Each offset is taken as it is; -1 leaves the buffer to greedy, which sees the given ones first, in order of index: the
rule of TFLM for a model with offline offsets, and with no -1 that of its NonPersistentMemoryPlannerShim. Nothing is
checked, since an offline plan may overlap what its maker knows to be safe; `check` is the judge.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc,
non_persistent_buffer_planner_shim.cc.
"""
from tflm_cy.memory.greedy cimport greedy
from tflm_cy.memory.problem cimport Plan, Problem


cpdef Plan offline_plan(Problem problem, object offsets=None):
    """Plan with these offsets, or with the problem's fixed ones; ValueError if their number is not that of buffers."""
    if offsets is None or problem is None:
        return greedy(problem)
    return greedy(Problem(problem.sizes, problem.first_use, problem.last_use, offsets, problem.alignment,
                          problem.relaxed, problem.order))
