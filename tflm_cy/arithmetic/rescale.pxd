"""A fixed-point multiplier made ready for inner loops: the same bits as `fixed_point.multiply`, without branches.

SaturatingRoundingDoublingHighMul of x by a multiplier other than INT32_MIN is floor((x * value + 2^30) / 2^31): the reference's truncating
division with a sign-dependent nudge rounds halves up. RoundingDivideByPOT by n is (x + 2^(n-1) - (x < 0)) >> n. Multipliers made by
`quantize_multiplier` lie between 2^30 and 2^31 in magnitude and shift right by at most 31; left shifts beyond 31 are mod 32, as x86 does them.

    cdef Rescale r = ready(quantize_multiplier(<double>(x_scale / y_scale)))
    y = rescale(x, r) + y_zero_point
"""
from libc.math cimport fabsf, logf, roundf
from libc.stdint cimport int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.multipliers cimport Multiplier, Rescale


cdef inline Rescale ready(Multiplier m) noexcept nogil:
    cdef Rescale r
    r.value = m.value
    r.left = m.shift & 31 if m.shift > 0 else 0
    r.right = -m.shift if m.shift < 0 else 0
    r.half = <int64_t>1 << (r.right - 1) if r.right > 0 else 0
    r.ones = -1 if r.right > 0 else 0
    return r


cdef inline Rescale ready_up(Multiplier m) noexcept nogil:
    """As the vector code of the optimized kernels: halves of the right shift go up, not away from zero; a left shift beyond 31 leaves 0."""
    cdef Rescale r = ready(m)
    r.ones = 0
    if m.shift > 31:
        r.value = 0
    return r


cdef inline Rescale ready_below_one(Multiplier m) noexcept nogil:
    """For kernels that expect a multiplier below 1 and shift right by a negative count when it is not: on x86 that is the count mod 32
    with a remainder's mask of ones (if it is 32 or more mod 64), so that 1 is added to what is not negative. See `round_shift`."""
    cdef Rescale r = ready(m)
    if m.shift > 0:
        r.left = 0
        r.right = -m.shift & 31
        r.half = <int64_t>1 << r.right if -m.shift & 32 else <int64_t>1 << r.right >> 1
        r.ones = -r.half if -m.shift & 32 else -1 if r.right > 0 else 0
    return r


cdef inline int32_t rescale(int32_t x, Rescale r) noexcept nogil:
    """x times the multiplier; the left shift wraps."""
    cdef int64_t high = (<int64_t><int32_t>(<uint32_t>x << r.left) * r.value + (<int64_t>1 << 30)) >> 31
    return <int32_t>((high + r.half + ((high >> 63) & r.ones)) >> r.right)


cdef inline bint power_of_two(float scale, int32_t* exponent) noexcept nogil:
    """Whether a scale is a power of two, within a thousandth of its logarithm (CheckedLog2)."""
    cdef float exact = logf(scale) * (<float>1.0 / logf(<float>2.0))
    cdef float whole = roundf(exact)
    exponent[0] = <int32_t>whole
    return fabsf(exact - whole) < <float>1e-3
