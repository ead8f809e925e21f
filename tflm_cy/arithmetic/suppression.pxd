"""Choosing boxes by score and overlap, as NON_MAX_SUPPRESSION does.

Candidates wait in a binary heap, whose order among equal scores is that of the usual sift (libstdc++'s): down to the bottom along the
greater children, then up. A box is (y1, x1, y2, x2), its corners in any order.
Source: LiteRT:tflite/kernels/internal/reference/non_max_suppression.h.
"""
from libc.math cimport expf
from libc.stdint cimport int32_t

cdef struct Candidate:
    int32_t index
    float score
    int32_t compared             # this many of the chosen boxes need not be compared again


cdef inline float lesser(float a, float b) noexcept nogil:
    return b if b < a else a


cdef inline float greater(float a, float b) noexcept nogil:
    return b if a < b else a


cdef inline float overlap(const float* a, const float* b) noexcept nogil:
    """Intersection over union."""
    cdef float a_top = lesser(a[0], a[2])
    cdef float a_left = lesser(a[1], a[3])
    cdef float a_bottom = greater(a[0], a[2])
    cdef float a_right = greater(a[1], a[3])
    cdef float b_top = lesser(b[0], b[2])
    cdef float b_left = lesser(b[1], b[3])
    cdef float b_bottom = greater(b[0], b[2])
    cdef float b_right = greater(b[1], b[3])
    cdef float a_area = (a_bottom - a_top) * (a_right - a_left)
    cdef float b_area = (b_bottom - b_top) * (b_right - b_left)
    cdef float common
    if a_area <= 0 or b_area <= 0:
        return 0
    common = greater(lesser(a_bottom, b_bottom) - greater(a_top, b_top), 0)
    common = common * greater(lesser(a_right, b_right) - greater(a_left, b_left), 0)
    return common / (a_area + b_area - common)


cdef inline void sift_up(Candidate* heap, int32_t hole, Candidate value) noexcept nogil:
    cdef int32_t parent = (hole - 1) // 2
    while hole > 0 and heap[parent].score < value.score:
        heap[hole] = heap[parent]
        hole = parent
        parent = (hole - 1) // 2
    heap[hole] = value


cdef inline Candidate pop(Candidate* heap, int32_t n) noexcept nogil:
    """The first of n candidates; n - 1 are left."""
    cdef Candidate first = heap[0]
    cdef Candidate value = heap[n - 1]
    cdef int32_t size = n - 1
    cdef int32_t hole = 0
    cdef int32_t child = 0
    if size == 0:
        return first
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if heap[child].score < heap[child - 1].score:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    sift_up(heap, hole, value)
    return first


cdef inline int32_t choose(
    const float* boxes, const float* scores, int32_t n, int32_t most, float most_overlap, float least_score, float sigma,
    Candidate* heap, int32_t* chosen, float* chosen_scores,
) noexcept nogil:
    """How many boxes were chosen; heap has room for n, chosen (and chosen_scores, which may be NULL) for `most`."""
    cdef int32_t waiting = 0
    cdef int32_t found = 0
    cdef int32_t i, j
    cdef float scale = <float>(-0.5 / <double>sigma) if sigma > 0 else <float>0
    cdef float shared
    cdef Candidate next
    cdef float score
    cdef bint suppressed
    for i in range(n):
        if scores[i] > least_score:
            next.index = i
            next.score = scores[i]
            next.compared = 0
            sift_up(heap, waiting, next)
            waiting += 1
    most = min(most, waiting)
    while found < most and waiting > 0:
        next = pop(heap, waiting)
        waiting -= 1
        score = next.score
        suppressed = False
        for j in range(found - 1, next.compared - 1, -1):
            shared = overlap(boxes + 4 * <long>next.index, boxes + 4 * <long>chosen[j])
            if shared >= most_overlap:
                suppressed = True
                break
            if sigma > 0:
                next.score = next.score * expf(scale * shared * shared)
            if next.score <= least_score:
                break
        next.compared = found
        if suppressed:
            continue
        if next.score == score:
            chosen[found] = next.index
            if chosen_scores != NULL:
                chosen_scores[found] = score
            found += 1
        if next.score > least_score:
            sift_up(heap, waiting, next)
            waiting += 1
    return found
