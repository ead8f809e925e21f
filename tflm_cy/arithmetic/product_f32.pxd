"""float32 products of rows with packed weights: each output is one sum in the order of k, sixteen outputs side by side.

TensorFlow's reference kernels add `x[k] * w[k]` for k = 0, 1, ... to a sum that starts at 0, one rounding for the product and one for the
sum. The order forbids to split a sum, so the outputs are what runs in parallel: weights are packed so that the same k of neighbouring
output columns lies together.

    pack_columns(w, columns, depth, depth, 1, packed)            # w[c][k] -> blocks of 16, 8 and 4 columns; packed_size(columns, depth) floats
    multiply_rows(x, NULL, runs, count, packed, columns, depth, sums, NULL)

A `Run` is a stretch of k whose values lie side by side in the row: a fully connected layer has one, a convolution one per filter row or tap;
taps outside of the image are left out (adding 0 * w instead would make NaN of an infinite weight).

On aarch64 the last n % 8 values of a run are fused with their sum: that compiler makes blocks of eight of the loop, which it must not fuse,
and fuses what is left over. There a convolution has a run per tap. A transposed convolution adds in memory: all its products are fused.

`f32x4` is four floats that gcc and clang add and multiply lane by lane, each lane rounded as a float; it exists on every CPU.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport add_first, fused_first, mul_first

cdef extern from *:
    """
    #include <math.h>
    typedef float tflm_cy_f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
    static inline tflm_cy_f32x4 tflm_cy_fma4(tflm_cy_f32x4 a, tflm_cy_f32x4 b, tflm_cy_f32x4 c) {
      for (int i = 0; i < 4; i++) c[i] = fmaf(a[i], b[i], c[i]);
      return c;
    }
    """
    ctypedef float f32x4 "tflm_cy_f32x4"
    f32x4 fma4 "tflm_cy_fma4"(f32x4 a, f32x4 b, f32x4 c) noexcept nogil      # a * b + c, rounded once

cdef struct Run:
    ptrdiff_t x                  # offset from the start of the row
    ptrdiff_t k                  # first k
    ptrdiff_t n
    ptrdiff_t rounded            # on aarch64, of the first so many values each product, too, is rounded: whole_eights(n)


cdef inline ptrdiff_t padded_columns(ptrdiff_t columns) noexcept nogil:
    return (columns + 3) & ~<ptrdiff_t>3


cdef inline ptrdiff_t packed_size(ptrdiff_t columns, ptrdiff_t depth) noexcept nogil:
    """Number of floats of packed weights."""
    return padded_columns(columns) * depth


cdef inline ptrdiff_t block_width(ptrdiff_t left) noexcept nogil:
    """Width of the next block when `left` columns remain: 16, 8 or 4 (the last one is padded with zeros)."""
    return 16 if left >= 16 else 8 if left > 4 else 4


cdef inline void pack_columns(
    const float* w, ptrdiff_t columns, ptrdiff_t depth, ptrdiff_t column_stride, ptrdiff_t k_stride, float* packed,
) noexcept nogil:
    """packed[block][k][column of the block] = w[column * column_stride + k * k_stride]."""
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t width, k, j, filled
    while c < columns:
        width = block_width(columns - c)
        filled = width if c + width <= columns else columns - c
        for j in range(filled):
            for k in range(depth):
                packed[k * width + j] = w[(c + j) * column_stride + k * k_stride]
        for j in range(filled, width):
            for k in range(depth):
                packed[k * width + j] = 0
        packed += width * depth
        c += width


cdef inline ptrdiff_t whole_eights(ptrdiff_t n) noexcept nogil:
    """Of n values of a run those that are not fused on aarch64."""
    return n - n % 8


cdef inline f32x4 plus4(f32x4 total, f32x4 w, float x, bint fused) noexcept nogil:
    cdef float[4] same
    if AARCH64 and fused:
        same[0] = same[1] = same[2] = same[3] = x
        return fma4(w, (<f32x4*>same)[0], total)
    return total + w * x


cdef inline void columns16(
    const float* x, const float* x2, const Run* runs, int count, const float* w, float* sums, float* sums2,
) noexcept nogil:
    """Sixteen columns of two rows."""
    cdef float[4] zeros = [0, 0, 0, 0]
    cdef f32x4 a0 = (<f32x4*>zeros)[0]
    cdef f32x4 a1 = a0
    cdef f32x4 a2 = a0
    cdef f32x4 a3 = a0
    cdef f32x4 b0 = a0
    cdef f32x4 b1 = a0
    cdef f32x4 b2 = a0
    cdef f32x4 b3 = a0
    cdef const f32x4* v
    cdef const float* p
    cdef const float* q
    cdef float s, t
    cdef ptrdiff_t k
    cdef int r
    for r in range(count):
        p = x + runs[r].x
        q = x2 + runs[r].x
        v = <const f32x4*>(w + 16 * runs[r].k)
        for k in range(runs[r].n):
            s = p[k]
            t = q[k]
            a0 = plus4(a0, v[0], s, k >= runs[r].rounded)
            a1 = plus4(a1, v[1], s, k >= runs[r].rounded)
            a2 = plus4(a2, v[2], s, k >= runs[r].rounded)
            a3 = plus4(a3, v[3], s, k >= runs[r].rounded)
            b0 = plus4(b0, v[0], t, k >= runs[r].rounded)
            b1 = plus4(b1, v[1], t, k >= runs[r].rounded)
            b2 = plus4(b2, v[2], t, k >= runs[r].rounded)
            b3 = plus4(b3, v[3], t, k >= runs[r].rounded)
            v += 4
    (<f32x4*>sums)[0] = a0
    (<f32x4*>sums)[1] = a1
    (<f32x4*>sums)[2] = a2
    (<f32x4*>sums)[3] = a3
    (<f32x4*>sums2)[0] = b0
    (<f32x4*>sums2)[1] = b1
    (<f32x4*>sums2)[2] = b2
    (<f32x4*>sums2)[3] = b3


cdef inline void columns16_one(const float* x, const Run* runs, int count, const float* w, float* sums) noexcept nogil:
    """Sixteen columns of one row."""
    cdef float[4] zeros = [0, 0, 0, 0]
    cdef f32x4 a0 = (<f32x4*>zeros)[0]
    cdef f32x4 a1 = a0
    cdef f32x4 a2 = a0
    cdef f32x4 a3 = a0
    cdef const f32x4* v
    cdef const float* p
    cdef float s
    cdef ptrdiff_t k
    cdef int r
    for r in range(count):
        p = x + runs[r].x
        v = <const f32x4*>(w + 16 * runs[r].k)
        for k in range(runs[r].n):
            s = p[k]
            a0 = plus4(a0, v[0], s, k >= runs[r].rounded)
            a1 = plus4(a1, v[1], s, k >= runs[r].rounded)
            a2 = plus4(a2, v[2], s, k >= runs[r].rounded)
            a3 = plus4(a3, v[3], s, k >= runs[r].rounded)
            v += 4
    (<f32x4*>sums)[0] = a0
    (<f32x4*>sums)[1] = a1
    (<f32x4*>sums)[2] = a2
    (<f32x4*>sums)[3] = a3


cdef inline void columns8(
    const float* x, const float* x2, const Run* runs, int count, const float* w, float* sums, float* sums2,
) noexcept nogil:
    """Eight columns of two rows."""
    cdef float[4] zeros = [0, 0, 0, 0]
    cdef f32x4 a0 = (<f32x4*>zeros)[0]
    cdef f32x4 a1 = a0
    cdef f32x4 b0 = a0
    cdef f32x4 b1 = a0
    cdef const f32x4* v
    cdef const float* p
    cdef const float* q
    cdef ptrdiff_t k
    cdef int r
    for r in range(count):
        p = x + runs[r].x
        q = x2 + runs[r].x
        v = <const f32x4*>(w + 8 * runs[r].k)
        for k in range(runs[r].n):
            a0 = plus4(a0, v[0], p[k], k >= runs[r].rounded)
            a1 = plus4(a1, v[1], p[k], k >= runs[r].rounded)
            b0 = plus4(b0, v[0], q[k], k >= runs[r].rounded)
            b1 = plus4(b1, v[1], q[k], k >= runs[r].rounded)
            v += 2
    (<f32x4*>sums)[0] = a0
    (<f32x4*>sums)[1] = a1
    (<f32x4*>sums2)[0] = b0
    (<f32x4*>sums2)[1] = b1


cdef inline void columns4(
    const float* x, const float* x2, const Run* runs, int count, const float* w, float* sums, float* sums2,
) noexcept nogil:
    """Four columns of two rows."""
    cdef float[4] zeros = [0, 0, 0, 0]
    cdef f32x4 a0 = (<f32x4*>zeros)[0]
    cdef f32x4 b0 = a0
    cdef const f32x4* v
    cdef const float* p
    cdef const float* q
    cdef ptrdiff_t k
    cdef int r
    for r in range(count):
        p = x + runs[r].x
        q = x2 + runs[r].x
        v = <const f32x4*>(w + 4 * runs[r].k)
        for k in range(runs[r].n):
            a0 = plus4(a0, v[k], p[k], k >= runs[r].rounded)
            b0 = plus4(b0, v[k], q[k], k >= runs[r].rounded)
    (<f32x4*>sums)[0] = a0
    (<f32x4*>sums2)[0] = b0


cdef inline void multiply_rows(
    const float* x, const float* x2, const Run* runs, int count, const float* packed, ptrdiff_t columns, ptrdiff_t depth,
    float* sums, float* sums2,
) noexcept nogil:
    """sums[c] = x . w[c] for all columns, and the same of the second row unless it is NULL; room for padded_columns(columns) each."""
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t width
    cdef float[16] unused
    cdef float* out2 = sums2
    while c < columns:
        width = block_width(columns - c)
        if x2 == NULL:
            out2 = unused
        else:
            out2 = sums2 + c
        if width == 16 and x2 == NULL:
            columns16_one(x, runs, count, packed, sums + c)
        elif width == 16:
            columns16(x, x2, runs, count, packed, sums + c, out2)
        elif width == 8:
            columns8(x, x if x2 == NULL else x2, runs, count, packed, sums + c, out2)
        else:
            columns4(x, x if x2 == NULL else x2, runs, count, packed, sums + c, out2)
        packed += width * depth
        c += width


cdef inline bint finish_f32(const float* sums, const float* bias, ptrdiff_t n, float low, float high, float* y) noexcept nogil:
    """y = clamp(sums + bias): min(max(x, low), high) as the C++ library's, so that NaN passes. True when a sum is NaN."""
    cdef ptrdiff_t c
    cdef float v
    cdef int nan = 0
    for c in range(n):
        v = sums[c] + bias[c]
        v = low if v < low else v
        y[c] = high if high < v else v
        nan |= sums[c] != sums[c]
    return nan != 0


