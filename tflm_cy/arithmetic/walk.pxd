"""A walk over n dimensions that copies runs of bytes: transposing, slicing, tiling, cutting into blocks are all one.

    cdef Walk walk
    begin_walk(&walk, size)                                  # bytes of an element
    add_axis(&walk, extent, dst_stride, src_stride)          # outermost first; strides in bytes
    finish_walk(&walk)                                       # merges axes that lie behind one another in both tensors
    use_transpose(&walk, transpose, size)                    # single elements are moved in transposed blocks
    walk_copy(&walk, dst, src)
    copy_units(&walk, first, end, dst, src)                  # some of units_of_walk(&walk), which threads share

With an element of "1 byte" the strides count elements, and `walk_source` tells where the i-th one comes from: strings
are moved that way.
"""
from libc.stdint cimport int64_t, uint8_t

from tflm_cy.arithmetic.copy_runs cimport copy_on, copy_runs, turn_rows
from tflm_cy.arithmetic.signatures cimport TransposeBlocks
from tflm_cy.platform.long_copy cimport copy_bytes

cdef enum:
    WALK_RANK = 36           # two axes for each of a tensor's 16 dimensions, and some for blocks
    LEAST_TRANSPOSED = 32    # elements of a matrix that is transposed at once
    TURNED_BYTES = 16        # in a row whose elements are turned by vectors
    COPY_BLOCK = 4096        # bytes of a unit of a walk that is a single run
    SHORT = 16               # an innermost loop of fewer runs changes place with a longer one around it


cdef struct Walk:
    TransposeBlocks transpose                # the two innermost axes at once; NULL: run by run
    int rank
    bint repeats             # the destination has no gaps, and along some axis the source stands still
    int64_t run              # bytes copied at once
    int64_t[WALK_RANK] extents
    int64_t[WALK_RANK] dst_strides
    int64_t[WALK_RANK] src_strides


cdef inline void begin_walk(Walk* walk, int64_t run) noexcept nogil:
    walk.transpose = NULL
    walk.repeats = False
    walk.rank = 0
    walk.run = run


cdef inline void add_axis(Walk* walk, int64_t extent, int64_t dst_stride, int64_t src_stride) noexcept nogil:
    """One more axis, inside those added before."""
    walk.extents[walk.rank] = extent
    walk.dst_strides[walk.rank] = dst_stride
    walk.src_strides[walk.rank] = src_stride
    walk.rank += 1


cdef inline void swap_axes(Walk* walk, int a, int b) noexcept nogil:
    walk.extents[a], walk.extents[b] = walk.extents[b], walk.extents[a]
    walk.dst_strides[a], walk.dst_strides[b] = walk.dst_strides[b], walk.dst_strides[a]
    walk.src_strides[a], walk.src_strides[b] = walk.src_strides[b], walk.src_strides[a]


cdef inline void finish_walk(Walk* walk) noexcept nogil:
    """Make it short: no axes of one step, contiguous axes merged, contiguous innermost axes part of the run."""
    cdef int d
    cdef int kept = 0
    for d in range(walk.rank):
        if walk.extents[d] == 0:
            walk.rank = 0
            walk.run = 0
            return
        if walk.extents[d] == 1:
            continue
        if (kept > 0 and walk.dst_strides[kept - 1] == walk.extents[d] * walk.dst_strides[d]
                and walk.src_strides[kept - 1] == walk.extents[d] * walk.src_strides[d]):
            walk.extents[kept - 1] *= walk.extents[d]
        else:
            kept += 1
            walk.extents[kept - 1] = walk.extents[d]
        walk.dst_strides[kept - 1] = walk.dst_strides[d]
        walk.src_strides[kept - 1] = walk.src_strides[d]
    if kept > 0 and walk.dst_strides[kept - 1] == walk.run and walk.src_strides[kept - 1] == walk.run:
        kept -= 1
        walk.run *= walk.extents[kept]
    walk.rank = kept
    walk.repeats = stands_still(walk)
    if (not walk.repeats and kept > 1 and walk.extents[kept - 1] < SHORT and walk.extents[kept - 2] > walk.extents[kept - 1]
            and not is_turned_row(walk, kept - 1)):
        swap_axes(walk, kept - 1, kept - 2)


cdef inline bint is_turned_row(const Walk* walk, int d) noexcept nogil:
    """Elements side by side that change their order: `turn_rows` moves them by vectors where there are enough."""
    return (walk.src_strides[d] == -walk.run == -walk.dst_strides[d] and walk.run <= 8 and walk.run & (walk.run - 1) == 0
            and walk.run * walk.extents[d] >= TURNED_BYTES)


cdef inline bint stands_still(const Walk* walk) noexcept nogil:
    cdef int64_t dense = walk.run
    cdef bint found = False
    cdef int d
    for d in range(walk.rank - 1, -1, -1):
        if walk.dst_strides[d] != dense:
            return False
        dense *= walk.extents[d]
        found = found or walk.src_strides[d] == 0
    return found


