"""Rows of floats quantized to 8 bits while invoking, kept in int16: the first step of the hybrid kernels (hybrid.pxd).

    cdef RowScale s
    quantize_symmetric(x, depth, q, &s)                        # or quantize_asymmetric

A row without NaN can be quantized in parts, by the ranges of all of them:

    find_range(x + first, n, &ranges[i])
    if plan_by_ranges(ranges, count, asymmetric, &s, &steps):  # else: as a whole
        quantize_part(x + first, n, &s, &steps, q + first)     # whole blocks of sixteen, but at the end of the row

Quirk: full blocks of 8 values round by adding 0.5 and truncating, so 0.49999997 becomes 1; the rest of the row uses C's round.

Source: LiteRT:tflite/kernels/internal/optimized/{sse_tensor_utils,neon_tensor_utils}.cc as compiled for x86-64.
"""
from libc.math cimport INFINITY, fabs, fabsf, round, roundf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.hybrid_neon cimport quantize_values_neon
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport has_nan
from tflm_cy.arithmetic.rounding cimport cut32
from tflm_cy.arithmetic.row_kernels cimport RowRange, RowScale, RowSteps

cdef struct Extremes:
    float low
    float high


cdef inline Extremes pairwise_extremes(const float* v, ptrdiff_t n) noexcept nogil:
    """minmax_element of the C++ library, n >= 1: elements are compared in pairs, which shows when there are NaNs."""
    cdef Extremes e
    cdef ptrdiff_t i
    cdef float a, b
    e.low = v[0]
    e.high = v[0]
    if n == 1:
        return e
    if v[1] < v[0]:
        e.low = v[1]
    else:
        e.high = v[1]
    i = 2
    while i < n:
        a = v[i]
        if i + 1 == n:
            if a < e.low:
                e.low = a
            elif not (a < e.high):
                e.high = a
            break
        b = v[i + 1]
        if b < a:
            if b < e.low:
                e.low = b
            if not (a < e.high):
                e.high = a
        else:
            if a < e.low:
                e.low = a
            if not (b < e.high):
                e.high = b
        i += 2
    return e


cdef inline Extremes lane_extremes(const float* v, ptrdiff_t n) noexcept nogil:
    """Four lanes over the full blocks of four, n >= 4 and a multiple of 4; the second operand wins a comparison with NaN."""
    cdef float[4] low
    cdef float[4] high
    cdef Extremes e
    cdef float a, b
    cdef ptrdiff_t i
    cdef int j
    for j in range(4):
        low[j] = v[j]
        high[j] = v[j]
    for i in range(4, n, 4):
        for j in range(4):
            low[j] = low[j] if low[j] < v[i + j] else v[i + j]
            high[j] = high[j] if high[j] > v[i + j] else v[i + j]
    a = low[0] if low[0] < low[2] else low[2]
    b = low[1] if low[1] < low[3] else low[3]
    e.low = b if b < a else a
    a = high[0] if high[0] > high[2] else high[2]
    b = high[1] if high[1] > high[3] else high[3]
    e.high = b if b > a else a
    return e


cdef inline Extremes plain_extremes(const float* v, ptrdiff_t n) noexcept nogil:
    """Smallest and largest of n >= 1 values none of which is NaN, in sixteen lanes: the order does not matter then."""
    cdef float[16] low
    cdef float[16] high
    cdef Extremes e
    cdef ptrdiff_t blocks = n - n % 16
    cdef ptrdiff_t i
    cdef int j
    for j in range(16):
        low[j] = v[0]
        high[j] = v[0]
    for i in range(0, blocks, 16):
        for j in range(16):
            low[j] = low[j] if low[j] < v[i + j] else v[i + j]
            high[j] = high[j] if high[j] > v[i + j] else v[i + j]
    for i in range(blocks, n):
        low[0] = low[0] if low[0] < v[i] else v[i]
        high[0] = high[0] if high[0] > v[i] else v[i]
    e.low = low[0]
    e.high = high[0]
    for j in range(1, 16):
        e.low = e.low if e.low < low[j] else low[j]
        e.high = e.high if e.high > high[j] else high[j]
    return e


