"""Reductions of the optimized kernels where their bytes are not the reference's.

- An accumulator starts as its first element, not as a neutral one: the sum of -0.0 and -0.0 is -0.0, and of two equal or incomparable
  floats a maximum or minimum keeps the later: max(NaN, 1) is 1, max(1, NaN) is NaN.
- MEAN of float rows is Eigen's sum of a row (`row_sum_f32`).
- MEAN of 8-bit images over height and width, SUM of 8 and 16 bits: formulas of their own.

Source: LiteRT:tflite/kernels/internal/optimized/{reduce.h,optimized_ops.h}; Eigen:src/Core/Redux.h.
"""
from libc.math cimport NAN
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.eigen cimport fold8
from tflm_cy.arithmetic.fixed_point cimport clamp32, quantize_multiplier, wrap32
from tflm_cy.arithmetic.lookup cimport truncate
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.nan_order cimport add_after, add_first
from tflm_cy.arithmetic.optimized.reduction_neon cimport aligned_start_neon, row_sum_neon
from tflm_cy.arithmetic.reduction cimport FOLD_MAX, FOLD_MIN, FOLD_PROD, MAX_AXES, FoldShape, advance, fold, narrow, neutral
from tflm_cy.arithmetic.rescale cimport ready, ready_up, rescale
from tflm_cy.arithmetic.rounding cimport add_wrapping, round_away
from tflm_cy.arithmetic.row_kernels cimport RowKernels

cdef enum:
    MEAN_BLOCK = 16              # channels of the vector code
    MEAN_CHANNELS = 8            # channels per thread at least
    MEAN_PHASES = 8              # places of a vector at which a row may begin
    MEAN_SHORT = 128             # elements of a row in which the ends cost as much as the middle


cdef inline float row_sum_f32(const float* p, int64_t n, int64_t start) noexcept nogil:
    """On aarch64 row_sum_neon. Two accumulators of eight lanes from element `start` on, the blocks in turn; then the elements before, then those
    behind. Of two NaN that of the sum so far comes out.

    Eigen starts at the first element that lies on 32 bytes. n >= 1.
    """
    cdef float[8] a
    cdef float[8] b
    cdef int64_t blocks, i
    cdef float total
    cdef int l
    if AARCH64:
        return row_sum_neon(p, n, start)
    start = min(start, n)
    blocks = (n - start) / 8
    if blocks == 0:
        total = p[0]
        for i in range(1, n):
            total = add_first(total, p[i])
        return total
    for l in range(8):
        a[l] = p[start + l]
    if blocks > 1:
        for l in range(8):
            b[l] = p[start + 8 + l]
        for i in range(start + 16, start + 8 * (blocks & ~<int64_t>1), 16):
            for l in range(8):
                a[l] = add_after(a[l], p[i + l])
                b[l] = add_after(b[l], p[i + 8 + l])
        for l in range(8):
            a[l] = add_after(b[l], a[l])
        if blocks & 1:
            for l in range(8):
                a[l] = add_after(a[l], p[start + 8 * (blocks - 1) + l])
    total = fold8(a, a + 4)
    for i in range(start):
        total = add_first(total, p[i])
    for i in range(start + 8 * blocks, n):
        total = add_first(total, p[i])
    return total


cdef inline int64_t aligned_start(int64_t row, int64_t depth) noexcept nogil:
    """The first element on a vector's bytes, 32 or on aarch64 16, of a row of a tensor that begins on 64: never a question of where it really lies."""
    return aligned_start_neon(row, depth) if AARCH64 else -(row * depth) & 7


cdef inline float sum_of_row(const float* p, int64_t n, int64_t start, const RowKernels* fast) noexcept nogil:
    """`row_sum_f32`. `fast` says only that the sum is NaN, not which one."""
    cdef float total
    if fast != NULL and n - start >= 8 and not AARCH64:
        total = fast.row_sum(p, n, start)
        if total == total:
            return total
    return row_sum_f32(p, n, start)


cdef inline void mean_rows_f32(const float* x, float* y, int64_t rows, int64_t depth, const RowKernels* fast) noexcept nogil:
    """Short rows that begin at the same place of a vector one after another: a CPU foretells how many elements come before and behind."""
    cdef int64_t step = 1 if depth % MEAN_PHASES == 0 or depth > MEAN_SHORT else MEAN_PHASES
    cdef int64_t first, row
    for first in range(min(step, rows)):
        row = first
        while row < rows:
            y[row] = sum_of_row(x + row * depth, depth, aligned_start(row, depth), fast) / <float>depth
            row += step


