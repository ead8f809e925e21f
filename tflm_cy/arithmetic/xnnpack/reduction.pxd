"""float32 sums, sums of squares, maxima and minima over axes as XNNPACK orders them.

A shape is brought to six runs of axes that are alternately kept and reduced (neighbours of the same kind merge, axes of length 1 keep their
kind, missing runs in front are 1). `scale` is 1, or 1 / count for a mean.

| the last axis is | sums | |
| --- | --- | --- |
| reduced | y = y + row_sum(run) * scale over the outer reduced runs in rising order | the product is fused with AVX-512 |
| kept | per channel t = x + t from 0 along the innermost reduced run, y = y + t * scale over the outer ones | two roundings |

`row_sum` has 4 accumulators of eight lanes, 32 values a turn (two of sixteen with AVX-512, which differ in what is left over only); sums of
squares with AVX-512 four of sixteen, and there the squares are fused as well. In the end a tree: lanes 4, 2, 1 apart.

The order of operands within a sum is that of the compiled kernels: it shows in which of several NaNs comes out.

Maxima and minima have four accumulators; only NaN (the later operand wins, on aarch64 the earlier one) and zeros of different signs show
the order.

Source: XNNPACK's f32-rsum, f32-rdsum, f32-rsum2, f32-rminmax and f32-rdminmax microkernels.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport add_first
from tflm_cy.arithmetic.xnnpack.lanes cimport (
    add8, f32x8, fma8, load8, load_part8, max8, min8, splat8, store8, store_part8,
)

cdef enum:
    RUNS = 6

cdef enum Extreme:
    MAXIMUM = 0
    MINIMUM = 1

cdef struct ReduceShape:
    int64_t[RUNS] dims
    int64_t[RUNS] strides        # of the input, in values
    bint last_reduced            # runs 1, 3, 5 are reduced, else 0, 2, 4
    int64_t count                # values per output


cdef inline ReduceShape reduce_shape(int rank, const int32_t* dims, uint32_t reduced) noexcept nogil:
    """`reduced` has bit d set when axis d is reduced; at most six dimensions."""
    cdef ReduceShape s
    cdef int64_t[RUNS] runs
    cdef int length = 0
    cdef int d
    cdef bint reduce
    cdef bint previous = False
    s.count = 1
    for d in range(rank):
        reduce = (reduced >> d) & 1
        if reduce:
            s.count *= dims[d]
        if length > 0 and reduce == previous:
            runs[length - 1] *= dims[d]
        else:
            runs[length] = dims[d]
            length += 1
        previous = reduce
    s.last_reduced = previous
    for d in range(RUNS):
        s.dims[d] = runs[d - RUNS + length] if d >= RUNS - length else 1
    s.strides[RUNS - 1] = 1
    for d in range(RUNS - 2, -1, -1):
        s.strides[d] = s.strides[d + 1] * s.dims[d + 1]
    return s


# ---- sums along a row
cdef inline float tree_sum(f32x8 v) noexcept nogil:
    """Lanes 4, 2, 1 apart, in single values: a vector that is loaded from two stores waits for both to reach the memory."""
    cdef float[8] s
    cdef int i
    store8(s, v)
    for i in range(4):
        s[i] = add_first(s[i], s[i + 4])
    s[0] = add_first(s[0], s[2])
    s[1] = add_first(s[1], s[3])
    return add_first(s[0], s[1])


cdef inline f32x8 part_or_zero(const float* x, int64_t n) noexcept nogil:
    """The first n values, then +0; none when n <= 0."""
    return load8(x) if n >= 8 else load_part8(x, n) if n > 0 else splat8(0)


cdef inline f32x8 add_term(f32x8 acc, f32x8 v, bint square) noexcept nogil:
    return add8(acc, v * v) if square else add8(acc, v)


cdef inline float row_sum(const float* x, int64_t n, bint square, bint wide) noexcept nogil:
    """Of values, or (two roundings) of squares. wide: AVX-512, values only."""
    cdef f32x8 a = splat8(0)
    cdef f32x8 b = a
    cdef f32x8 c = a
    cdef f32x8 d = a
    cdef int64_t i = 0
    while i + 32 <= n:
        a = add_term(a, load8(x + i), square)
        b = add_term(b, load8(x + i + 8), square)
        c = add_term(c, load8(x + i + 16), square)
        d = add_term(d, load8(x + i + 24), square)
        i += 32
    if wide:
        if i + 16 <= n:
            a = add8(a, load8(x + i))
            b = add8(b, load8(x + i + 8))
            i += 16
        a = add8(c, a)
        b = add8(d, b)
        if i < n:
            a = add8(a, part_or_zero(x + i, n - i))
            b = add8(b, part_or_zero(x + i + 8, n - i - 8))
        return tree_sum(add8(a, b))
    if i + 8 <= n:
        a = add_term(a, load8(x + i), square)
        i += 8
    if i + 8 <= n:
        b = add_term(b, load8(x + i), square)
        i += 8
    if i + 8 <= n:
        c = add_term(c, load8(x + i), square)
        i += 8
    a = add8(add8(d, b), add8(a, c))
    if i < n:
        a = add_term(a, load_part8(x + i, n - i), square)
    return tree_sum(a)


cdef inline float row_sum_squares_wide(const float* x, int64_t n) noexcept nogil:
    """AVX-512: four accumulators of sixteen lanes, each two here."""
    cdef f32x8 a = splat8(0)
    cdef f32x8 a2 = a
    cdef f32x8 b = a
    cdef f32x8 b2 = a
    cdef f32x8 c = a
    cdef f32x8 c2 = a
    cdef f32x8 d = a
    cdef f32x8 d2 = a
    cdef f32x8 v
    cdef int64_t i = 0
    while i + 64 <= n:
        a = fma8(load8(x + i), load8(x + i), a)
        a2 = fma8(load8(x + i + 8), load8(x + i + 8), a2)
        b = fma8(load8(x + i + 16), load8(x + i + 16), b)
        b2 = fma8(load8(x + i + 24), load8(x + i + 24), b2)
        c = fma8(load8(x + i + 32), load8(x + i + 32), c)
        c2 = fma8(load8(x + i + 40), load8(x + i + 40), c2)
        d = fma8(load8(x + i + 48), load8(x + i + 48), d)
        d2 = fma8(load8(x + i + 56), load8(x + i + 56), d2)
        i += 64
    if i + 16 <= n:
        a = fma8(load8(x + i), load8(x + i), a)
        a2 = fma8(load8(x + i + 8), load8(x + i + 8), a2)
        i += 16
    if i + 16 <= n:
        b = fma8(load8(x + i), load8(x + i), b)
        b2 = fma8(load8(x + i + 8), load8(x + i + 8), b2)
        i += 16
    if i + 16 <= n:
        c = fma8(load8(x + i), load8(x + i), c)
        c2 = fma8(load8(x + i + 8), load8(x + i + 8), c2)
        i += 16
    a = add8(add8(a, c), add8(b, d))
    a2 = add8(add8(a2, c2), add8(b2, d2))
    if i < n:
        v = part_or_zero(x + i, n - i)
        a = fma8(v, v, a)
        v = part_or_zero(x + i + 8, n - i - 8)
        a2 = fma8(v, v, a2)
    return tree_sum(add8(a, a2))


cdef inline void sum_rows(const ReduceShape* s, const float* x, float scale, bint square, bint wide, float* y) noexcept nogil:
    """The last axis is reduced."""
    cdef int64_t a, b, c, i, j
    cdef const float* run
    cdef float total
    cdef f32x8 acc                                          # one lane would do
    for a in range(s.dims[0]):
        for b in range(s.dims[2]):
            for c in range(s.dims[4]):
                acc = splat8(0)
                for i in range(s.dims[1]):
                    for j in range(s.dims[3]):
                        run = x + a * s.strides[0] + i * s.strides[1] + b * s.strides[2] + j * s.strides[3] + c * s.strides[4]
                        total = row_sum_squares_wide(run, s.dims[5]) if square and wide else row_sum(run, s.dims[5], square, wide)
                        if wide:
                            acc = fma8(splat8(total), splat8(scale), acc)
                        else:
                            acc = add8(splat8(total) * splat8(scale), acc)
                store_part8(y, acc, 1)
                y += 1


# ---- sums down the channels, 32 at once: the sums of one channel wait for each other
cdef inline f32x8 channels8(const float* x, int64_t lanes, bint full) noexcept nogil:
    """full: all eight are there, else `lanes` of them, which may be none or more than eight."""
    return load8(x) if full else part_or_zero(x, lanes)


cdef inline f32x8 column_step(f32x8 t, f32x8 v, bint square, bint wide, bint turned) noexcept nogil:
    """turned: the value comes before the sum."""
    if square and wide:
        return fma8(v, v, t)
    if square:
        return add8(t, v * v)
    return add8(v, t) if turned else add8(t, v)


cdef inline void column_sums(
    const float* x, int64_t n, int64_t stride, int64_t lanes, bint full, bint square, bint wide, bint whole, f32x8* t,
) noexcept nogil:
    """Of n values each of 32 (or, unless `full`, fewer) channels. Outside of whole blocks of channels every seventh value comes before
    the sum.
    """
    cdef f32x8 a = splat8(0)
    cdef f32x8 b = a
    cdef f32x8 c = a
    cdef f32x8 d = a
    cdef int64_t i, k
    for i in range(0, n, 7):
        for k in range(min(n - i, <int64_t>7)):
            a = column_step(a, channels8(x, lanes, full), square, wide, k == 0 and not whole)
            b = column_step(b, channels8(x + 8, lanes - 8, full), square, wide, k == 0 and not whole)
            c = column_step(c, channels8(x + 16, lanes - 16, full), square, wide, k == 0 and not whole)
            d = column_step(d, channels8(x + 24, lanes - 24, full), square, wide, k == 0 and not whole)
            x += stride
    t[0], t[1], t[2], t[3] = a, b, c, d


cdef inline void sum_columns(const ReduceShape* s, const float* x, float scale, bint square, bint wide, float* y) noexcept nogil:
    """The last axis is kept."""
    cdef int64_t a, b, c, k, j, q
    cdef int64_t channels = s.dims[5]
    cdef int64_t whole = channels & ~<int64_t>(63 if wide else 31)      # channels of whole blocks
    cdef const float* run
    cdef f32x8[4] acc
    cdef f32x8[4] t
    for a in range(s.dims[1]):
        for b in range(s.dims[3]):
            for c in range(0, channels, 32):
                for q in range(4):
                    acc[q] = splat8(0)
                for k in range(s.dims[0]):
                    for j in range(s.dims[2]):
                        run = x + k * s.strides[0] + a * s.strides[1] + j * s.strides[2] + b * s.strides[3] + c
                        if channels - c >= 32:
                            column_sums(run, s.dims[4], s.strides[4], 32, True, square, wide, c < whole, t)
                        else:
                            column_sums(run, s.dims[4], s.strides[4], channels - c, False, square, wide, False, t)
                        for q in range(4):
                            acc[q] = add8(t[q] * splat8(scale), acc[q]) if c < whole else add8(acc[q], t[q] * splat8(scale))
                store_channels(y + c, acc, channels - c)
            y += channels


cdef inline void store_channels(float* y, const f32x8* acc, int64_t lanes) noexcept nogil:
    """Four vectors, or as many channels as there are."""
    cdef int64_t q
    for q in range(4):
        if lanes >= 8 * q + 8:
            store8(y + 8 * q, acc[q])
        elif lanes > 8 * q:
            store_part8(y + 8 * q, acc[q], lanes - 8 * q)


# ---- maxima and minima
cdef inline f32x8 pick8(int extreme, f32x8 a, f32x8 b) noexcept nogil:
    return max8(a, b) if extreme == MAXIMUM else min8(a, b)


cdef inline float row_extreme_neon(int extreme, const float* x, int64_t n, float start) noexcept nogil:
    """Four accumulators of four lanes, whole fours that are left over, lanes 2 apart, two values left over, lanes 1 apart, the last value."""
    cdef f32x8 a = splat8(start)
    cdef f32x8 b = a
    cdef float[24] lanes
    cdef int64_t i = 0
    while i + 16 <= n:
        a = pick8(extreme, a, load8(x + i))
        b = pick8(extreme, b, load8(x + i + 8))
        i += 16
    store8(lanes, a)
    store8(lanes + 8, b)
    store8(lanes + 16, b)
    store8(lanes, pick8(extreme, load8(lanes), load8(lanes + 4)))
    store8(lanes + 8, pick8(extreme, load8(lanes + 8), load8(lanes + 12)))
    a = pick8(extreme, load8(lanes), load8(lanes + 8))
    while i + 4 <= n:
        a = pick8(extreme, a, load_part8(x + i, 4))
        i += 4
    store8(lanes, a)
    a = pick8(extreme, a, load8(lanes + 2))
    if n & 2:
        a = pick8(extreme, a, load_part8(x + i, 2))
        i += 2
    store8(lanes, a)
    a = pick8(extreme, a, load8(lanes + 1))
    if n & 1:
        a = pick8(extreme, a, splat8(x[i]))
    store8(lanes, a)
    return lanes[0]


cdef inline float row_extreme(int extreme, const float* x, int64_t n, float start, bint wide) noexcept nogil:
    """Four accumulators of eight lanes (wide: sixteen, each two here); values that fill no vector meet every lane."""
    cdef f32x8 a[8]
    cdef int64_t i = 0
    cdef int halves = 2 if wide else 1
    cdef int64_t width = 8 * halves
    cdef int r
    cdef f32x8 v
    if AARCH64:
        return row_extreme_neon(extreme, x, n, start)
    for r in range(8):
        a[r] = splat8(start)
    while i + 4 * width <= n:
        for r in range(4 * halves):
            a[r] = pick8(extreme, a[r], load8(x + i + 8 * r))
        i += 4 * width
    for r in range(halves):
        v = pick8(extreme, a[r], a[halves + r])
        a[r] = pick8(extreme, v, pick8(extreme, a[2 * halves + r], a[3 * halves + r]))
    while i + width <= n:
        for r in range(halves):
            a[r] = pick8(extreme, a[r], load8(x + i + 8 * r))
        i += width
    while i < n:
        for r in range(halves):
            a[r] = pick8(extreme, a[r], splat8(x[i]))
        i += 1
    return tree_extreme(extreme, pick8(extreme, a[0], a[1]) if wide else a[0])


cdef inline float tree_extreme(int extreme, f32x8 v) noexcept nogil:
    cdef float[16] lanes
    cdef int step = 4
    store8(lanes + 8, v)
    store8(lanes, v)
    while step > 0:
        store8(lanes, pick8(extreme, load8(lanes), load8(lanes + step)))
        step >>= 1
    return lanes[0]


cdef inline void extreme_rows(int extreme, const ReduceShape* s, const float* x, bint wide, float* y) noexcept nogil:
    """The last axis is reduced."""
    cdef int64_t a, b, c, i, j
    cdef float best
    for a in range(s.dims[0]):
        for b in range(s.dims[2]):
            for c in range(s.dims[4]):
                best = -INFINITY if extreme == MAXIMUM else INFINITY
                for i in range(s.dims[1]):
                    for j in range(s.dims[3]):
                        best = row_extreme(
                            extreme, x + a * s.strides[0] + i * s.strides[1] + b * s.strides[2] + j * s.strides[3] + c * s.strides[4],
                            s.dims[5], best, wide,
                        )
                y[0] = best
                y += 1


cdef inline void extreme_columns(int extreme, const ReduceShape* s, const float* x, float* y) noexcept nogil:
    """The last axis is kept."""
    cdef int64_t a, b, c, k, j, q
    cdef int64_t channels = s.dims[5]
    cdef const float* run
    cdef f32x8[4] acc
    for a in range(s.dims[1]):
        for b in range(s.dims[3]):
            for c in range(0, channels, 32):
                for q in range(4):
                    acc[q] = splat8(-INFINITY if extreme == MAXIMUM else INFINITY)
                for k in range(s.dims[0]):
                    for j in range(s.dims[2]):
                        run = x + k * s.strides[0] + a * s.strides[1] + j * s.strides[2] + b * s.strides[3] + c
                        if extreme == MAXIMUM:
                            column_extremes(MAXIMUM, run, s.dims[4], s.strides[4], channels - c, acc)
                        else:
                            column_extremes(MINIMUM, run, s.dims[4], s.strides[4], channels - c, acc)
                store_channels(y + c, acc, channels - c)
            y += channels


cdef inline void column_extremes(int extreme, const float* x, int64_t n, int64_t stride, int64_t lanes, f32x8* t) noexcept nogil:
    """Of n values each of 32 (or fewer) channels."""
    cdef f32x8 a = t[0]
    cdef f32x8 b = t[1]
    cdef f32x8 c = t[2]
    cdef f32x8 d = t[3]
    cdef int64_t i
    for i in range(n):
        a = pick8(extreme, a, channels8(x, lanes, False))
        b = pick8(extreme, b, channels8(x + 8, lanes - 8, False))
        c = pick8(extreme, c, channels8(x + 16, lanes - 16, False))
        d = pick8(extreme, d, channels8(x + 24, lanes - 24, False))
        x += stride
    t[0], t[1], t[2], t[3] = a, b, c, d
