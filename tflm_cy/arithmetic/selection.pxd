"""y = x where a condition holds, else z: three operands, each of which may stand still along some dimensions.

The plan is that of `broadcast` for three operands; here the inner loop takes steps of 0 or 1, for selecting has no arithmetic that
would gain from more.

    rank = plan_selection(&plan, ranks, shapes, dims)           # condition, x, z; -1: not broadcastable
    select_values(&plan, 4, condition, x, z, y)
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.broadcast cimport MAX_DIMS
from tflm_cy.arithmetic.copy_runs cimport copy_run, fill

cdef enum:
    BLOCK = 16
    SHORT_RUN = 128          # bytes of a run that the compiler's loop of long vectors would do one by one

cdef struct Selection:
    int32_t loops
    int64_t inner
    int64_t step[3]                    # of each operand within a run, 0 or 1
    int64_t count[MAX_DIMS]
    int64_t outer[3][MAX_DIMS]         # steps of each operand, in values

ctypedef fused Word:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef inline int plan_selection(Selection* plan, const int* ranks, const int32_t** shapes, int32_t* dims) noexcept nogil:
    cdef int rank = max(ranks[0], ranks[1], ranks[2])
    cdef int64_t size[3]
    cdef int64_t group_count[MAX_DIMS]
    cdef int64_t group_step[3][MAX_DIMS]
    cdef int32_t extent[3]
    cdef int32_t whole
    cdef int groups = 0
    cdef int d, k, g
    cdef bint same
    for k in range(3):
        size[k] = 1
    for d in range(rank):                                  # from the last dimension to the first
        whole = 1
        for k in range(3):
            extent[k] = shapes[k][ranks[k] - 1 - d] if d < ranks[k] else 1
            if extent[k] != 1:
                if whole != 1 and extent[k] != whole:
                    return -1
                whole = extent[k]
        dims[rank - 1 - d] = whole
        if whole == 1:
            continue
        same = groups > 0
        if groups > 0:
            for k in range(3):
                if (group_step[k][groups - 1] != 0) != (extent[k] != 1):
                    same = False
        if same:
            group_count[groups - 1] *= whole
        else:
            group_count[groups] = whole
            for k in range(3):
                group_step[k][groups] = size[k] if extent[k] != 1 else 0
            groups += 1
        for k in range(3):
            size[k] = max(1, size[k] * extent[k])          # of an empty operand nothing is visited
    plan.inner = group_count[0] if groups > 0 else 1
    for k in range(3):
        plan.step[k] = 1 if groups == 0 or group_step[k][0] != 0 else 0
    plan.loops = 0
    for g in range(1, groups):
        plan.count[plan.loops] = group_count[groups - g]
        for k in range(3):
            plan.outer[k][plan.loops] = group_step[k][groups - g]
        plan.loops += 1
    return rank


cdef inline Word chosen(uint8_t c, Word x, Word z) noexcept nogil:
    """Both are read: a choice of what to read would be a branch for each value."""
    cdef Word mask = <Word>0 - <Word>(c != 0)
    return (x & mask) | (z & ~mask)


cdef inline void copy_or_repeat(const Word* x, int64_t step, Word* y, int64_t n) noexcept nogil:
    """`y` may be `x`."""
    if step == 0:
        fill(<char*>y, n * sizeof(Word), <const char*>x, sizeof(Word))
    elif x != y:
        copy_run(<char*>y, <const char*>x, n * sizeof(Word))


cdef inline void select_blocks(
    const uint8_t* c, const Word* x, int64_t x_step, const Word* z, int64_t z_step, Word* y, int64_t n,
) noexcept nogil:
    """n is at least BLOCK. The last block may overlap the one before: to choose once more changes nothing, even where y is x or z."""
    cdef Word[BLOCK] block
    cdef int64_t number, at, i
    for number in range((n + BLOCK - 1) / BLOCK):
        at = min(number * BLOCK, n - BLOCK)
        for i in range(BLOCK):
            block[i] = chosen(c[at + i], x[(at + i) * x_step], z[(at + i) * z_step])
        memcpy(y + at, block, sizeof(block))


cdef inline void select_run(const uint8_t* c, int64_t c_step, const Word* x, int64_t x_step, const Word* z, int64_t z_step, Word* y,
                            int64_t n) noexcept nogil:
    cdef int64_t i
    if c_step == 0:
        copy_or_repeat(x if c[0] != 0 else z, x_step if c[0] != 0 else z_step, y, n)
    elif sizeof(Word) == 1 and BLOCK <= n <= SHORT_RUN:
        if x_step == 1 and z_step == 1:
            select_blocks(c, x, 1, z, 1, y, n)
        elif x_step == 1:
            select_blocks(c, x, 1, z, 0, y, n)
        else:
            select_blocks(c, x, 0, z, z_step, y, n)
    elif x_step == 1 and z_step == 1:
        for i in range(n):
            y[i] = chosen(c[i], x[i], z[i])
    elif x_step == 1:
        for i in range(n):
            y[i] = chosen(c[i], x[i], z[0])
    elif z_step == 1:
        for i in range(n):
            y[i] = chosen(c[i], x[0], z[i])
    else:
        for i in range(n):
            y[i] = chosen(c[i], x[0], z[0])


cdef inline void select_values(const Selection* plan, const uint8_t* c, const Word* x, const Word* z, Word* y) noexcept nogil:
    cdef int64_t index[MAX_DIMS]
    cdef int64_t total = plan.inner
    cdef int d
    for d in range(plan.loops):
        total *= plan.count[d]
        index[d] = 0
    if total == 0:
        return
    while True:
        select_run(c, plan.step[0], x, plan.step[1], z, plan.step[2], y, plan.inner)
        y += plan.inner
        d = plan.loops - 1
        while d >= 0:
            index[d] += 1
            c += plan.outer[0][d]
            x += plan.outer[1][d]
            z += plan.outer[2][d]
            if index[d] < plan.count[d]:
                break
            c -= plan.count[d] * plan.outer[0][d]
            x -= plan.count[d] * plan.outer[1][d]
            z -= plan.count[d] * plan.outer[2][d]
            index[d] = 0
            d -= 1
        if d < 0:
            return
