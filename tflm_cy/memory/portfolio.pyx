"""Which orders a packing is looked for in, and for how long.

    verdict = run(packing, height, budget)                   # FOUND: adopt(packing, plan)
    plan = minimised(packing, incumbent, lower, budget)

The static orders take turns with a number of nodes that doubles each round. Nodes are counted, not time, so the same problem gives the same plan
everywhere. Without a height to reach heights are bisected, each with many orders that have a few nodes each.

    >>> from tflm_cy.memory.problem import Problem
    >>> from tflm_cy.memory.optimal import optimal
    >>> problem = Problem([80, 96, 96, 128, 80], [0, 1, 0, 3, 5], [2, 4, 0, 3, 5], alignment=16)
    >>> [optimal(problem, budget).high_water_mark for budget in (1, 100)]
    [304, 224]
"""
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from tflm_cy.memory.order cimport STATIC_ORDERS
from tflm_cy.memory.branch_and_bound cimport FOUND, NONE, SPENT, Packing, late
from tflm_cy.memory.problem cimport ONLINE, Plan, Problem, new_plan

cdef int RANDOM_ORDERS = 3              # new ones each round
cdef int[3] BEGINNINGS = [4, 3, 5]      # eighths of the way from the bound to the best plan

cdef enum:
    ATTEMPTS = 23                       # at one height: two winners, the static orders, 16 new ones


cdef int run(Packing packing, int64_t height, int64_t budget) noexcept nogil:
    """Look for a packing of at most `height` bytes, with so many nodes."""
    cdef int64_t end = packing.nodes + budget, step = 2 * packing.count + 16
    cdef int verdict, turn, order, round_number = 0
    while packing.nodes < end:
        for turn in range(STATIC_ORDERS + RANDOM_ORDERS):
            order = turn if turn < STATIC_ORDERS else turn + round_number * RANDOM_ORDERS
            verdict = packing.attempt(height, order, min(step, end - packing.nodes))
            if verdict != SPENT:
                return verdict
            if packing.nodes >= end or late(packing):
                return SPENT
        round_number += 1
        step *= 2
    return SPENT


cdef Plan minimised(Packing packing, Plan incumbent, int64_t lower, int64_t budget):
    """The lowest plan that the budget finds, never above `incumbent`; `lower` is a proven bound in bytes.

    First the bound itself. Then bisections between the bound and the best plan; at each height the orders that won
    last, the static ones and some new ones have `step` nodes each. An order leads to a packing of a height soon or
    hardly ever, and which ones do is as good as random, for the next height anew: many short attempts find more than
    few long ones. What they do not decide proves nothing, and a lower height may well be easier: so bisections begin at
    other heights in turn. One that finds nothing, and every second one, doubles the step.
    """
    cdef Plan plan = new_plan(packing.problem)
    cdef int64_t end = packing.nodes + budget, step = 4 * packing.count + 32
    cdef int64_t best, top, low, target
    cdef int[ATTEMPTS] orders
    cdef int[2] winners = [0, 1]
    cdef int k, verdict, fresh = STATIC_ORDERS, bisection = 0
    memcpy(plan.offset_of, incumbent.offset_of, plan.count * sizeof(int64_t))
    best = plan.high_water_mark = incumbent.high_water_mark
    lower = (lower + packing.unit - 1) // packing.unit * packing.unit
    if lower < best:
        with nogil:
            verdict = run(packing, lower, max(min(budget // 2, 50_000 + budget // 16), 1))
        if verdict == FOUND:
            best = adopt(packing, plan)
        elif verdict == NONE:
            lower += packing.unit
    while lower < best and packing.nodes < end and not late(packing):
        top = best
        low = lower
        while low < best and packing.nodes < end and not late(packing):
            target = low + (best - low) * BEGINNINGS[bisection % 3] // 8 // packing.unit * packing.unit
            target = max(low, min(target, best - packing.unit))
            for k in range(ATTEMPTS):
                if k < 2:
                    orders[k] = winners[k]
                elif k < 2 + STATIC_ORDERS:
                    orders[k] = k - 2
                else:
                    orders[k] = fresh
                    fresh += 1
            with nogil:
                verdict = attempts(packing, target, orders, step, end, &k)
            if verdict == FOUND:
                best = adopt(packing, plan)
                if orders[k] != winners[0]:
                    winners[1] = winners[0]
                    winners[0] = orders[k]
            elif verdict == NONE:
                lower = low = target + packing.unit
            else:
                low = target + packing.unit
        if best == top or bisection % 2:
            step *= 2
        bisection += 1
    plan.lower_bound = min(lower, best)
    return plan


cdef int attempts(Packing packing, int64_t height, const int* orders, int64_t step, int64_t end, int* last) noexcept nogil:
    """Orders in turn, each with `step` nodes and all until `end`; `last` becomes the position of the one that decided."""
    cdef int k, verdict = SPENT
    for k in range(ATTEMPTS):
        if (k > 0 and orders[k] == orders[0]) or (k > 1 and orders[k] == orders[1]):
            continue
        verdict = packing.attempt(height, orders[k], min(step, end - packing.nodes))
        last[0] = k
        if verdict != SPENT or packing.nodes >= end or late(packing):
            break
    return verdict


cdef int64_t adopt(Packing packing, Plan plan) except -1:
    """Take over the offsets that `run` found; gives the height."""
    cdef Problem problem = packing.problem
    cdef Py_ssize_t i, k
    cdef int64_t height = 0
    for i in range(problem.count):
        plan.offset_of[i] = 0 if problem.fixed_of[i] == ONLINE else problem.fixed_of[i]
    for k in range(packing.count):
        plan.offset_of[packing.buffer_of[k]] = packing.offset[k] * packing.unit
    for i in range(problem.count):
        height = max(height, plan.offset_of[i] + problem.rounded(i))
    plan.high_water_mark = height
    return height