cdef inline void copy_repeated(const Walk* walk, int d, char* dst, const char* src) noexcept nogil:
    """What an axis repeats is copied from the destination, where it is a whole."""
    cdef int64_t i
    if d == walk.rank:
        copy_bytes(dst, src, walk.run)
    elif d == walk.rank - 1:
        copy_runs(dst, walk.dst_strides[d], src, walk.src_strides[d], walk.run, walk.extents[d])
    elif walk.src_strides[d] == 0:
        copy_repeated(walk, d + 1, dst, src)
        copy_on(dst, walk.dst_strides[d], walk.extents[d])
    else:
        for i in range(walk.extents[d]):
            copy_repeated(walk, d + 1, dst + i * walk.dst_strides[d], src + i * walk.src_strides[d])


cdef inline void use_transpose(Walk* walk, TransposeBlocks transpose, int64_t size) noexcept nogil:
    """Where a finished walk moves single elements of `size` bytes: the axes of neighbours in the destination and in the source become the
    innermost ones, a matrix that is transposed as a whole."""
    cdef int column = -1
    cdef int row = -1
    cdef int d
    for d in range(walk.rank):
        if walk.dst_strides[d] == size and walk.extents[d] > 1:
            column = d
        elif walk.src_strides[d] == size and walk.extents[d] > 1:
            row = d
    if transpose == NULL or walk.run != size or column < 0 or row < 0 or walk.extents[column] * walk.extents[row] < LEAST_TRANSPOSED:
        return
    move_axis_inside(walk, row)
    move_axis_inside(walk, column - 1 if column > row else column)
    walk.transpose = transpose


cdef inline void move_axis_inside(Walk* walk, int d) noexcept nogil:
    """It becomes the innermost one, the others keep their order."""
    for d in range(d, walk.rank - 1):
        swap_axes(walk, d, d + 1)


cdef inline void walk_copy(const Walk* walk, char* dst, const char* src) noexcept nogil:
    """Copy every run of a finished walk."""
    cdef int64_t[WALK_RANK] at
    cdef int inner = walk.rank - 1
    cdef int middle = walk.rank - 2
    cdef int64_t i
    cdef int d
    if walk.rank == 0:
        if walk.run > 0:
            copy_bytes(dst, src, walk.run)
        return
    if walk.repeats:
        copy_repeated(walk, 0, dst, src)
        return
    if walk.rank == 1:
        copy_runs(dst, walk.dst_strides[0], src, walk.src_strides[0], walk.run, walk.extents[0])
        return
    for d in range(middle):
        at[d] = 0
    while True:
        if walk.transpose != NULL:
            walk.transpose(
                <const uint8_t*>src, walk.src_strides[inner], walk.extents[inner], walk.extents[middle],
                <uint8_t*>dst, walk.dst_strides[middle])
        elif is_turned_row(walk, inner):
            turn_rows(
                dst, walk.dst_strides[middle], src, walk.src_strides[middle], walk.run, walk.extents[inner], walk.extents[middle])
        else:
            for i in range(walk.extents[middle]):
                copy_runs(
                    dst + i * walk.dst_strides[middle], walk.dst_strides[inner],
                    src + i * walk.src_strides[middle], walk.src_strides[inner], walk.run, walk.extents[inner])
        d = middle - 1
        while d >= 0:
            at[d] += 1
            dst += walk.dst_strides[d]
            src += walk.src_strides[d]
            if at[d] < walk.extents[d]:
                break
            dst -= walk.extents[d] * walk.dst_strides[d]
            src -= walk.extents[d] * walk.src_strides[d]
            at[d] = 0
            d -= 1
        if d < 0:
            return


cdef inline int shared_axis(const Walk* walk) noexcept nogil:
    """The longest axis of a finished walk, whose steps are its units; -1: there is none."""
    cdef int longest = walk.rank - 1
    cdef int d
    for d in range(walk.rank - 1, -1, -1):
        if walk.extents[d] > walk.extents[longest]:
            longest = d
    return longest


cdef inline int64_t units_of_walk(const Walk* walk) noexcept nogil:
    """How many parts of a finished walk can be copied apart: what is repeated is copied as a whole."""
    if walk.repeats:
        return 1
    return walk.extents[shared_axis(walk)] if walk.rank > 0 else (walk.run + COPY_BLOCK - 1) // COPY_BLOCK


cdef inline void copy_units(const Walk* walk, int64_t first, int64_t end, char* dst, const char* src) noexcept nogil:
    """The units from first to end."""
    cdef Walk part = walk[0]
    cdef int axis = shared_axis(walk)
    if walk.repeats:
        walk_copy(walk, dst, src)
    elif walk.rank == 0:
        copy_bytes(dst + first * COPY_BLOCK, src + first * COPY_BLOCK, min(end * COPY_BLOCK, walk.run) - first * COPY_BLOCK)
    else:
        part.extents[axis] = end - first
        walk_copy(&part, dst + first * walk.dst_strides[axis], src + first * walk.src_strides[axis])


cdef inline int64_t walk_source(const Walk* walk, int64_t i) noexcept nogil:
    """Source offset of the i-th step of a walk that is not finished (axes in their first order, run 1)."""
    cdef int64_t source = 0
    cdef int d
    for d in range(walk.rank - 1, -1, -1):
        source += i % walk.extents[d] * walk.src_strides[d]
        i //= walk.extents[d]
    return source
