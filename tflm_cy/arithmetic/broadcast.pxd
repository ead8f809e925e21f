"""Walking two operands of different shapes as numpy broadcasts them: outer loops around runs that a plain loop can do.

A binary kernel knows nothing of shapes: it takes `n` values of each operand, one after the other. `plan_broadcast` merges neighbouring
dimensions in which the same operands move, so that equal shapes are one run, and `walk` calls the kernel once per run. An operand that
is one value during a run is repeated into a small buffer first, so that each kernel is one loop and not three. Short runs are joined:
the kernel takes many at once, of operands whose values or rows were repeated as often.

    cdef Broadcast plan
    cdef int32_t dims[MAX_DIMS]
    cdef int rank = plan_broadcast(&plan, a_rank, a_dims, b_rank, b_dims, dims)    # -1: not broadcastable
    walk(&plan, add_f32, &limits, a, 4, b, 4, y, 4)

Shapes of [2, 3, 4] and [3, 1]: the outer loops are 2 and 3, a run is 4 values of a against one of b.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.signatures cimport BinaryKernel

cdef extern from *:
    """
    #include <string.h>
    #include "x86.h"
    /* Words of four bytes, `step` words apart, each n times; up to seven more are written behind them. */
    X86_TWICE(tflm_cy_spread_words, (char *to, const uint32_t *x, int64_t step, int64_t n, int64_t rows), (to, x, step, n, rows), {
      typedef uint32_t eight __attribute__((vector_size(32)));
      for (; rows > 0; rows--, x += step, to += 4 * n) {
        const uint32_t v = *x;
        const eight block = {v, v, v, v, v, v, v, v};
        for (int64_t i = 0; i < n; i += 8) memcpy(to + 4 * i, &block, 32);
      }
    })
    """
    void spread_words "tflm_cy_spread_words"(char* to, const uint32_t* x, int64_t step, int64_t n, int64_t rows) noexcept nogil

cdef enum:
    MAX_DIMS = 16
    BUFFER_BYTES = 2048
    SHORT_RUN = 512          # bytes; runs up to this are joined
    MOST_AT_ONCE = 64        # bytes that `spread` writes for a value of one byte


cdef struct Broadcast:
    int32_t loops            # number of outer loops
    int64_t inner            # values in a run
    bint a_repeats            # a is one value during a run
    bint b_repeats
    int64_t count[MAX_DIMS]  # of each outer loop
    int64_t a_step[MAX_DIMS]  # in values; 0: a does not move
    int64_t b_step[MAX_DIMS]


cdef inline int plan_broadcast(Broadcast* plan, int a_rank, const int32_t* a_dims, int b_rank, const int32_t* b_dims,
                               int32_t* dims) noexcept nogil:
    """Fill the plan and the output's dims; returns the output's rank, -1 when the shapes do not go together."""
    cdef int rank = max(a_rank, b_rank)
    cdef int64_t a_size = 1
    cdef int64_t b_size = 1
    cdef int64_t group_count[MAX_DIMS]
    cdef int64_t group_a[MAX_DIMS]
    cdef int64_t group_b[MAX_DIMS]
    cdef int groups = 0
    cdef int d, g
    cdef int32_t m, n
    cdef bint a_moves, b_moves
    for d in range(rank):                                   # from the last dimension to the first
        m = a_dims[a_rank - 1 - d] if d < a_rank else 1
        n = b_dims[b_rank - 1 - d] if d < b_rank else 1
        if m != n and m != 1 and n != 1:
            return -1
        dims[rank - 1 - d] = n if m == 1 else m
        if m == 1 and n == 1:
            continue
        a_moves = m != 1
        b_moves = n != 1
        if groups > 0 and (group_a[groups - 1] != 0) == a_moves and (group_b[groups - 1] != 0) == b_moves:
            group_count[groups - 1] *= dims[rank - 1 - d]
        else:
            group_count[groups] = dims[rank - 1 - d]
            group_a[groups] = a_size if a_moves else 0
            group_b[groups] = b_size if b_moves else 0
            groups += 1
        a_size *= m
        b_size *= n
        if a_size == 0 or b_size == 0:                      # nothing will be visited; steps need not be right
            a_size = b_size = 1
    plan.inner = 1
    plan.a_repeats = plan.b_repeats = False
    plan.loops = 0
    if groups > 0:
        plan.inner = group_count[0]
        plan.a_repeats = group_a[0] == 0
        plan.b_repeats = group_b[0] == 0
    for g in range(1, groups):
        plan.count[plan.loops] = group_count[groups - g]
        plan.a_step[plan.loops] = group_a[groups - g]
        plan.b_step[plan.loops] = group_b[groups - g]
        plan.loops += 1
    return rank


cdef inline void repeat(char* buffer, const char* value, int size, int64_t n) noexcept nogil:
    """n copies of a value of 1, 2, 4 or 8 bytes."""
    cdef int64_t i
    cdef uint16_t half
    cdef uint32_t word
    cdef uint64_t long_word
    if size == 1:
        memset(buffer, value[0], n)
    elif size == 2:
        half = (<const uint16_t*>value)[0]
        for i in range(n):
            (<uint16_t*>buffer)[i] = half
    elif size == 4:
        word = (<const uint32_t*>value)[0]
        for i in range(n):
            (<uint32_t*>buffer)[i] = word
    else:
        long_word = (<const uint64_t*>value)[0]
        for i in range(n):
            (<uint64_t*>buffer)[i] = long_word


cdef inline int64_t tile(char* buffer, const char* row, int64_t bytes, int64_t limit) noexcept nogil:
    """As many whole copies of a short row as the buffer holds, at most `limit`; returns how many."""
    cdef int64_t copies = min(BUFFER_BYTES // bytes, limit)
    cdef int64_t i
    for i in range(copies):
        memcpy(buffer + i * bytes, row, bytes)
    return copies


cdef inline void run(BinaryKernel kernel, const void* params, const char* a, bint a_repeats, int a_size, const char* b, bint b_repeats,
                     int b_size, char* y, int y_size, int64_t n, char* buffer, bint fresh) noexcept nogil:
    """One run; the buffer is filled again only when the repeated value is a fresh one."""
    cdef int64_t chunk = BUFFER_BYTES // (a_size if a_repeats else b_size)
    cdef int64_t done = 0
    cdef int64_t now
    if not a_repeats and not b_repeats:
        kernel(params, a, b, y, n)
        return
    if fresh:
        repeat(buffer, a if a_repeats else b, a_size if a_repeats else b_size, min(n, chunk))
    while done < n:
        now = min(chunk, n - done)
        if a_repeats:
            kernel(params, buffer, b + done * b_size, y + done * y_size, now)
        else:
            kernel(params, a + done * a_size, buffer, y + done * y_size, now)
        done += now


cdef inline void spread(char* buffer, const char* x, int size, int64_t step, int64_t n, int64_t rows) noexcept nogil:
    """Each of some values n times. Behind them the buffer has MOST_AT_ONCE bytes: whole blocks are stored, which what follows writes over."""
    cdef uint64_t[2] block
    cdef uint64_t factor = <uint64_t>0x0001000100010001 if size == 2 else 1
    cdef int64_t row, i
    if size == 4:
        spread_words(buffer, <const uint32_t*>x, step, n, rows)
        return
    for row in range(rows):
        i = 0
        if size == 1:
            while i < n:
                memset(buffer + i, x[0], MOST_AT_ONCE)       # of a fixed size, so that it is no call
                i += MOST_AT_ONCE
        else:
            block[0] = factor * ((<const uint16_t*>x)[0] if size == 2 else (<const uint64_t*>x)[0])
            block[1] = block[0]
            while i < n * size:
                memcpy(buffer + i, block, sizeof(block))
                memcpy(buffer + i + sizeof(block), block, sizeof(block))
                i += 2 * sizeof(block)
        buffer += n * size
        x += step * size


cdef inline const char* joined(char* buffer, const char* x, int size, bint repeats, int64_t step, int64_t inner, int64_t rows, bint fresh) noexcept nogil:
    """An operand's values of some runs, one after the other: where they are, or in the buffer."""
    if repeats:
        spread(buffer, x, size, step, inner, rows)
    elif step != 0:
        return x
    elif fresh:
        tile(buffer, x, inner * size, rows)
    return buffer


