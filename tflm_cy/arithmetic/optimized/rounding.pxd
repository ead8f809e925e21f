"""How the optimized kernels' matrix products of integers round their int32 sums: `conv.factor_of`'s Rounding.

On x86-64 every product and quotient rounds, halves up. On aarch64 the product of the multiplier is cut, and only the shift behind it
rounds, or the product where there is no right shift: one rounding in all; but products of bytes with a single column, which have kernels of their
own from four rows of eight values on, round as on x86-64.

Source: ruy:ruy/{kernel_arm64.cc,apply_multiplier.cc}; LiteRT:tflite/kernels/cpu_backend_gemm_custom_gemv.h.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.sum_rescale cimport HALVES_UP, ONCE


cdef inline int gemm_rounding(ptrdiff_t channels, ptrdiff_t positions, ptrdiff_t depth, bint eight_bits) noexcept nogil:
    """Of `channels` rows of weights with `depth` values, at all output positions of all images; eight_bits: of bytes, not of int16."""
    if not AARCH64 or (eight_bits and positions == 1 and channels >= 4 and depth >= 8):
        return HALVES_UP
    return ONCE


cdef inline int rounding_of_shift(int rounding, int32_t shift) noexcept nogil:
    """`rounding` of a multiplier with this shift: what rounds once is the product where nothing is shifted right behind it."""
    return HALVES_UP if rounding == ONCE and shift >= 0 else rounding
