"""The planner that never reuses memory: every buffer has its own place, in index order.

    >>> from tflm_cy.memory.problem import Problem
    >>> linear(Problem([100, 80, 50], [0, 1, 2], [1, 2, 3])).offsets
    (0, 112, 192)

It serves who wants to read every tensor after the run (TFLM's kPreserveAllTensors), and as the height that reuse is
compared with. Fixed offsets are an error, as in TFLM. TFLM's planner also stops at 1024 buffers; this one does not.
"""
from libc.stdint cimport int64_t

from tflm_cy.memory.problem cimport ONLINE, Plan, Problem, new_plan


cpdef Plan linear(Problem problem):
    """Plan each buffer behind the one before; ValueError if one has a fixed offset."""
    cdef Py_ssize_t i
    cdef int64_t at = 0
    cdef Plan plan = new_plan(problem)
    for i in range(problem.count):
        if problem.fixed_of[i] != ONLINE:
            raise ValueError(f"buffer {i} has a fixed offset, which the linear planner cannot obey")
    for i in range(problem.count):
        plan.offset_of[i] = at
        at += problem.rounded(i)
    plan.high_water_mark = at
    return plan
