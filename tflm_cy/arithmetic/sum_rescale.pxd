"""From the sums of integer products to quantized outputs, per channel.

    out.factors[c] = factor_of(multiplier, HALVES_AWAY)
    rescale_sums(sums, &out, channels, y)
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport multiply_wide
from tflm_cy.arithmetic.multipliers cimport Factor, Multiplier
from tflm_cy.arithmetic.product_s16 cimport activation

cdef enum Rounding:              # of a Factor's right shift
    HALVES_AWAY = 0              # from zero
    HALVES_UP = 1
    ONCE = 2                     # halves up, and the product before is cut


cdef struct Rescale:             # from a sum to a quantized output
    const int64_t* bias          # one per channel
    const Factor* factors
    int32_t zero_point
    int32_t low
    int32_t high
    ptrdiff_t longest            # products that fit an int32 (product_s16)
    bint wide                    # a 64-bit sum with one rounding (int16 activations, int64 bias) instead of a 32-bit sum with two


cdef inline Factor factor_of(Multiplier m, int rounding) noexcept nogil:
    """HALVES_UP: those of the right shift round towards infinity, as in the vector code and the 8-bit products of the optimized kernels; there
    a left shift beyond 31 leaves 0. ONCE: nothing else is rounded (optimized/rounding.pxd)."""
    cdef Factor f
    f.value = m.value if m.shift <= 31 or rounding == HALVES_AWAY else 0
    f.left = m.shift if m.shift > 0 else 0
    f.right = -m.shift if m.shift < 0 else 0
    f.half = <int32_t>((<uint32_t>1 << f.right) >> 1)
    f.away = -1 if f.right > 0 and rounding == HALVES_AWAY else 0
    f.cut = -1 if rounding == ONCE else 0
    return f


cdef inline int64_t rescale(int32_t x, const Factor* f) noexcept nogil:
    """fixed_point.multiply for a value below 2^31 that is not negative: both roundings as a shift of a biased number.

    Half away from zero is (h + half) >> right, less one before the shift when h is negative; without a branch, as signs are random.
    """
    cdef int64_t h = (<int64_t><int32_t>(<uint32_t>x << (f.left & 31)) * f.value + ((1 << 30) & ~f.cut)) >> 31
    return (h + f.half + ((h >> 63) & f.away)) >> f.right


cdef inline void rescale_sums(const int64_t* sums, const Rescale* out, ptrdiff_t n, activation* y) noexcept nogil:
    """Sums of the channels 0 .. n - 1 to quantized outputs."""
    cdef ptrdiff_t c
    cdef int64_t v
    if out.wide:
        for c in range(n):
            v = <int64_t>multiply_wide(sums[c] + out.bias[c], out.factors[c].value, out.factors[c].left - out.factors[c].right)
            v += out.zero_point
            v = out.low if v < out.low else v
            y[c] = <activation>(out.high if v > out.high else v)
        return
    for c in range(n):
        v = rescale(<int32_t><uint32_t>(sums[c] + out.bias[c]), &out.factors[c]) + out.zero_point
        v = out.low if v < out.low else v
        y[c] = <activation>(out.high if v > out.high else v)
