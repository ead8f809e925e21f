"""Building blocks of the hybrid kernels: float activations quantized while invoking, times int8 weights.

One row of floats (a batch of a fully connected layer, a whole image of a convolution) becomes 8-bit values, kept in int16 because a product
of int16 pairs is what plain x86-64 multiplies and adds in one instruction:

    cdef RowScale s
    quantize_symmetric(x, depth, q, &s)                        # or quantize_asymmetric
    accumulate_rows(w, rows, depth, q, s.scale * w_scale, NULL, s.zero_point, row_sums, has_minimum(w, rows, depth), flags, fast, y)

`fast`: vector kernels for rows, or NULL. `flags`: hybrid_neon.pxd's product_flags, 0 on x86-64.

Quirks that are part of the definition, each with its smallest case:
- full blocks of 8 values round by adding 0.5 and truncating, so 0.49999997 becomes 1; the rest of the row uses C's round;
- inside full blocks of 16 columns a weight of -128 meeting a negative value counts with the wrong sign (-1 * -128 gives -128 in the first 16
  columns of a row of 16, +128 in a row of 15);
- the float dot product sums in four lanes (k mod 4).

Source: LiteRT:tflite/kernels/internal/optimized/{sse_tensor_utils,neon_tensor_utils}.cc as compiled for x86-64.
"""
from libc.math cimport INFINITY, fabs, fabsf, round, roundf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.hybrid_neon cimport FUSED, WRAPS, dot_f32_neon, quantize_values_neon, wrap_error
from tflm_cy.arithmetic.machine cimport AARCH64, fmaf
from tflm_cy.arithmetic.nan_order cimport add_after, add_first, dot_lanes, has_nan, mul_after, mul_first
from tflm_cy.arithmetic.rounding cimport cut32
from tflm_cy.arithmetic.row_kernels cimport RowKernels, RowScale

cdef enum:
    DOTS = 64                    # sums that are scaled together
    LONGEST_DOT = 65536          # products of 8-bit values that fit an int32 sum: 65536 * 2^14 = 2^30; longer rows are cut

ctypedef fused product_weight:   # int8, or int8 values already widened, which saves the unpacking
    int8_t
    int16_t

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


cdef inline void quantize_symmetric(const float* v, ptrdiff_t n, int16_t* q, RowScale* s) noexcept nogil:
    """One row to [-127, 127]."""
    cdef Extremes e
    cdef float widest, inverse
    cdef ptrdiff_t i
    cdef bint nan = has_nan(v, n)
    s.zero_point = 0
    s.scale = 1
    e.low = 0
    e.high = 0
    if n > 0:
        e = pairwise_extremes(v, n) if nan else plain_extremes(v, n)
    widest = fabsf(e.high) if fabsf(e.low) < fabsf(e.high) else fabsf(e.low)
    if widest == 0:
        for i in range(n):
            q[i] = 0
        return
    s.scale = widest / <float>127
    inverse = <float>127 / widest
    quantize_values(v, n, inverse, 0, -127, not nan and is_plain(e, inverse), q)


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


cdef inline void quantize_asymmetric(const float* v, ptrdiff_t n, int16_t* q, RowScale* s) noexcept nogil:
    """One row to [-128, 127] with a zero point; the range always holds 0."""
    cdef bint nan = has_nan(v, n)
    cdef Extremes e = extremes_with_zero(v, n, nan)
    cdef ptrdiff_t i
    cdef double scale, low, high, zero_point
    cdef float inverse
    s.zero_point = 0
    s.scale = 1
    if e.low == e.high:
        for i in range(n):
            q[i] = 0
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
    inverse = <float>(1.0 / <double>s.scale)
    quantize_values(v, n, inverse, s.zero_point, -128, not nan and is_plain(e, inverse), q)


cdef inline bint all_zero(const float* v, ptrdiff_t n) noexcept nogil:
    """True when every value is 0 or -0; a product with such an input is skipped as a whole. In the full blocks of four a NaN counts as zero:
    it is not beyond 0 on either side ([NaN, 0, 0, 0] is skipped, [0, 0, 0, 0, NaN] is not); on aarch64 it never does.
    """
    cdef ptrdiff_t i
    for i in range(n - n % 4):
        if v[i] > 0 or v[i] < 0 or (AARCH64 and v[i] != v[i]):
            return False
    for i in range(n - n % 4, n):
        if v[i] != 0:
            return False
    return True


# ---- int8 weights