cdef inline void extremes_f32(bint largest, const FoldShape* s, const float* x, float* y) noexcept nogil:
    """Into NaN, which the first element always replaces."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t n = s.dims[s.rank - 1]
    cdef bint into_one = s.strides[s.rank - 1] == 0
    cdef int64_t row, i, out = 0
    cdef float one
    cdef int d
    for d in range(MAX_AXES):
        index[d] = 0
    for row in range(s.inputs / n):
        if into_one:
            one = y[out]
            for i in range(n):
                one = kept_or_later(largest, one, x[i])
            y[out] = one
        else:
            for i in range(n):
                y[out + i] = kept_or_later(largest, y[out + i], x[i])
        x += n
        out = advance(s, s.rank - 1, index, out)


cdef inline float kept_or_later(bint largest, float a, float x) noexcept nogil:
    if largest:
        return a if a > x else x
    return a if a < x else x


cdef inline float first_accumulator(int folding, bint empty) noexcept nogil:
    if empty:
        return neutral(folding, <float>0)
    return <float>1 if folding == FOLD_PROD else NAN if folding == FOLD_MAX or folding == FOLD_MIN else <float>-0.0


cdef inline void fold_from_first_f32(int folding, const FoldShape* s, const float* x, float* y) noexcept nogil:
    """Folding: sum, product, maximum, minimum."""
    cdef int64_t i
    for i in range(s.outputs):
        y[i] = first_accumulator(folding, s.inputs == 0)
    if s.inputs == 0:
        return
    if folding == FOLD_MAX or folding == FOLD_MIN:
        extremes_f32(folding == FOLD_MAX, s, x, y)
    else:
        fold(folding, s, x, y)


cdef inline void mean_image_channels(
    const int32_t* a, narrow* y, int64_t outputs, int64_t channels, int64_t pixels, float x_scale, int32_t x_zero_point, float y_scale,
    int32_t y_zero_point, int threads,
) noexcept nogil:
    """a: sums over height and width. Each thread's channels are rounded in blocks of 16 (halves up), and its last ones away from zero."""
    cdef int32_t low = 0 if narrow is uint8_t else (-128 if narrow is int8_t else -32768)
    cdef int32_t high = 255 if narrow is uint8_t else (127 if narrow is int8_t else 32767)
    cdef float count = <float>pixels
    cdef float shift = <float>x_zero_point * x_scale / y_scale
    cdef int32_t bias = wrap32(<int64_t>y_zero_point - truncate(shift + <float>0.5 if shift > 0 else shift - <float>0.5))
    cdef double real = <double>(x_scale / (count * y_scale))
    cdef Rescale up = ready_up(quantize_multiplier(real))
    cdef Rescale away = ready(quantize_multiplier(real))
    cdef int64_t parts = max(1, min(<int64_t>threads, channels / MEAN_CHANNELS))
    cdef int64_t image, part, start, end, body, c
    cdef int32_t value
    for image in range(outputs / max(channels, 1)):
        end = 0
        for part in range(parts):
            start = end
            end = start + (channels - start) / (parts - part)
            body = end - (end - start) % MEAN_BLOCK
            for c in range(start, end):
                value = wrap32(<int64_t>rescale(a[c], up if c < body else away) + bias)
                y[c] = <narrow>max(low, min(value, high))
        a += channels
        y += channels


cdef inline void scaled_sums(const int32_t* a, narrow* y, int64_t outputs, int64_t folded, float x_scale, int32_t x_zero_point,
                             float y_scale, int32_t y_zero_point) noexcept nogil:
    """round(sum * (x_scale / y_scale) - folded zero points), all in float32."""
    cdef int32_t low = 0 if narrow is uint8_t else (-128 if narrow is int8_t else -32768)
    cdef int32_t high = 255 if narrow is uint8_t else (127 if narrow is int8_t else 32767)
    cdef float scale = x_scale / y_scale
    cdef float bias = <float>-x_zero_point * scale * <float>folded
    cdef int64_t i
    for i in range(outputs):
        y[i] = <narrow>clamp32(add_wrapping(round_away(<float>a[i] * scale + bias), y_zero_point), low, high)
