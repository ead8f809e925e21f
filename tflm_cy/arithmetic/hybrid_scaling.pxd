"""From the exact sums of quantized values and int8 weights to the outputs of the hybrid convolutions and products.

    cdef HybridScaling h                               # of a node
    h.zero_point, h.scale = s.zero_point, s.scale      # of the quantized row or image
    scale_rows(&h, group, first, n, sums, sum_row, rows, y, y_row)

The order of the multiplications is part of the definition: the operators differ in it. Of two NaN the product's comes out, not the bias's; with
BY_FOURS on aarch64 the bias's, where on x86-64 NaN is the lower limit.
On aarch64 the last product of FULLY_CONNECTED may be fused with the bias (hybrid_neon.pxd).
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.machine cimport AARCH64, fmaf
from tflm_cy.arithmetic.nan_order cimport add_after, mul_after

cdef enum Scaling:               # of a sum
    BY_BOTH = 0                  # sum * (image scale * the filter's only scale)
    BY_FILTER_FIRST = 1          # (sum * filter scale) * image scale
    BY_PRODUCT = 2               # sum * (filter scale * image scale)
    BY_FOURS = 3                 # BY_FILTER_FIRST, NaN becoming the lower limit but on aarch64; the last columns % 4: (sum * image scale) * filter scale

cdef struct HybridScaling:
    ptrdiff_t columns            # of a group
    int params                      # Scaling
    const float* scales
    const float* bias
    float low
    float high
    const int32_t* w_sums        # of each column's weights
    int32_t zero_point
    float scale
    bint fused                   # the product and the bias, but for BY_FILTER_FIRST and BY_FOURS
    ptrdiff_t bias_first         # of all columns: up to here a bias that is NaN comes out, whatever it is added to


cdef inline ptrdiff_t bias_first_of(const float* bias, ptrdiff_t n) noexcept nogil:
    """The `bias_first` of CONV_2D, whose sums with the bias are vectors of four; 0 where no bias is NaN."""
    cdef ptrdiff_t c
    for c in range(n - n % 4):
        if bias[c] != bias[c]:
            return n - n % 4
    return 0


cdef inline void scale_row(const HybridScaling* h, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, float* y) noexcept nogil:
    """n columns from column `first` on: the first one of a group, or fours of columns behind it."""
    cdef const float* scales = h.scales + first
    cdef const float* bias = h.bias + first
    cdef const int32_t* w_sums = h.w_sums + first
    cdef ptrdiff_t fours = n - n % 4
    cdef float both = mul_after(h.scale, h.scales[0])
    cdef float low = h.low
    cdef float high = h.high
    cdef float scale = h.scale
    cdef uint32_t zero_point = <uint32_t>h.zero_point
    cdef ptrdiff_t c
    cdef float v
    if AARCH64 and h.fused:
        for c in range(n):
            v = <float><int32_t>(<uint32_t>sums[c] - zero_point * <uint32_t>w_sums[c])
            y[c] = clamp_f32(fmaf(v, both if h.params == BY_BOTH else scales[c] * scale, bias[c]), low, high)
    elif h.params == BY_BOTH:
        for c in range(n):
            v = <float><int32_t>(<uint32_t>sums[c] - zero_point * <uint32_t>w_sums[c]) * both
            y[c] = clamp_f32(add_after(v, bias[c]), low, high)
    elif h.params == BY_FILTER_FIRST:
        for c in range(n):
            v = <float><int32_t>(<uint32_t>sums[c] - zero_point * <uint32_t>w_sums[c]) * scales[c]
            y[c] = clamp_f32(add_after(mul_after(v, scale), bias[c]), low, high)
    elif h.params == BY_PRODUCT:
        for c in range(n):
            v = <float><int32_t>(<uint32_t>sums[c] - zero_point * <uint32_t>w_sums[c]) * mul_after(scales[c], scale)
            y[c] = clamp_f32(add_after(v, bias[c]), low, high)
    else:
        for c in range(fours):
            v = <float><int32_t>(<uint32_t>sums[c] - zero_point * <uint32_t>w_sums[c]) * scales[c] * scale + bias[c]
            v = v if v > low or (AARCH64 and v != v) else low
            y[c] = v if v < high or (AARCH64 and v != v) else high
        for c in range(fours, n):
            v = <float><int32_t>(<uint32_t>sums[c] - zero_point * <uint32_t>w_sums[c]) * scale
            y[c] = clamp_f32(add_after(mul_after(v, scales[c]), bias[c]), low, high)
        for c in range(n if AARCH64 else 0):
            if y[c] != y[c] and bias[c] != bias[c]:
                y[c] = bias[c] + <float>0
    for c in range(min(n, h.bias_first - first)):
        if bias[c] != bias[c]:
            y[c] = bias[c] + <float>0


cdef inline void scale_rows(
    const void* params, ptrdiff_t group, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, unsigned char* y,
    ptrdiff_t y_row,
) noexcept nogil:
    """As conv_i8 and depthwise_i8 call it (RequantizeRow)."""
    cdef const HybridScaling* h = <const HybridScaling*>params
    cdef ptrdiff_t r
    for r in range(rows):
        scale_row(h, group * h.columns + first, n, sums + r * sum_row, <float*>(y + r * y_row))
