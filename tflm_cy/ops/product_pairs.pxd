"""Whether an optimized product of bytes wraps around on this CPU (arithmetic/optimized/product_pairs.pxd).

    if wraps_in_pairs(rows, depth, w.data, w.type == UINT8, w.zero_point): ...   # no kernel with exact sums serves

Where sums are requantized at once, products with a single column have an exact kernel of their own (`rounding.gemm_rounding`).
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, uint8_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.optimized.product_pairs cimport can_pair
from tflm_cy.ops.generation cimport has_dotprod


cdef inline bint wraps_in_pairs(ptrdiff_t rows, ptrdiff_t depth, const void* w, bint is_unsigned, int32_t zero_point) except -1:
    """Of `rows` rows of weights; w: NULL when they are not known yet."""
    if not AARCH64 or has_dotprod():
        return False
    if w == NULL:
        return True
    if is_unsigned:
        return can_pair(<const uint8_t*>w, rows, depth, depth, zero_point)
    return can_pair(<const int8_t*>w, rows, depth, depth, zero_point)