cdef inline void quantize_values(
    const float* v, ptrdiff_t n, float inverse, int32_t zero_point, int32_t low, bint plain, int16_t* q,
) noexcept nogil:
    """q = clamp(round(v * inverse) + zero_point, low, 127). plain: nothing in the row, nor `inverse`, is infinite or NaN.

    `inverse` is infinite when the row is tiny (below 1e-36). What does not fit an int32 is then converted in three ways: in the blocks +inf
    gives the maximum, NaN and -inf the minimum, and the zero point is added modulo 2^32; in a symmetric tail everything gives the minimum;
    an asymmetric tail saturates and takes NaN for 0.
    """
    cdef ptrdiff_t i
    cdef ptrdiff_t blocks = n - n % 8
    cdef int16_t low16 = <int16_t>low
    cdef int16_t z = <int16_t>zero_point
    cdef int16_t y16
    cdef float x
    cdef int32_t y
    if AARCH64:
        quantize_values_neon(v, n, inverse, zero_point, low, q)
        return
    if plain:
        for i in range(blocks):            # |v * inverse| is at most 255 and a little: int16 holds it
            x = v[i] * inverse
            q[i] = <int16_t><int32_t>(x + (<float>-0.5 if x < 0 else <float>0.5))
        for i in range(blocks):
            y16 = <int16_t>(q[i] + z)
            y16 = low16 if y16 < low16 else y16
            q[i] = 127 if y16 > 127 else y16
    else:
        for i in range(blocks):
            x = v[i] * inverse
            x = x + (<float>-0.5 if x < 0 else <float>0.5)
            y = <int32_t>x                 # NaN and what does not fit give the minimum
            y = 2147483647 if x >= <float>2147483648.0 else y
            y = <int32_t>(<uint32_t>y + <uint32_t>zero_point)
            y = low if y < low else y
            q[i] = <int16_t>(127 if y > 127 else y)
    for i in range(blocks, n):
        x = <float>zero_point + roundf(v[i] * inverse)
        if low == -128:
            x = 0 if x != x else clamp_f32(x, -128, 127)
        y = cut32(x)
        y = low if y < low else y
        q[i] = <int16_t>(127 if y > 127 else y)


cdef inline bint is_plain(Extremes e, float inverse) noexcept nogil:
    return e.low > -INFINITY and e.high < INFINITY and inverse < INFINITY


cdef inline void plan_symmetric(Extremes e, bint nan, RowScale* s, RowSteps* steps) noexcept nogil:
    cdef float widest = fabsf(e.high) if fabsf(e.low) < fabsf(e.high) else fabsf(e.low)
    s.zero_point = 0
    s.scale = 1
    steps.low = -127
    steps.zero = widest == 0
    if not steps.zero:
        s.scale = widest / <float>127
        steps.inverse = <float>127 / widest
        steps.plain = not nan and is_plain(e, steps.inverse)


cdef inline void quantize_part(const float* v, ptrdiff_t n, const RowScale* s, const RowSteps* steps, int16_t* q) noexcept nogil:
    """Values of a row: all of them, or whole blocks of sixteen, or those from such a block on to its end."""
    cdef ptrdiff_t i
    if not steps.zero:
        quantize_values(v, n, steps.inverse, s.zero_point, steps.low, steps.plain, q)
        return
    for i in range(n):
        q[i] = 0


cdef inline void quantize_symmetric(const float* v, ptrdiff_t n, int16_t* q, RowScale* s) noexcept nogil:
    """One row to [-127, 127]."""
    cdef bint nan = has_nan(v, n)
    cdef RowSteps steps
    cdef Extremes e
    e.low = 0
    e.high = 0
    if n > 0:
        e = pairwise_extremes(v, n) if nan else plain_extremes(v, n)
    plan_symmetric(e, nan, s, &steps)
    quantize_part(v, n, s, &steps, q)


