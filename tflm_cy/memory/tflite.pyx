"""TensorFlow Lite's planner, as in 2.21: the largest first, each in the best gap.

    >>> from tflm_cy.memory.problem import Problem
    >>> plan = tflite(Problem([100, 80, 50], [0, 2, 1], [1, 3, 2], alignment=1))
    >>> plan.offsets, plan.high_water_mark
    ((0, 0, 100), 150)

Times are execution nodes; a buffer whose last use is NEVER (2**31 - 1) is never released. `Problem.order` holds per
buffer (tensor index, node that allocates it, node of a temporary or -1, arena); without it these are the buffer's
index, its first use, -1 and 0. Order of placement: what is allocated at node 0 and never released, by tensor index;
then by size, then by node; further ties as in TensorFlow, see `arena_planner`, if buffers of one node come in the order
variables, graph inputs, outputs. Buffers that share memory there are one buffer here (`ArenaPlanner` finds them).

Arena 1 is the persistent one, whose buffers are never reused. It is a memory of its own in TensorFlow; here it lies
behind the other, so that the plan has one address space: offsets in it count from its first buffer. The last use of
such a buffer matters for the order only.

Fixed offsets are an error, relaxed rows are not used. TensorFlow does not round sizes up; the high water mark here is
that of the contract, with the last buffer's size rounded.
"""
from functools import partial

from libc.stdint cimport int64_t

from tflm_cy.memory.problem cimport ONLINE, ORDER_KEYS, Plan, Problem, new_plan

from tflm_cy.memory.libstdcxx import IntSet, std_sort
from tflm_cy.memory.simple_memory_arena import NEVER, SimpleMemoryArena


cpdef Plan tflite(Problem problem):
    """Plan a problem as TensorFlow Lite does; ValueError if a buffer has a fixed offset."""
    cdef Plan plan = new_plan(problem)
    cdef Py_ssize_t i
    cdef int64_t behind
    cdef list sorted_buffers, persistent = []
    main, other = SimpleMemoryArena(problem.alignment), SimpleMemoryArena(problem.alignment)
    for i in range(problem.count):
        plan.offset_of[i] = 0
        if problem.fixed_of[i] != ONLINE:
            raise ValueError(f"buffer {i} has a fixed offset, which TensorFlow Lite's planner does not know")
        if not 0 <= key(problem, i, 3) <= 1:
            raise ValueError(f"buffer {i} lies in arena {key(problem, i, 3)}; 0 or 1 (persistent) was expected")
    sorted_buffers = std_sort(as_listed(problem), partial(is_before, problem))
    for i in sorted_buffers:
        if key(problem, i, 3) == 0:
            plan.offset_of[i] = main.allocate(problem.size_of[i], problem.first_of[i], problem.last_of[i])
        elif problem.size_of[i]:
            plan.offset_of[i] = other.allocate(problem.size_of[i], problem.first_of[i], NEVER)
            persistent.append(i)
    behind = (main.high_water_mark + problem.alignment - 1) // problem.alignment * problem.alignment
    for i in persistent:
        plan.offset_of[i] += behind
    plan.high_water_mark = 0
    for i in range(problem.count):
        plan.high_water_mark = max(plan.high_water_mark, plan.offset_of[i] + problem.rounded(i))
    return plan


cdef list as_listed(Problem problem):
    """The buffers as TensorFlow hands them to the sort: per node an unordered set, temporaries inserted last."""
    cdef Py_ssize_t i
    cdef dict tensors = {}, buffer_of = {}
    for temporary in (False, True):
        for i in range(problem.count):
            node = key(problem, i, 2)
            if (node >= 0) == temporary:
                node = node if temporary else key(problem, i, 1)
                tensors.setdefault(node, IntSet()).add(key(problem, i, 0))
                if buffer_of.setdefault(key(problem, i, 0), i) != i:
                    raise ValueError(f"buffers {buffer_of[key(problem, i, 0)]} and {i} have the same tensor index")
    listed = [buffer_of[t] for node in sorted(tensors) for t in tensors[node].order]
    return [i for i in listed if problem.size_of[i] or key(problem, i, 3) == 1]


cdef int64_t key(Problem problem, Py_ssize_t i, int which) noexcept:
    if problem.order_of != NULL:
        return problem.order_of[ORDER_KEYS * i + which]
    if which == 0:
        return i
    if which == 1:
        return problem.first_of[i]
    return -1 if which == 2 else 0


def is_before(Problem problem, Py_ssize_t a, Py_ssize_t b):
    cdef bint whole_a = lives_throughout(problem, a), whole_b = lives_throughout(problem, b)
    if whole_a and whole_b:
        return key(problem, a, 0) < key(problem, b, 0)
    if whole_a or whole_b:
        return whole_a
    if problem.size_of[a] != problem.size_of[b]:
        return problem.size_of[a] > problem.size_of[b]
    return node_of(problem, a) < node_of(problem, b)


cdef int64_t node_of(Problem problem, Py_ssize_t i) noexcept:
    """The node that allocates a buffer."""
    cdef int64_t temporary = key(problem, i, 2)
    return temporary if temporary >= 0 else key(problem, i, 1)


cdef bint lives_throughout(Problem problem, Py_ssize_t i):
    return node_of(problem, i) == 0 and problem.last_of[i] == <int64_t> NEVER
