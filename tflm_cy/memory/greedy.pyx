# tflm_cy: optimize=speed
"""TFLM's planner: large buffers first, each in the first gap. Offsets equal those of TFLM's GreedyMemoryPlanner.

    >>> from tflm_cy.memory.problem import Problem
    >>> greedy(Problem([100, 80, 50], [0, 1, 2], [1, 2, 3], alignment=1)).offsets
    (0, 100, 0)

Order of placement: buffers with a fixed offset by index; then by size, the largest first, and among equal sizes the
highest index first (TFLM stores the buffers in reverse and sorts them stably). Sizes are rounded up to the alignment
before. A buffer goes behind every placed one that it meets in time, lowest offset first, until a gap before the next
is large enough. Fixed offsets are obeyed without a check, as TFLM does; `check` judges the plan. Relaxed rows are not
used.

`greedy_by_area` places by size times lifetime instead, then by index: what is in the way longest comes first.

    >>> problem = Problem([6, 7, 7, 7], [2, 3, 1, 0], [3, 3, 2, 1], alignment=1)
    >>> greedy(problem).high_water_mark, greedy_by_area(problem).high_water_mark
    (20, 14)

Source of the rule: tensorflow/tflite-micro:tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc.
"""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort
from libc.string cimport memmove

from tflm_cy.memory.problem cimport ONLINE, Plan, Problem, new_plan


cdef struct Waiting:
    double area
    int64_t size
    Py_ssize_t index


cdef struct Placed:
    int64_t offset
    int64_t end
    int64_t first
    int64_t last


cpdef Plan greedy(Problem problem):
    """Plan a problem as TFLM does."""
    return place_all(problem, False)


cpdef Plan greedy_by_area(Problem problem):
    """Plan a problem with the buffers in order of size times lifetime: often lower where `greedy` leaves gaps."""
    return place_all(problem, True)


cdef Plan place_all(Problem problem, bint by_area):
    cdef Plan plan = new_plan(problem)
    cdef Py_ssize_t n = problem.count, waiting_count = 0, placed_count = 0, i, k
    cdef int64_t at, highest = 0
    cdef Placed* placed
    cdef Waiting* waiting
    if n == 0:
        return plan
    placed = <Placed*> PyMem_RawMalloc(n * (sizeof(Placed) + sizeof(Waiting)))
    if placed == NULL:
        raise MemoryError(f"no memory to plan {n} buffers")
    waiting = <Waiting*> (placed + n)
    for i in range(n):
        if problem.fixed_of[i] != ONLINE:
            plan.offset_of[i] = problem.fixed_of[i]
            highest = max(highest, place(problem, i, problem.fixed_of[i], placed, placed_count))
            placed_count += 1
        else:
            waiting[waiting_count] = Waiting(0, problem.rounded(i), i)
            if by_area:
                waiting[waiting_count].area = <double>problem.rounded(i) * <double>(problem.last_of[i] - problem.first_of[i] + 1)
            waiting_count += 1
    qsort(waiting, waiting_count, sizeof(Waiting), largest_then_first if by_area else largest_then_last)
    for k in range(waiting_count):
        i = waiting[k].index
        at = first_gap(waiting[k].size, problem.first_of[i], problem.last_of[i], placed, placed_count)
        plan.offset_of[i] = at
        highest = max(highest, place(problem, i, at, placed, placed_count))
        placed_count += 1
    PyMem_RawFree(placed)
    plan.high_water_mark = highest
    return plan


cdef inline int64_t first_gap(int64_t size, int64_t first, int64_t last,
                              const Placed* placed, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t k
    cdef int64_t at = 0
    for k in range(count):
        if placed[k].first > last or placed[k].last < first:
            continue
        if placed[k].offset - at >= size:
            break
        if placed[k].end > at:
            at = placed[k].end
    return at


cdef inline int64_t place(Problem problem, Py_ssize_t i, int64_t offset,
                          Placed* placed, Py_ssize_t count) noexcept nogil:
    """Insert in order of offset, behind equal ones; gives the end."""
    cdef Py_ssize_t low = 0, high = count, middle
    cdef int64_t end = offset + problem.rounded(i)
    while low < high:
        middle = (low + high) // 2
        if placed[middle].offset > offset:
            high = middle
        else:
            low = middle + 1
    memmove(placed + low + 1, placed + low, (count - low) * sizeof(Placed))
    placed[low] = Placed(offset, end, problem.first_of[i], problem.last_of[i])
    return end


cdef int largest_then_last(const void* a, const void* b) noexcept nogil:
    cdef const Waiting* x = <const Waiting*> a
    cdef const Waiting* y = <const Waiting*> b
    if x.size != y.size:
        return 1 if x.size < y.size else -1
    return 1 if x.index < y.index else -1


cdef int largest_then_first(const void* a, const void* b) noexcept nogil:
    """By area."""
    cdef const Waiting* x = <const Waiting*> a
    cdef const Waiting* y = <const Waiting*> b
    if x.area != y.area:
        return 1 if x.area < y.area else -1
    return 1 if x.index > y.index else -1
