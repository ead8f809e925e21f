"""The planner that lays outputs over dying inputs, as far as the problem's relaxed rows permit.

    >>> from tflm_cy.memory.check import check
    >>> from tflm_cy.memory.optimal import optimal
    >>> from tflm_cy.memory.problem import Problem
    >>> problem = Problem([64, 64, 16], [0, 1, 2], [1, 2, 2], relaxed=[(1, 0, 16), (2, 1, 0)])
    >>> plan = overlap(problem)
    >>> plan.offsets, plan.high_water_mark, optimal(problem).high_water_mark
    ((16, 0, 0), 80, 128)
    >>> check(problem, plan)

A row (output, input, d) says that the operator has read every byte of the input before it writes over it when the
input starts at least d bytes above the output: a convolution eats its input from below while its output grows behind.
The search is that of `optimal`, in which such a pair keeps the distance d instead of the output's size; a row is used
if the input's last step is the output's first one, whatever else starts or ends there. The plan is never worse than
that of `optimal`. Its bound counts all permitted overlaps; where a row cannot be used, it is the weaker
`Problem.load`.

Two buffers that may lie at equal addresses or apart, and nothing between (a RESHAPE, which copies unless the addresses
are equal), are one buffer here: the caller joins them.

An overlap plan destroys the inputs that it overlaps. `keep_inputs` names buffers (the graph's inputs, whose caller
wants them again) that live to the end and are never overlapped.

The idea is diagonal memory optimisation (Blacker et al., 2020).
"""
from itertools import permutations

from libc.stdint cimport int64_t

from tflm_cy.memory.greedy cimport greedy
from tflm_cy.memory.optimal cimport optimal
from tflm_cy.memory.branch_and_bound cimport Packing
from tflm_cy.memory.portfolio cimport minimised
from tflm_cy.memory.problem cimport ONLINE, Plan, Problem
from tflm_cy.memory.search_space cimport packing_of, relaxed_pairs

cdef Py_ssize_t SMALL_GROUP = 6         # 720 orders


cpdef Plan overlap(Problem problem, object keep_inputs=(), int64_t budget=200_000, double seconds=0):
    """The lowest plan that the budget finds; see `optimal` for `budget` and `seconds`."""
    cdef Plan plan, strict
    cdef Packing packing
    cdef int64_t lower
    cdef Py_ssize_t i
    problem = kept(problem, keep_inputs)
    if problem.relaxed_count == 0:
        return optimal(problem, budget, seconds)
    packing = packing_of(problem, True, budget, seconds)
    if packing is None:
        plan = optimal(problem, budget, seconds)
        plan.lower_bound = min(plan.lower_bound, problem.load())
        return plan
    lower = max(packing.bound(), bound_of_groups(problem))
    for i in range(problem.count):
        if problem.fixed_of[i] != ONLINE:
            lower = max(lower, problem.fixed_of[i] + problem.rounded(i))
    plan = minimised(packing, greedy(problem), lower, budget)
    if not packing.exact:
        plan.lower_bound = min(plan.lower_bound, problem.load())
    if plan.high_water_mark > lower:
        strict = optimal(problem, budget, seconds)
        if strict.high_water_mark < plan.high_water_mark:
            strict.lower_bound = plan.lower_bound
            return strict
    return plan


def kept(Problem problem, object keep_inputs):
    """The problem in which these buffers live to the end and no row lets them be overlapped."""
    cdef set keep = set(keep_inputs)
    if problem is None:
        raise TypeError("a Problem was expected, not None")
    if not keep:
        return problem
    for i in keep:
        if not 0 <= i < problem.count:
            raise ValueError(f"buffer {i} is to be kept, but there are {problem.count}")
    end = max(problem.last_use)
    last_use = [end if i in keep else last for i, last in enumerate(problem.last_use)]
    relaxed = [row for row in problem.relaxed if row[1] not in keep]
    return Problem(problem.sizes, problem.first_use, last_use, problem.fixed_offsets, problem.alignment, relaxed,
                   problem.order)


cdef object bound_of_groups(Problem problem):
    """At a step where inputs may be overlapped: what lives through, and the group of these inputs and the outputs."""
    cdef Py_ssize_t i
    cdef list items = [i for i in range(problem.count) if problem.size_of[i] > 0]
    cdef dict lives, pairs, group_at = {}
    lives, pairs, _ = relaxed_pairs(problem, items)
    if not items:
        return 0
    through = [0] * (max([stop for _, stop in lives.values()]) // 2 + 2)
    for i, (start, stop) in lives.items():
        if stop % 2 == 0:
            group_at.setdefault(stop // 2, ([], []))[0].append(i)
        if start % 2:
            group_at.setdefault(start // 2, ([], []))[1].append(i)
        if (start + 1) // 2 <= (stop - 1) // 2:
            through[(start + 1) // 2] += problem.rounded(i)
            through[(stop - 1) // 2 + 1] -= problem.rounded(i)
    most = now = 0
    for step, change in enumerate(through):
        now += change
        inputs, outputs = group_at.get(step, ((), ()))
        most = max(most, now + height_of_group(problem, list(inputs), list(outputs), pairs))
    return most


cdef object height_of_group(Problem problem, list inputs, list outputs, dict pairs):
    """The least height of one operator's buffers, over all orders; of a large group the larger side."""
    cdef Py_ssize_t i
    cdef list group = inputs + outputs
    if len(group) > SMALL_GROUP:
        return max([sum([problem.rounded(i) for i in side]) for side in (inputs, outputs)])
    least = {}                              # (lower, upper) -> distance
    for a in group:
        for b in group:
            least[a, b] = problem.rounded(a)
            if (a in inputs) != (b in inputs):
                o, i = (b, a) if a in inputs else (a, b)
                least[a, b] = pairs.get((o, i), (0, 0))[a == i]
    best = None
    for order in permutations(group):
        offsets, at = [], 0
        for k, b in enumerate(order):
            at = max([at] + [offsets[j] + least[order[j], b] for j in range(k)])
            offsets.append(at)
        height = max([at + problem.rounded(b) for at, b in zip(offsets, order)], default=0)
        best = height if best is None else min(best, height)
    return best
