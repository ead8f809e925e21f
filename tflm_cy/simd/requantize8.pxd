"""Which sums the vector kernels may requantize, and which may be raised: see requantize8.h.

    c.magic_bias = may_raise(&c.out, channels, depth, is_signed)     # when a kernel is planned
    sums[column] = bias + raised_by(c.magic_bias)                    # what its sums begin with
"""
from libc.math cimport fabs
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Requantize


cdef extern from "requantize8.h" nogil:
    enum:
        RAISES8
        RAISED8

cdef enum:
    LARGEST_RAISED8 = 0x34000000       # a raised sum is a finite number
    LARGEST_SCALED8 = 4000000          # what all kernels can round
    LARGEST_PRODUCT8 = 255 * 255       # of a byte and a weight, less their zero points
    TWO_TO_23 = 1 << 23


cdef inline bint stays_small(const Requantize* out, ptrdiff_t channels, double depth) noexcept nogil:
    """Are scaled sums of `depth` products below 2^31, where converting and packing saturates as the definition clamps, and nothing wraps?"""
    cdef ptrdiff_t channel
    cdef double most
    for channel in range(channels):
        most = min(depth * LARGEST_PRODUCT8 + fabs(<double>out.bias[channel]), 2147483648.0)
        if not most * out.scales[channel] < 2147483000.0:
            return False
    return True


cdef inline uint32_t raised_by(bint magic_bias) noexcept nogil:
    return <uint32_t>RAISED8 if magic_bias else 0


cdef inline bint may_raise(const Requantize* out, ptrdiff_t channels, double depth, bint is_signed) noexcept nogil:
    """Are the outputs of sums of `depth` products the same when they are raised?"""
    cdef ptrdiff_t channel
    cdef double most
    cdef float scale
    if not RAISES8 or (AARCH64 and not is_signed) or out.zero_point != (-128 if is_signed else 0) or out.low != 0 or out.high != 255:
        return False
    for channel in range(channels):
        scale = out.scales[channel]
        most = depth * LARGEST_PRODUCT8 + fabs(<double>out.bias[channel])
        if not (most < LARGEST_RAISED8 and 0 < scale and read_raised(<int32_t>most + 1) * scale < LARGEST_SCALED8):
            return False
        if most >= TWO_TO_23 and scale * TWO_TO_23 < 512:        # far from all bytes
            return False
    return True


cdef inline double read_raised(int32_t sum) noexcept nogil:
    """What a raised sum is taken for."""
    cdef uint32_t bits = <uint32_t>sum + <uint32_t>RAISED8
    cdef float magic_bias
    memcpy(&magic_bias, &bits, sizeof(float))
    return <double>magic_bias - TWO_TO_23
