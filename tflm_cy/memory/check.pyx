"""The judge of plans: knows what a plan must be, not how one is found, and shares no code with the planners.

    >>> from tflm_cy.memory.problem import Plan, Problem
    >>> problem = Problem([16, 32], [0, 1], [1, 2])
    >>> check(problem, Plan([0, 16], 48))
    >>> check(problem, Plan([0, 0], 32))
    Traceback (most recent call last):
        ...
    ValueError: buffers 0 and 1 are alive together and overlap: [0, 16) at times 0..1, [0, 32) at times 1..2

A plan is valid when it has an offset per buffer, each a multiple of the alignment and not negative, and equal to the
fixed one if there is one; when no two buffers that are alive together share a byte, except as a relaxed row permits;
and when its high water mark is the largest end (sizes rounded up to the alignment), not below the lower bound that it
claims.

`reads` says of some buffers which bytes are read at which times, (buffer, time, first byte, end): what is written once and
then read in parts. Of such a buffer only these bytes are looked at, from the step on in which another buffer that lies
over it is born, byte range by byte range; a row counts for the step of the birth alone, not for what is read later.

    >>> problem, plan = Problem([32, 16], [0, 2], [3, 3]), Plan([0, 0], 32)
    >>> check(problem, plan, reads=[(0, 1, 0, 16), (0, 3, 16, 32)])
    >>> check(problem, plan, reads=[(0, 1, 0, 16), (0, 3, 15, 32)])
    Traceback (most recent call last):
        ...
    ValueError: buffer 1 destroys what is read of buffer 0 at time 3: [0, 16) at times 2..3, bytes [15, 32) from 0 on

The pairs are compared one by one, on purpose: the judge should be easier to believe than any planner.
"""
from libc.stdint cimport int64_t

from tflm_cy.memory.problem cimport Plan, Problem

cdef int64_t LARGEST = <int64_t> 1 << 62


cpdef object check(Problem problem, Plan plan, object reads=()):
    """Raise ValueError that names the first violation; return None for a valid plan."""
    cdef Py_ssize_t i, j
    cdef dict parts
    if problem is None or plan is None:
        raise TypeError("a Problem and a Plan were expected, not None")
    if plan.count != problem.count:
        raise ValueError(f"the plan has {plan.count} offsets for {problem.count} buffers")
    for i in range(problem.count):
        check_offset(problem, plan, i)
    parts = parts_of(problem, reads)
    for i in range(problem.count):
        for j in range(i + 1, problem.count):
            if not share_time(problem, i, j) or not share_bytes(problem, plan, i, j):
                continue
            if i in parts and problem.first_of[i] < problem.first_of[j]:
                check_reads(problem, plan, j, i, parts[i])
            elif j in parts and problem.first_of[j] < problem.first_of[i]:
                check_reads(problem, plan, i, j, parts[j])
            elif not permitted(problem, plan, i, j):
                raise ValueError(
                    f"buffers {i} and {j} are alive together and overlap: "
                    f"{describe(problem, plan, i)}, {describe(problem, plan, j)}"
                )
    check_height(problem, plan)


cdef dict parts_of(Problem problem, object reads):
    """{buffer: [(time, first byte, end)]}."""
    cdef dict parts = {}
    for i, time, first, end in reads:
        if not 0 <= i < problem.count or not 0 <= first <= end <= problem.size_of[i]:
            raise ValueError(f"a read of the bytes [{first}, {end}) of buffer {i}, which has not these")
        if not problem.first_of[i] <= time <= problem.last_of[i]:
            raise ValueError(f"a read of buffer {i} at time {time}, when it is not alive")
        parts.setdefault(i, []).append((time, first, end))
    return parts


cdef int check_reads(Problem problem, Plan plan, Py_ssize_t late, Py_ssize_t early, list parts) except -1:
    """Whether the buffer that is born later spares what is read of the other one from then on."""
    cdef int64_t start = plan.offset_of[late], stop = start + problem.size_of[late], low, high
    for time, first, end in parts:
        low, high = plan.offset_of[early] + first, plan.offset_of[early] + end
        if time < problem.first_of[late] or max(low, start) >= min(high, stop):
            continue
        if time == problem.first_of[late] and covered(problem, plan, late, early):
            continue
        raise ValueError(
            f"buffer {late} destroys what is read of buffer {early} at time {time}: {describe(problem, plan, late)}, "
            f"bytes [{first}, {end}) from {plan.offset_of[early]} on"
        )
    return 0


cdef int check_offset(Problem problem, Plan plan, Py_ssize_t i) except -1:
    cdef int64_t offset = plan.offset_of[i], fixed = problem.fixed_of[i]
    if offset < 0:
        raise ValueError(f"buffer {i} lies before the head: offset {offset}")
    if offset > LARGEST:
        raise ValueError(f"buffer {i} lies beyond 2**62: offset {offset}")
    if offset % problem.alignment:
        raise ValueError(f"buffer {i} is not aligned: offset {offset} is no multiple of {problem.alignment}")
    if fixed >= 0 and offset != fixed:
        raise ValueError(f"buffer {i} lies at {offset}, but its offset is fixed to {fixed}")
    return 0


cdef int check_height(Problem problem, Plan plan) except -1:
    cdef int64_t height = 0, end, over
    cdef Py_ssize_t i
    for i in range(problem.count):
        end = plan.offset_of[i] + problem.size_of[i]
        over = end % problem.alignment
        if over:
            end += problem.alignment - over
        if end > height:
            height = end
    if plan.high_water_mark != height:
        raise ValueError(f"the high water mark is {height}, the plan says {plan.high_water_mark}")
    if plan.proven_lower_bound > height:
        raise ValueError(f"the plan claims that nothing below {plan.proven_lower_bound} is possible and needs {height}")
    return 0


cdef bint share_time(Problem problem, Py_ssize_t i, Py_ssize_t j):
    return problem.first_of[i] <= problem.last_of[j] and problem.first_of[j] <= problem.last_of[i]


cdef bint share_bytes(Problem problem, Plan plan, Py_ssize_t i, Py_ssize_t j):
    cdef int64_t low = max(plan.offset_of[i], plan.offset_of[j])
    cdef int64_t high = min(plan.offset_of[i] + problem.size_of[i], plan.offset_of[j] + problem.size_of[j])
    return low < high


cdef bint permitted(Problem problem, Plan plan, Py_ssize_t i, Py_ssize_t j):
    return covered(problem, plan, i, j) or covered(problem, plan, j, i)


cdef bint covered(Problem problem, Plan plan, Py_ssize_t output, Py_ssize_t input):
    """Whether there are rows for this output and input, and the distance satisfies all of them."""
    cdef Py_ssize_t i
    cdef bint found = False
    cdef int64_t* row
    for i in range(problem.relaxed_count):
        row = &problem.relaxed_of[3 * i]
        if row[0] == output and row[1] == input:
            if plan.offset_of[input] - plan.offset_of[output] < row[2]:
                return False
            found = True
    return found


cdef str describe(Problem problem, Plan plan, Py_ssize_t i):
    start = plan.offset_of[i]
    return f"[{start}, {start + problem.size_of[i]}) at times {problem.first_of[i]}..{problem.last_of[i]}"