cdef inline Extremes extremes_with_zero(const float* v, ptrdiff_t n, bint nan) noexcept nogil:
    """As far as NaN lets: four lanes over the full blocks of four, pairs in the tail. On aarch64 a NaN in the blocks hides them all."""
    cdef Extremes e, rest
    cdef ptrdiff_t blocks = n - n % 4
    e.low = 0
    e.high = 0
    if n > 0 and not nan:
        rest = plain_extremes(v, n)
        e.low = rest.low if rest.low < e.low else e.low
        e.high = rest.high if e.high < rest.high else e.high
        return e
    if blocks > 0 and not (AARCH64 and has_nan(v, blocks)):
        rest = lane_extremes(v, blocks)
        e.low = rest.low if rest.low < e.low else e.low
        e.high = rest.high if e.high < rest.high else e.high
    if blocks < n:
        rest = pairwise_extremes(v + blocks, n - blocks)
        e.low = rest.low if rest.low < e.low else e.low
        e.high = rest.high if e.high < rest.high else e.high
    return e


cdef inline void plan_asymmetric(Extremes e, bint nan, RowScale* s, RowSteps* steps) noexcept nogil:
    """e: with 0."""
    cdef double scale, low, high, zero_point
    s.zero_point = 0
    s.scale = 1
    steps.low = -128
    steps.zero = e.low == e.high
    if steps.zero:
        return
    scale = <double>(e.high - e.low) / 255.0
    low = <double>e.low / scale
    high = <double>e.high / scale
    zero_point = -128.0 - low if 128.0 + fabs(low) < 127.0 + fabs(high) else 127.0 - high
    if zero_point <= -128.0:
        s.zero_point = -128
    elif zero_point >= 127.0:
        s.zero_point = 127
    elif zero_point == zero_point:
        s.zero_point = <int32_t>round(zero_point)
    s.scale = <float>scale
    steps.inverse = <float>(1.0 / <double>s.scale) if s.scale != 0 else 0    # of numbers around 1e-44: all become the zero point
    steps.plain = not nan and is_plain(e, steps.inverse)


cdef inline void quantize_asymmetric(const float* v, ptrdiff_t n, int16_t* q, RowScale* s) noexcept nogil:
    """One row to [-128, 127] with a zero point; the range always holds 0."""
    cdef bint nan = has_nan(v, n)
    cdef RowSteps steps
    plan_asymmetric(extremes_with_zero(v, n, nan), nan, s, &steps)
    quantize_part(v, n, s, &steps, q)


cdef inline void find_range(const float* v, ptrdiff_t n, RowRange* r) noexcept nogil:
    """Of n >= 1 values of a row."""
    cdef Extremes e
    r.nan = has_nan(v, n)
    if not r.nan:
        e = plain_extremes(v, n)
        r.low, r.high = e.low, e.high


cdef inline bint plan_by_ranges(const RowRange* ranges, ptrdiff_t count, bint asymmetric, RowScale* s, RowSteps* steps) noexcept nogil:
    """What quantizes a row of whose parts the ranges are; False: a NaN, of which the order of all values says what becomes of it."""
    cdef Extremes e
    cdef ptrdiff_t i
    e.low = 0 if asymmetric or count == 0 else ranges[0].low
    e.high = 0 if asymmetric or count == 0 else ranges[0].high
    for i in range(count):
        if ranges[i].nan:
            return False
        e.low = ranges[i].low if ranges[i].low < e.low else e.low
        e.high = ranges[i].high if e.high < ranges[i].high else e.high
    if asymmetric:
        plan_asymmetric(e, False, s, steps)
    else:
        plan_symmetric(e, False, s, steps)
    return True
