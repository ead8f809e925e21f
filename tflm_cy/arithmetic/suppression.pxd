"""Choosing boxes by score and overlap, as NON_MAX_SUPPRESSION does.

Candidates wait in a binary heap, whose order among equal scores is that of the usual sift (libstdc++'s): down to the bottom along the
greater children, then up. A box is (y1, x1, y2, x2), its corners in any order.
Source: LiteRT:tflite/kernels/internal/reference/non_max_suppression.h.
"""
from libc.math cimport expf
from libc.stdint cimport int32_t, int64_t

cdef enum:
    TOGETHER = 32                # boxes that are compared in vectors, before it counts whether one of them has too much in common

cdef struct Candidate:
    int32_t index
    float score
    int32_t compared             # this many of the chosen boxes need not be compared again


cdef inline float lesser(float a, float b) noexcept nogil:
    return b if b < a else a


cdef inline float greater(float a, float b) noexcept nogil:
    return b if a < b else a


cdef inline float side(float from_a, float from_b, float to_a, float to_b) noexcept nogil:
    """Of what two boxes have in common."""
    return greater(lesser(to_a, to_b) - greater(from_a, from_b), 0)


cdef struct Box:
    float top
    float left
    float bottom
    float right
    float area


cdef inline Box box_between(float top, float left, float bottom, float right) noexcept nogil:
    cdef Box box
    box.top, box.left, box.bottom, box.right = top, left, bottom, right
    box.area = (bottom - top) * (right - left)
    return box


cdef inline Box box_at(const float* corners) noexcept nogil:
    return box_between(
        lesser(corners[0], corners[2]), lesser(corners[1], corners[3]), greater(corners[0], corners[2]), greater(corners[1], corners[3]))


cdef inline void keep_box(const Box* box, float* sides, int64_t n, int32_t at) noexcept nogil:
    """sides [5, n]"""
    sides[at], sides[n + at], sides[2 * n + at], sides[3 * n + at], sides[4 * n + at] = box.top, box.left, box.bottom, box.right, box.area


cdef inline float overlap(const Box* a, const float* sides, int64_t n, int32_t b) noexcept nogil:
    """Intersection over union with box b of those that are kept; without a branch."""
    cdef float b_area = sides[4 * n + b]
    cdef float common = side(a.top, sides[b], a.bottom, sides[2 * n + b]) * side(a.left, sides[n + b], a.right, sides[3 * n + b])
    cdef float shared = common / (a.area + b_area - common)
    return <float>0 if (a.area <= 0) | (b_area <= 0) else shared


cdef inline bint any_overlaps(const Box* a, const float* sides, int64_t n, int32_t first, int32_t end, float most) noexcept nogil:
    """Those that were kept last come first: they are the likeliest."""
    cdef int32_t at, j
    cdef int32_t found = 0
    while end > first and found == 0:
        at = max(first, end - TOGETHER)
        for j in range(at, end):
            found |= overlap(a, sides, n, j) >= most
        end = at
    return found != 0


cdef inline bint lower_score(
    const Box* a, const float* sides, int64_t n, int32_t first, int32_t end, float most, float least_score, float scale, float* score,
) noexcept nogil:
    """By what overlaps, until it is too low; True: something overlaps too much. What does not overlap changes nothing, and most boxes do not."""
    cdef float[TOGETHER] shared
    cdef bint may_skip = most > 0 and scale * 0 == 0
    cdef int32_t at, j
    cdef int32_t touches
    while end > first:
        at = max(first, end - TOGETHER)
        touches = 0
        for j in range(at, end):
            shared[j - at] = overlap(a, sides, n, j)
            touches |= shared[j - at] != 0
        for j in range(end - at - 1, -1 if touches != 0 or not may_skip else end - at - 1, -1):
            if may_skip and shared[j] == 0:
                continue
            if shared[j] >= most:
                return True
            score[0] = score[0] * expf(scale * shared[j] * shared[j])
            if score[0] <= least_score:
                return False
        end = at
    return False


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
    Candidate* heap, float* sides, int32_t* chosen, float* chosen_scores,
) noexcept nogil:
    """How many boxes were chosen; heap has room for n, sides for 5 n, chosen (and chosen_scores, which may be NULL) for `most`."""
    cdef int32_t waiting = 0
    cdef int32_t found = 0
    cdef int32_t i
    cdef float scale = <float>(-0.5 / <double>sigma) if sigma > 0 else <float>0
    cdef Candidate next
    cdef Box box
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
        box = box_at(boxes + 4 * <int64_t>next.index)
        if sigma > 0:
            suppressed = lower_score(&box, sides, n, next.compared, found, most_overlap, least_score, scale, &next.score)
        else:
            suppressed = any_overlaps(&box, sides, n, next.compared, found, most_overlap)
        next.compared = found
        if suppressed:
            continue
        if next.score == score:
            chosen[found] = next.index
            keep_box(&box, sides, n, found)
            if chosen_scores != NULL:
                chosen_scores[found] = score
            found += 1
        if next.score > least_score:
            sift_up(heap, waiting, next)
            waiting += 1
    return found
