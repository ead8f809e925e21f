"""Whether an optimized product of bytes wraps around on this CPU (arithmetic/optimized/product_pairs.pxd).

    if wraps_in_pairs(rows, columns, depth, w.data, w.type == UINT8, w.zero_point): ...   # no kernel with exact sums serves
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, uint8_t

from tflm_cy.arithmetic.conv cimport ONCE
from tflm_cy.arithmetic.optimized.product_pairs cimport can_pair
from tflm_cy.arithmetic.optimized.rounding cimport gemm_rounding
from tflm_cy.ops.generation cimport has_dotprod


cdef inline bint wraps_in_pairs(
    ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth, const void* w, bint is_unsigned, int32_t zero_point,
) except -1:
    """Of `rows` rows of weights, times as many columns; w: NULL when they are not known yet."""
    if gemm_rounding(rows, columns, depth) != ONCE or has_dotprod():
        return False
    if w == NULL:
        return True
    if is_unsigned:
        return can_pair(<const uint8_t*>w, rows, depth, depth, zero_point)
    return can_pair(<const int8_t*>w, rows, depth, depth, zero_point)
