"""From the sums of 8-bit matrix products and convolutions to outputs: requantize.pxd, and on aarch64 how some cores round uint8.

    requantize_products(sums, &out, channels, y)

Their scales are below 0, and a scale of -m * 2^e, m from 0.5 on and below 1, rounds twice: a sum times 2^e becomes a whole number, held to 16 bits;
that times the first 15 bits of m becomes the output. Halves go up both times.

Source: bytes of TensorFlow 2.21 on Cortex-A53 and A55; XNNPACK's rndnu16 kernels.
"""
from libc.math cimport frexpf, ldexpf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Requantize
from tflm_cy.arithmetic.xnnpack.requantize cimport byte8, requantize_sums, rintf, scaled_half_up, whole_sum


cdef inline int64_t scaled_twice(int32_t x, float scale) noexcept nogil:
    """scale: above 0."""
    cdef int exponent
    cdef float m = rintf(frexpf(scale, &exponent) * 32768)
    cdef int64_t whole = scaled_half_up(x, ldexpf(1, exponent))
    return scaled_half_up(<int32_t>min(max(whole, <int64_t>-32768), <int64_t>32767), m / 32768)


cdef inline void requantize_products(const whole_sum* sums, const Requantize* out, ptrdiff_t n, byte8* y) noexcept nogil:
    cdef ptrdiff_t c
    cdef int64_t v
    if not (AARCH64 and byte8 is uint8_t and n > 0 and out.scales[0] < 0):
        requantize_sums(sums, out, n, y)
        return
    for c in range(n):
        v = scaled_twice(<int32_t>(<uint32_t>sums[c] + <uint32_t>out.bias[c]), -out.scales[c])
        y[c] = <byte8>(min(max(v, <int64_t>out.low), <int64_t>out.high) + out.zero_point)
