"""Building blocks of the hybrid kernels: float activations quantized while invoking, times int8 weights.

One row of floats (a batch of a fully connected layer, a whole image of a convolution) becomes 8-bit values, kept in int16 because a product
of int16 pairs is what plain x86-64 multiplies and adds in one instruction:

    cdef RowScale s
    quantize_symmetric(x, depth, q, &s)                        # or quantize_asymmetric (hybrid_quantization.pxd)
    accumulate_rows(w, rows, depth, q, s.scale * w_scale, NULL, s.zero_point, row_sums, has_minimum(w, rows, depth), flags, fast, y)

`fast`: vector kernels for rows, or NULL. `flags`: hybrid_neon.pxd's product_flags, 0 on x86-64.

Quirks that are part of the definition, each with its smallest case:
- inside full blocks of 16 columns a weight of -128 meeting a negative value counts with the wrong sign (-1 * -128 gives -128 in the first 16
  columns of a row of 16, +128 in a row of 15);
- the float dot product sums in four lanes (k mod 4);
- sums of rows of weights are made in eight lanes of 16 bits, which overflow from 2,064 weights of 127 on; not on aarch64.

Source: LiteRT:tflite/kernels/internal/optimized/{sse_tensor_utils,neon_tensor_utils}.cc as compiled for x86-64.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.hybrid_neon cimport FUSED, WRAPS, dot_f32_neon, wrap_error
from tflm_cy.arithmetic.hybrid_quantization cimport quantize_asymmetric, quantize_symmetric
from tflm_cy.arithmetic.machine cimport AARCH64, fmaf
from tflm_cy.arithmetic.nan_order cimport add_after, add_first, dot_lanes, mul_after, mul_first
from tflm_cy.arithmetic.row_kernels cimport RowKernels, RowScale

cdef enum:
    DOTS = 64                    # sums that are scaled together
    LONGEST_DOT = 65536          # products of 8-bit values that fit an int32 sum: 65536 * 2^14 = 2^30; longer rows are cut

ctypedef fused product_weight:   # int8, or int8 values already widened, which saves the unpacking
    int8_t
    int16_t


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


cdef inline int32_t sum_row(const int8_t* w, ptrdiff_t n) noexcept nogil:
    cdef uint16_t[8] lanes
    cdef int32_t total = 0
    cdef ptrdiff_t i = 0
    cdef int lane
    if not AARCH64:
        memset(lanes, 0, sizeof(lanes))
        while i + 16 <= n:
            for lane in range(8):
                lanes[lane] += <uint16_t>(w[i + 2 * lane] + w[i + 2 * lane + 1])
            i += 16
        if i + 8 <= n:
            for lane in range(8):
                lanes[lane] += <uint16_t>w[i + lane]
            i += 8
        for lane in range(8):
            total += <int16_t>lanes[lane]
    while i < n:
        total += w[i]
        i += 1
    return total


cdef inline void sum_rows(const int8_t* w, ptrdiff_t rows, ptrdiff_t n, int32_t* sums) noexcept nogil:
    """Sum of each row of weights; times the zero point it is what an asymmetric input adds too much."""
    cdef ptrdiff_t r
    for r in range(rows):
        sums[r] = sum_row(w + r * n, n)


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