cdef inline bint has_minimum(const int8_t* w, ptrdiff_t rows, ptrdiff_t n) noexcept nogil:
    """True when a weight of -128 lies in a full block of 16 columns of some row: then products need `sign_error`."""
    cdef ptrdiff_t r, i
    cdef int found = 0
    for r in range(rows):
        for i in range(n - n % 16):
            found |= w[r * n + i] == -128
    return found != 0


cdef inline void sum_rows(const int8_t* w, ptrdiff_t rows, ptrdiff_t n, int32_t* sums) noexcept nogil:
    """Sum of each row of weights; times the zero point it is what an asymmetric input adds too much."""
    cdef ptrdiff_t r, i
    cdef int32_t total
    for r in range(rows):
        total = 0
        for i in range(n):
            total += w[r * n + i]
        sums[r] = total


cdef inline int32_t dot_short(const int16_t* q, const product_weight* w, ptrdiff_t n) noexcept nogil:
    """Exact for n <= LONGEST_DOT."""
    cdef ptrdiff_t i
    cdef int32_t total = 0
    for i in range(n):
        total += <int32_t>q[i] * <int32_t><int16_t>w[i]
    return total


cdef inline int32_t dot_s16_s8(const int16_t* q, const product_weight* w, ptrdiff_t n) noexcept nogil:
    """The product modulo 2^32."""
    cdef uint32_t total = 0
    while n > LONGEST_DOT:
        total += <uint32_t>dot_short(q, w, LONGEST_DOT)
        q += LONGEST_DOT
        w += LONGEST_DOT
        n -= LONGEST_DOT
    return <int32_t>(total + <uint32_t>dot_short(q, w, n))


cdef inline int32_t sign_error(const int16_t* q, const int8_t* w, ptrdiff_t n) noexcept nogil:
    """What the blocks of 16 get wrong: -256 * |q| for each -128 that meets a negative q; to be added to the exact product."""
    cdef ptrdiff_t i
    cdef uint32_t total = 0
    for i in range(n - n % 16):
        if w[i] == -128 and q[i] < 0:
            total += <uint32_t><int32_t>q[i]
    return <int32_t>(total * 256)


cdef inline void dot4_short(const int16_t* q, const product_weight* w, ptrdiff_t stride, ptrdiff_t n, int32_t* out) noexcept nogil:
    """Four rows of weights at once, `stride` apart; n <= LONGEST_DOT."""
    cdef const product_weight* w1 = w + stride
    cdef const product_weight* w2 = w + 2 * stride
    cdef const product_weight* w3 = w + 3 * stride
    cdef int32_t s0 = 0
    cdef int32_t s1 = 0
    cdef int32_t s2 = 0
    cdef int32_t s3 = 0
    cdef int32_t x
    cdef ptrdiff_t i
    for i in range(n):
        x = q[i]
        s0 += x * <int32_t><int16_t>w[i]
        s1 += x * <int32_t><int16_t>w1[i]
        s2 += x * <int32_t><int16_t>w2[i]
        s3 += x * <int32_t><int16_t>w3[i]
    out[0] = s0
    out[1] = s1
    out[2] = s2
    out[3] = s3


cdef inline void multiply_rows_hybrid(
    const int8_t* w, ptrdiff_t rows, ptrdiff_t n, const int16_t* q, bint minimum, int32_t* dots,
) noexcept nogil:
    """dots[r] = q . w[r], with the sign errors where there may be any."""
    cdef ptrdiff_t r = 0
    while r < rows:
        if r + 4 <= rows and n <= LONGEST_DOT:
            dot4_short(q, w + r * n, n, n, dots + r)
            r += 4
        else:
            dots[r] = dot_s16_s8(q, w + r * n, n)
            r += 1
    for r in range(rows if minimum else 0):
        dots[r] = <int32_t>(<uint32_t>dots[r] + <uint32_t>sign_error(q, w + r * n, n))