# ---- which NaN

cdef inline float nan_sum(
    float total, const float* x, ptrdiff_t x_step, const float* w, ptrdiff_t w_step, ptrdiff_t n, ptrdiff_t rounded,
    bint weights_first,
) noexcept nogil:
    """total + x . w with TensorFlow's choice among NaNs: the last product that is NaN replaces the sum, on aarch64 the first one does; x's NaN
    before w's (or the reverse). On aarch64 all but the first `rounded` products are fused, and infinity times 0 makes a new NaN of any.

    The compiler may swap the operands of a vector sum, which is visible only in which NaN survives; so outputs that are NaN are computed again.
    """
    cdef ptrdiff_t k
    cdef float a, b, p
    for k in range(n):
        a = x[k * x_step]
        b = w[k * w_step]
        if weights_first:
            a, b = b, a
        if AARCH64:
            total = add_first(total, mul_first(a, b)) if k < rounded else fused_first(total, a, b)
            continue
        p = a * b
        if p == p:
            total = total + p
        elif a != a:
            total = a + <float>0.0
        elif b != b:
            total = b + <float>0.0
        else:
            total = p
    return total


cdef inline void repair_nans(
    const float* x, const Run* runs, int count, const float* packed, ptrdiff_t columns, ptrdiff_t depth, bint weights_first,
    const float* sums, const float* bias, float* y,
) noexcept nogil:
    """Replace the outputs whose sum is NaN; a bias that is NaN too loses, on aarch64 unless it signals."""
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t width, j
    cdef float total
    cdef int r
    while c < columns:
        width = block_width(columns - c)
        for j in range(width if c + width <= columns else columns - c):
            if sums[c + j] != sums[c + j]:
                total = 0
                for r in range(count):
                    total = nan_sum(
                        total, x + runs[r].x, 1, packed + runs[r].k * width + j, width, runs[r].n, runs[r].rounded, weights_first)
                y[c + j] = add_first(total, bias[c + j])
        packed += width * depth
        c += width
