"""8-bit matrix products on aarch64 without dot products of bytes: products meet in pairs, in 16 bits.

    if can_pair(w, rows, depth, row, w_zero_point): ...                             # else no sum of these weights wraps around
    subtract_pairs(values, x_zero_point, w, rows, depth, row, w_zero_point, sums)   # from the exact sums to the kernel's

A sum takes its products in blocks of 16 and adds the k-th of the first half of a block to the k-th of the second. Bytes are int8 there, uint8 ones
less 128: two products of -128 * -128 wrap around, and the sum lacks 65536. What is missing in the last block are the zero points.

Products of a matrix and a single column (`rounding.gemm_rounding`) are exact.

Source: ruy:ruy/kernel_arm64.cc (Kernel8bitNeon).
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t

from tflm_cy.arithmetic.conv cimport position_sums
from tflm_cy.arithmetic.product_s16 cimport accumulate_one, activation, shift_values, subtract_weight_zero, weight8
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.sum_rescale cimport Rescale, rescale_sums

cdef enum:
    HALF = 8
    LACKS = 65536


cdef inline int32_t lowest_byte(const weight8* w) noexcept nogil:
    """What the kernel takes for -128."""
    return 0 if <weight8>-1 > 0 else -128


cdef inline bint weights_pair(const weight8* w, ptrdiff_t depth, ptrdiff_t k, int32_t zero_point) noexcept nogil:
    """Are weights k and k + 8 of a row both the lowest byte?"""
    cdef int32_t lowest = lowest_byte(w)
    return (w[k] if k < depth else zero_point) == lowest and (w[k + HALF] if k + HALF < depth else zero_point) == lowest


cdef inline bint can_pair(const weight8* w, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t row, int32_t zero_point) noexcept nogil:
    """Does any row hold such a pair? `row`: weights from one row to the next."""
    cdef ptrdiff_t o, block, k
    for o in range(rows):
        for block in range(0, depth, 16):
            for k in range(block, block + HALF):
                if weights_pair(w + o * row, depth, k, zero_point):
                    return True
    return False


cdef inline void subtract_pairs(
    const int16_t* values, int32_t x_zero_point, const weight8* w, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t row, int32_t zero_point,
    int64_t* sums,
) noexcept nogil:
    """values: less their zero point, of one row."""
    cdef int32_t lowest = lowest_byte(w) - x_zero_point
    cdef ptrdiff_t o, block, k
    for block in range(0, depth, 16):
        for k in range(block, block + HALF):
            if (values[k] if k < depth else 0) != lowest or (values[k + HALF] if k + HALF < depth else 0) != lowest:
                continue
            for o in range(rows):
                if weights_pair(w + o * row, depth, k, zero_point):
                    sums[o] -= LACKS


cdef inline void row_sums_in_pairs(
    const activation* x, int32_t x_zero_point, const weight8* w, int32_t w_zero_point, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t longest,
    int16_t* shifted, int64_t* sums,
) noexcept nogil:
    """A row of values times all rows of weights. shifted: depth values."""
    cdef ptrdiff_t o
    for o in range(rows):
        sums[o] = 0
    shift_values(x, depth, x_zero_point, shifted)
    accumulate_one(shifted, w, rows, depth, depth, longest, sums)
    subtract_weight_zero(shifted, depth, w_zero_point, rows, sums)
    subtract_pairs(shifted, x_zero_point, w, rows, depth, depth, w_zero_point, sums)


cdef inline void conv_in_pairs(
    const ConvShape* g, const activation* x, int32_t x_zero_point, const weight8* w, int32_t w_zero_point, const Rescale* out,
    int16_t* patches, int64_t* sums, activation* y, int64_t first, int64_t end,
) noexcept nogil:
    """conv.conv_quantized of one group, the positions first to end of all images; taps outside of the image are zero points."""
    cdef ptrdiff_t image = g.oh * g.ow
    cdef int64_t at
    for at in range(first, end):
        position_sums(
            g, x + at / image * (g.ih * g.iw * g.ic), x_zero_point, w, w_zero_point, out.longest, at % image, 1, patches, sums)
        subtract_pairs(patches, x_zero_point, w, g.oc, g.kh * g.kw * g.group_ic, g.row, w_zero_point, sums)
        rescale_sums(sums, out, g.oc, y + at * g.oc)
