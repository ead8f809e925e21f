"""How an operator walks over its input while it writes: the least safe distance, and a judge that replays the walk.

    >>> from tflm_cy.memory.problem import Plan, Problem
    >>> lowest = [0, 0, 1, 2, NOTHING]              # a window of three over five inputs, the last one padding
    >>> distance(lowest, output_element=4, input_element=4)
    4
    >>> problem = Problem([20, 20], [1, 0], [1, 1], alignment=4, relaxed=[(0, 1, 4)])
    >>> check_accesses(problem, Plan([0, 4], 24), {(0, 1): (lowest, 4, 4)})
    >>> check_accesses(problem, Plan([0, 0], 20), {(0, 1): (lowest, 4, 4)})
    Traceback (most recent call last):
        ...
    ValueError: output 0 at 0 overwrites input 1 at 0: element 1 reads byte 0, bytes 0..3 are written already

An operator whose kernel writes its output in ascending order of memory is described by `lowest[k]`: the lowest element
of the input that it reads for output element k, or NOTHING. With elements of `output_element` and `input_element`
bytes, and every later read in mind, the input may start `distance` bytes above the output, and not one byte less
(before the plan's alignment): it is the d of a relaxed row.

`check` judges a plan by the rows; `check_accesses` does not believe them and steps through the elements.
"""
from array import array

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t

from tflm_cy.memory.problem cimport Plan, Problem

cdef int64_t NO_READ = <int64_t> 1 << 62
NOTHING = NO_READ


def distance(lowest, int64_t output_element, int64_t input_element):
    """The least safe offset(input) - offset(output), in bytes, never negative.

    `lowest` is an int64 array (read in place) or an iterable of ints.
    """
    cdef Py_buffer view
    cdef int64_t found
    check_elements(output_element, input_element)
    open_walk(lowest, &view)
    found = least_distance(<const int64_t*> view.buf, view.len // 8, output_element, input_element)
    PyBuffer_Release(&view)
    return found


cdef int64_t least_distance(const int64_t* lowest, Py_ssize_t count, int64_t output_element,
                            int64_t input_element) noexcept nogil:
    """From the end: the lowest read from element k on must lie above the k elements that are written then."""
    cdef Py_ssize_t k
    cdef int64_t low = NO_READ, least = 0
    for k in range(count - 1, 0, -1):
        low = min(low, lowest[k])
        if low < NO_READ:
            least = max(least, k * output_element - low * input_element)
    return least


def check_accesses(Problem problem not None, Plan plan not None, accesses):
    """Raise ValueError that names the first output element that reads a byte which is overwritten.

    `accesses`: {(output, input): (lowest, output_element, input_element)} for every pair that a plan may overlap. A
    pair that overlaps while both are alive and is not there is a violation too.
    """
    cdef Py_ssize_t o, i
    cdef int64_t output_element, input_element
    if plan.count != problem.count:
        raise ValueError(f"the plan has {plan.count} offsets for {problem.count} buffers")
    for i in range(problem.count):
        for o in range(i):
            if meet(problem, o, i) and touch(problem, plan, o, i) and (o, i) not in accesses and (i, o) not in accesses:
                raise ValueError(
                    f"buffers {o} and {i} are alive together and overlap, and nothing tells how they are read"
                )
    for (o, i), (lowest, output_element, input_element) in accesses.items():
        if not (0 <= o < problem.count and 0 <= i < problem.count):
            raise ValueError(f"the walk ({o}, {i}) names buffers beyond the {problem.count} of the problem")
        if meet(problem, o, i) and touch(problem, plan, o, i):
            check_elements(output_element, input_element)
            replay(problem, plan, o, i, lowest, output_element, input_element)


cdef int replay(Problem problem, Plan plan, Py_ssize_t o, Py_ssize_t i, object lowest, int64_t output_element,
                int64_t input_element) except -1:
    """Write the output element by element; what is read of the input must not lie under what is written."""
    cdef Py_buffer view
    cdef const int64_t* low
    cdef Py_ssize_t k, bad = -1
    cdef int64_t first, last, start = plan.offset_of[o], end = plan.offset_of[i] + problem.size_of[i]
    open_walk(lowest, &view)
    low = <const int64_t*> view.buf
    for k in range(view.len // 8):
        if low[k] == NO_READ:
            continue
        first = plan.offset_of[i] + low[k] * input_element      # the read bytes: from here to the input's end
        last = start + k * output_element                       # the written bytes: from the output's start to here
        if max(first, start) < min(end, last):
            bad = k
            break
    PyBuffer_Release(&view)
    if bad >= 0:
        raise ValueError(
            f"output {o} at {start} overwrites input {i} at {plan.offset_of[i]}: element {bad} reads byte {first}, "
            f"bytes {start}..{last - 1} are written already"
        )
    return 0


cdef bint meet(Problem problem, Py_ssize_t i, Py_ssize_t j):
    return problem.first_of[i] <= problem.last_of[j] and problem.first_of[j] <= problem.last_of[i]


cdef bint touch(Problem problem, Plan plan, Py_ssize_t i, Py_ssize_t j):
    cdef int64_t low = max(plan.offset_of[i], plan.offset_of[j])
    return low < min(plan.offset_of[i] + problem.size_of[i], plan.offset_of[j] + problem.size_of[j])


cdef int check_elements(int64_t output_element, int64_t input_element) except -1:
    if not (0 < output_element <= 1 << 20 and 0 < input_element <= 1 << 20):
        raise ValueError(f"elements of {output_element} and {input_element} bytes")
    return 0


cdef int open_walk(object lowest, Py_buffer* view) except -1:
    """A view of int64 values; an iterable is copied first. What is no element is refused."""
    try:
        PyObject_GetBuffer(lowest, view, PyBUF_ND | PyBUF_FORMAT)
        if view.itemsize == 8 and view.format != NULL and view.format[0] in b"lq":
            return check_walk(view)
        PyBuffer_Release(view)
    except (TypeError, BufferError):
        pass
    PyObject_GetBuffer(array("q", [int(value) for value in lowest]), view, PyBUF_ND | PyBUF_FORMAT)
    return check_walk(view)


cdef int check_walk(Py_buffer* view) except -1:
    cdef Py_ssize_t k
    cdef const int64_t* values = <const int64_t*> view.buf
    for k in range(view.len // 8):
        if values[k] < 0 or (values[k] > 1 << 40 and values[k] != NO_READ):
            bad = values[k]
            PyBuffer_Release(view)
            raise ValueError(f"output element {k} reads from element {bad}")
    return 0
