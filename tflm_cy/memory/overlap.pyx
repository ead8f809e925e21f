# tflm_cy: optimize=speed
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
The search is that of `optimal`, in which such a pair keeps the distance d instead of the output's size; there a row is
used if the input's last step is the output's first one, whatever else starts or ends there. Where rows are left, a second
search (`first_fit`) uses all of them: an input may live on, of which only bytes above the output are needed (rows of an
image that no later SLICE reads). The plan is never worse than that of `optimal`. Its bound counts all permitted overlaps.

Two buffers that may lie at equal addresses or apart, and nothing between (a RESHAPE, which copies unless the addresses
are equal), are one buffer here: the caller joins them.

An overlap plan destroys the inputs that it overlaps. `keep_inputs` names buffers (the graph's inputs, whose caller
wants them again) that live to the end and are never overlapped.

The idea is diagonal memory optimisation (Blacker et al., 2020).
"""
from itertools import permutations

from libc.stdint cimport int64_t

from tflm_cy.memory.first_fit cimport first_fit
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
        plan.lower_bound = min(plan.lower_bound, bound_of_needs(problem))
        return first_fit(problem, plan, plan.lower_bound, budget)
    lower = max(packing.bound(), bound_of_groups(problem))
    for i in range(problem.count):
        if problem.fixed_of[i] != ONLINE:
            lower = max(lower, problem.fixed_of[i] + problem.rounded(i))
    if not packing.exact:
        lower = bound_of_needs(problem)
    plan = minimised(packing, greedy(problem), lower, budget)
    if not packing.exact:
        plan.lower_bound = min(plan.lower_bound, lower)
        if plan.high_water_mark > lower:
            plan = first_fit(problem, plan, lower, budget)
    if plan.high_water_mark > lower and may_be_lower(problem, plan.high_water_mark):
        strict = optimal(problem, budget, seconds)
        if strict.high_water_mark < plan.high_water_mark:
            strict.lower_bound = plan.lower_bound
            return strict
    return plan


cdef bint may_be_lower(Problem problem, int64_t height) except -1:
    """Whether a plan without overlaps could be lower than this."""
    cdef Packing packing = packing_of(problem, False, 1, 0)
    return packing is None or packing.bound() < height


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


cdef int64_t bound_of_needs(Problem problem) except -1:
    """The most bytes alive at one time that no row permits to be shared.

    A row (o, i, d) lets o lie over the first size(o) - d bytes of i, wherever it lies. So of each buffer those bytes are
    left out that a buffer of its rows, alive at the same time, may cover; what is left of all buffers is disjoint.
    """
    cdef Py_ssize_t i, output
    cdef int64_t most = 0, now, covered
    cdef object alignment = problem.alignment
    cdef list births, above = [[] for _ in range(problem.count)]
    cdef dict least = {}
    for output, i, distance in problem.relaxed:
        distance = -(-distance // alignment) * alignment         # of Python's integers: division rounds down
        least[output, i] = max(distance, least.get((output, i), distance))
    for (output, i), distance in least.items():
        if distance < problem.rounded(output):
            above[i].append((output, problem.rounded(output) - distance))
    births = sorted({problem.first_of[i] for i in range(problem.count)})
    for time in births:
        now = 0
        for i in range(problem.count):
            if not problem.first_of[i] <= time <= problem.last_of[i]:
                continue
            covered = 0
            for output, size in above[i]:
                if problem.first_of[output] <= time <= problem.last_of[output]:
                    covered = max(covered, size)
            now += max(problem.rounded(i) - covered, 0)
        most = max(most, now)
    for i in range(problem.count):
        if problem.size_of[i] > 0:
            most = max(most, problem.rounded(i) + max(problem.fixed_of[i], 0))
        elif problem.fixed_of[i] != ONLINE:
            most = max(most, problem.fixed_of[i])
    return most


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