cdef inline void accumulate_rows(
    const int8_t* w, ptrdiff_t rows, ptrdiff_t n, const int16_t* q, float scale, const float* row_scales, int32_t zero_point,
    const int32_t* row_sums, bint minimum, int flags, const RowKernels* fast, float* result,
) noexcept nogil:
    """result[r] += (float)(q . w[r] - zero_point * row_sums[r]) * scale, where the scale is row_scales[r] * scale when there are row scales.
    Of two NaN the product's comes out; where sum and product are fused, the result's.

    `minimum` is has_minimum(w, rows, n); row_sums may be NULL when the zero point is 0.
    """
    cdef int32_t[DOTS] dots
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t count, j
    while first < rows:
        count = min(<ptrdiff_t>DOTS, rows - first)
        if fast != NULL:
            fast.multiply(q, 0, 1, w + first * n, n, count, n, minimum and not AARCH64, dots, 0)
        else:
            multiply_rows_hybrid(w + first * n, count, n, q, minimum and not AARCH64, dots)
        for j in range(count if minimum and flags & WRAPS else 0):
            dots[j] = <int32_t>(<uint32_t>dots[j] + <uint32_t>wrap_error(q, w + (first + j) * n, n))
        if zero_point != 0:
            for j in range(count):
                dots[j] = <int32_t>(<uint32_t>dots[j] - <uint32_t>zero_point * <uint32_t>row_sums[first + j])
        if flags & FUSED:
            for j in range(count):
                result[first + j] = fmaf(<float>dots[j], row_scales[first + j] * scale if row_scales != NULL else scale, result[first + j])
        elif row_scales != NULL:
            for j in range(count):
                result[first + j] = add_after(<float>dots[j] * mul_after(row_scales[first + j], scale), result[first + j])
        else:
            for j in range(count):
                result[first + j] = add_after(<float>dots[j] * scale, result[first + j])
        first += count


cdef inline void accumulate_stored_rows(
    const int8_t* w, ptrdiff_t rows, ptrdiff_t n, const int16_t* q, float scale, const float* row_scales, int32_t zero_point,
    const int32_t* row_sums, bint minimum, int flags, const RowKernels* fast, const char* stored, float* result,
) noexcept nogil:
    """As accumulate_rows, without the rows whose `stored` is 0. NULL: all rows."""
    cdef ptrdiff_t r
    if stored == NULL or not AARCH64:
        accumulate_rows(w, rows, n, q, scale, row_scales, zero_point, row_sums, minimum, flags, fast, result)
        return
    for r in range(rows):
        if stored[r]:
            accumulate_rows(
                w + r * n, 1, n, q, scale, row_scales + r if row_scales != NULL else NULL, zero_point,
                row_sums + r if row_sums != NULL else NULL, minimum, flags, fast, result + r)


cdef inline void quantize_row_by(
    const RowKernels* fast, bint asymmetric, const float* v, ptrdiff_t n, int16_t* q, RowScale* s,
) noexcept nogil:
    if fast != NULL:
        fast.quantize(v, n, asymmetric, q, s)
    elif asymmetric:
        quantize_asymmetric(v, n, q, s)
    else:
        quantize_symmetric(v, n, q, s)


# ---- float weights

cdef inline float lane_dot_f32(const float* a, const float* b, ptrdiff_t n) noexcept nogil:
    """The full blocks of four of a dot product: lanes k mod 4. Of two NaN b's comes out of a product, the earlier of a lane."""
    cdef float[4] lanes
    dot_lanes(b, a, n, lanes)
    return fold_lanes(lanes)


cdef inline float fold_lanes(const float* lanes) noexcept nogil:
    """((l0 + l1) + l2) + l3; of several NaN the last lane's comes out, but the first's before the second's."""
    return add_first(lanes[3], add_first(lanes[2], add_first(lanes[0], lanes[1])))


cdef inline float accumulate_dot_f32(float result, const float* a, const float* b, ptrdiff_t n) noexcept nogil:
    """result + the lanes' sum, then + each product of the tail; of two NaN the later comes out, and a's of a product in the tail."""
    cdef ptrdiff_t k
    if AARCH64:
        return dot_f32_neon(a, b, n, result)
    result = add_first(lane_dot_f32(a, b, n), result)
    for k in range(n - n % 4, n):
        result = add_first(mul_first(a[k], b[k]), result)
    return result


cdef inline void accumulate_dots_f32(
    const float* start, const float* a, ptrdiff_t rows, ptrdiff_t n, const float* b, const RowKernels* fast, float* y,
) noexcept nogil:
    """y[r] = accumulate_dot_f32(start[r], a[r], b, n)."""
    cdef float[DOTS] sums
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t count, r
    while first < rows:
        count = min(<ptrdiff_t>DOTS, rows - first)
        if fast != NULL and not AARCH64:
            fast.add_dots(a + first * n, count, n, b, start + first, sums)
        for r in range(count):
            if fast == NULL or AARCH64 or sums[r] != sums[r]:
                sums[r] = accumulate_dot_f32(start[first + r], a + (first + r) * n, b, n)
        memcpy(y + first, sums, count * sizeof(float))
        first += count