cdef inline void run_rows(
    const Broadcast* plan, BinaryKernel kernel, const void* params, const char* a, int a_size, const char* b, int b_size, char* y, int y_size,
    char* a_buffer, char* b_buffer,
) noexcept nogil:
    """The innermost loop and its short runs."""
    cdef int last = plan.loops - 1
    cdef int64_t rows = plan.count[last]
    cdef int64_t most = BUFFER_BYTES // (plan.inner * max(a_size, b_size))
    cdef int64_t done = 0
    cdef int64_t now
    while done < rows:
        now = min(most, rows - done)
        kernel(
            params, joined(a_buffer, a + done * plan.a_step[last] * a_size, a_size, plan.a_repeats, plan.a_step[last], plan.inner, now, done == 0),
            joined(b_buffer, b + done * plan.b_step[last] * b_size, b_size, plan.b_repeats, plan.b_step[last], plan.inner, now, done == 0),
            y + done * plan.inner * y_size, now * plan.inner)
        done += now


cdef inline void walk(const Broadcast* plan, BinaryKernel kernel, const void* params, const void* a, int a_size, const void* b, int b_size,
                      void* y, int y_size) noexcept nogil:
    """Run the kernel over all values; the sizes are the bytes of one value."""
    cdef uint64_t memory[2][(BUFFER_BYTES + MOST_AT_ONCE) / 8]
    cdef char* buffer = <char*>memory[0]
    cdef int64_t index[MAX_DIMS]
    cdef const char* at_a = <const char*>a
    cdef const char* at_b = <const char*>b
    cdef const char* repeated = NULL
    cdef const char* now
    cdef char* at_y = <char*>y
    cdef int64_t total = plan.inner
    cdef bint glue = plan.loops > 0 and plan.inner * max(a_size, b_size) <= SHORT_RUN
    cdef int64_t step = plan.inner * (plan.count[plan.loops - 1] if glue else 1)
    cdef int d
    for d in range(plan.loops):
        total *= plan.count[d]
        index[d] = 0
    if total == 0:
        return
    while True:
        d = plan.loops - 1
        if glue:
            run_rows(plan, kernel, params, at_a, a_size, at_b, b_size, at_y, y_size, buffer, <char*>memory[1])
            d -= 1
        else:
            now = at_a if plan.a_repeats else at_b
            run(kernel, params, at_a, plan.a_repeats, a_size, at_b, plan.b_repeats, b_size, at_y, y_size, plan.inner, buffer, now != repeated)
            repeated = now
        at_y += step * y_size
        while d >= 0:
            index[d] += 1
            at_a += plan.a_step[d] * a_size
            at_b += plan.b_step[d] * b_size
            if index[d] < plan.count[d]:
                break
            at_a -= plan.count[d] * plan.a_step[d] * a_size
            at_b -= plan.count[d] * plan.b_step[d] * b_size
            index[d] = 0
            d -= 1
        if d < 0:
            return
