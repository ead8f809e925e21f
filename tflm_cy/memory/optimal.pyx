# tflm_cy: optimize=speed
"""The planner that searches: never worse than greedy, usually the lowest plan there is, and it says when it is.

    >>> from tflm_cy.memory.greedy import greedy
    >>> from tflm_cy.memory.problem import Problem
    >>> problem = Problem([48, 64, 64, 32], [0, 1, 3, 0], [0, 3, 3, 2])
    >>> greedy(problem).high_water_mark, optimal(problem).high_water_mark, optimal(problem).proven_lower_bound
    (160, 128, 128)

A plan is optimal when its high water mark equals `proven_lower_bound`. The search (`packing`) counts its nodes, about
200,000 in a second, so a problem has the same plan everywhere; `seconds` sets a limit in time as well, and gives this
up. A larger `budget` is for plans that are not proven: of the published problems of minimalloc (A to K) only D and J
have a gap, and 1,000,000 nodes find 1,006,592 for D, 8,000,000 nodes 1,007,616 for J (about a minute). Fixed offsets
are obeyed. Relaxed rows are not used (`overlap` does), and the bound is that of plans without them.

Greedy's own plan is the answer where the search is of no use: more than 4096 buffers, more than 2**30 units of the
sizes' common divisor, fixed offsets that are not aligned or in conflict with each other.
"""
from libc.stdint cimport int64_t

from tflm_cy.memory.greedy cimport greedy
from tflm_cy.memory.branch_and_bound cimport FOUND, Packing
from tflm_cy.memory.portfolio cimport adopt, minimised, run
from tflm_cy.memory.problem cimport ONLINE, Plan, Problem, new_plan
from tflm_cy.memory.search_space cimport packing_of


cpdef Plan optimal(Problem problem, int64_t budget=200_000, double seconds=0):
    """The lowest plan that `budget` search nodes (and `seconds`, if positive) find."""
    cdef Plan plan = greedy(problem)
    cdef Packing packing = packing_of(problem, False, budget, seconds)
    cdef Py_ssize_t i
    cdef int64_t lower
    if packing is None:
        return plan
    lower = packing.bound()
    for i in range(problem.count):
        if problem.fixed_of[i] != ONLINE:
            lower = max(lower, problem.fixed_of[i] + problem.rounded(i))
    return minimised(packing, plan, lower, budget)


cpdef Plan fit(Problem problem, int64_t capacity, int64_t budget=1_000_000, double seconds=0):
    """A plan of at most `capacity` bytes, or None if the search finds none; what is lower is not looked for."""
    cdef Plan plan = greedy(problem)
    cdef Packing packing = packing_of(problem, False, budget, seconds)
    cdef int verdict
    if packing is None:
        return plan if plan.high_water_mark <= capacity else None
    with nogil:
        verdict = run(packing, capacity, budget)
    if verdict != FOUND:
        return None
    plan = new_plan(problem)
    adopt(packing, plan)
    return plan
