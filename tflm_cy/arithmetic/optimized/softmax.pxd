"""Softmax and log-softmax of rows as the optimized kernels compute them: in float32 for all types but int16.

8 bits: `table[d]` is expf(-(step) * d) for the distance d of a value from the row's maximum; the sum is sequential. float32: Eigen's exp,
and Eigen's sum of a row (`row_sum_f32`), which for softmax reads the output tensor.

On aarch64 8 bits become 8 bits on integers: softmax_neon.pxd.

Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h.
"""
from libc.math cimport expf, isfinite, isnan, logf
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.eigen cimport eigen_exp, whole_vectors
from tflm_cy.arithmetic.fixed_point cimport clamp32
from tflm_cy.arithmetic.lookup cimport saturate_8, truncate
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.optimized.conversion cimport ties_to_even
from tflm_cy.arithmetic.optimized.reduction cimport aligned_start, sum_of_row
from tflm_cy.arithmetic.optimized.reduction_neon cimport largest_neon
from tflm_cy.arithmetic.rounding cimport add_wrapping
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.softmax cimport input8, output8, row_maximum


cdef extern from *:
    """
    /* y[c] of set_logarithms: how many are done, all where there are vectors. y may be x. */
    #ifdef __AVX2__
    #include <immintrin.h>
    static inline __m256i tflm_cy_logarithms(const uint8_t *x, __m256 scale, __m256 less, __m256 zero_point, int is_signed) {
      const __m128i bytes = _mm_loadl_epi64((const __m128i *)x);
      const __m256 v = _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
      const __m256 near = _mm256_round_ps(_mm256_sub_ps(_mm256_mul_ps(scale, v), less), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      const __m256 sum = _mm256_add_ps(near, zero_point);
      if (!is_signed) return _mm256_cvttps_epi32(sum);
      const __m256 clamped = _mm256_max_ps(_mm256_min_ps(_mm256_set1_ps(127), sum), _mm256_set1_ps(-128));
      return _mm256_and_si256(_mm256_cvttps_epi32(clamped), _mm256_castps_si256(_mm256_cmp_ps(sum, sum, _CMP_ORD_Q)));
    }
    static inline int64_t tflm_cy_logarithm_blocks(const void *from, void *to, int64_t n, float scale, float less, float zero_point, int is_signed) {
      const __m256 s = _mm256_set1_ps(scale), l = _mm256_set1_ps(less), z = _mm256_set1_ps(zero_point);
      const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
      const uint8_t *x = (const uint8_t *)from;
      uint8_t *y = (uint8_t *)to;
      for (int64_t i = 0; i < n; i += 32) {
        uint8_t some[32] = {0};
        const uint8_t *at = x + i;
        if (n - i < 32) at = (const uint8_t *)memcpy(some, x + i, (size_t)(n - i));
        const __m256i a = _mm256_packs_epi32(tflm_cy_logarithms(at, s, l, z, is_signed), tflm_cy_logarithms(at + 8, s, l, z, is_signed));
        const __m256i b = _mm256_packs_epi32(tflm_cy_logarithms(at + 16, s, l, z, is_signed), tflm_cy_logarithms(at + 24, s, l, z, is_signed));
        const __m256i v = _mm256_permutevar8x32_epi32(is_signed ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b), order);
        if (n - i >= 32) _mm256_storeu_si256((__m256i *)(y + i), v);
        else {
          _mm256_storeu_si256((__m256i *)some, v);
          memcpy(y + i, some, (size_t)(n - i));
        }
      }
      return n;
    }
    #else
    static inline int64_t tflm_cy_logarithm_blocks(const void *x, void *y, int64_t n, float scale, float less, float zero_point, int is_signed) {
      (void)x; (void)y; (void)n; (void)scale; (void)less; (void)zero_point; (void)is_signed;
      return 0;
    }
    #endif
    """
    int64_t logarithm_blocks "tflm_cy_logarithm_blocks"(
        const void* x, void* y, int64_t n, float scale, float less, float zero_point, bint is_signed) noexcept nogil

cdef enum:
    ROWS = 4                     # whose sums are made together
    LONG_ROW = 384
    VECTOR = 32                  # bytes of results that are computed together, also behind the end of a row
    FEW = 8
    MANY_PAIRS = 512             # rows of two, from which on the results of all 511 differences are computed first
    LANES_ROW = 16               # values of a row, below which a call of the vector kernel is not worth it
    SHORT_ROW = 128              # and below which the exponentials of several rows are computed together


cdef inline void fill_exponentials(float* table, float scale, float beta) noexcept nogil:
    cdef int d
    for d in range(256):
        table[d] = expf(-scale * beta * <float>d)


cdef inline void sums_of_exponentials(
    const float* table, const input8* x, int64_t depth, int rows, const int32_t* tops, float* values, float* totals,
) noexcept nogil:
    """Of ROWS rows or fewer, side by side: each sum waits for itself only. values: the exponentials, LONG_ROW from row to row, or NULL."""
    cdef const input8* x1 = x + min(1, rows - 1) * depth
    cdef const input8* x2 = x + min(2, rows - 1) * depth
    cdef const input8* x3 = x + min(3, rows - 1) * depth
    cdef int32_t top1 = tops[min(1, rows - 1)]
    cdef int32_t top2 = tops[min(2, rows - 1)]
    cdef int32_t top3 = tops[min(3, rows - 1)]
    cdef float a = 0
    cdef float b = 0
    cdef float c = 0
    cdef float d = 0
    cdef float u, v, w, z
    cdef int64_t i
    for i in range(depth):
        u, v, w, z = table[tops[0] - x[i]], table[top1 - x1[i]], table[top2 - x2[i]], table[top3 - x3[i]]
        a = a + u
        b = b + v
        c = c + w
        d = d + z
        if values != NULL:
            values[i] = u
            values[LONG_ROW + i] = v
            values[2 * LONG_ROW + i] = w
            values[3 * LONG_ROW + i] = z
    totals[0], totals[1], totals[2], totals[3] = a, b, c, d


cdef inline float sum_of_exponentials(const float* table, const input8* x, int64_t depth, int32_t top, float* values) noexcept nogil:
    cdef float total = 0
    cdef int64_t i
    for i in range(depth):
        total = total + table[top - x[i]]
    for i in range(depth if values != NULL else 0):
        values[i] = table[top - x[i]]
    return total


cdef inline int sum_rows(
    const float* table, const input8* x, int64_t rows, int64_t depth, int32_t* tops, float* values, float* totals,
) noexcept nogil:
    """The maximum and the sum of the exponentials of each of the first ROWS rows, or of all; how many these are."""
    cdef int count = <int>min(<int64_t>ROWS, rows)
    cdef int r
    for r in range(count):
        tops[r] = row_maximum(x + r * depth, depth)
    if count == 1:
        totals[0] = sum_of_exponentials(table, x, depth, tops[0], values)
    else:
        sums_of_exponentials(table, x, depth, count, tops, values, totals)
    return count


cdef inline int32_t rounded(float x) noexcept nogil:
    """roundf to int32 without a call; what int32 cannot hold as the machine converts it, since it has no rest below 1."""
    cdef int32_t whole = truncate(x)
    cdef float rest = x - <float>whole
    return whole + <int32_t>((rest >= <float>0.5) & (rest < <float>1.0)) - <int32_t>((rest <= <float>-0.5) & (rest > <float>-1.0))


cdef inline int32_t probability(output8 like, float exponential, float inverse, int32_t y_zero_point) noexcept nogil:
    if output8 is uint8_t:     # the zero point is not looked at
        return clamp32(truncate(exponential * inverse + <float>0.5), 0, 255)
    elif output8 is int8_t:
        return clamp32(add_wrapping(rounded(exponential * inverse), y_zero_point), -128, 127)
    else:
        return clamp32(add_wrapping(rounded(exponential * inverse), y_zero_point), -32768, 32767)


cdef inline void set_probabilities(output8* y, const float* exponentials, int64_t n, float inverse, int32_t y_zero_point) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <output8>probability(<output8>0, exponentials[i], inverse, y_zero_point)


cdef inline void set_few_probabilities(output8* y, const float* exponentials, float inverse, int32_t y_zero_point) noexcept nogil:
    """FEW of them: as many as a vector of floats has, which are fewer than one of bytes."""
    cdef int32_t[FEW] results
    cdef int i
    for i in range(FEW):
        results[i] = probability(<output8>0, exponentials[i], inverse, y_zero_point)
    for i in range(FEW):
        y[i] = <output8>results[i]


cdef inline void softmax_pairs(
    const float* table, const input8* x, output8* y, int64_t rows, float y_scale, int32_t y_zero_point,
) noexcept nogil:
    """Rows of two: both results follow from the difference."""
    cdef output8[511] results                # by the value less the other one, plus 255
    cdef output8[2] pair
    cdef float[2] values
    cdef int64_t i
    cdef int d
    values[0] = table[0]
    for d in range(256):
        values[1] = table[d]
        set_probabilities(pair, values, 2, <float>1 / ((values[0] + values[1]) * y_scale), y_zero_point)
        results[255 - d] = pair[1]
        results[255 + d] = pair[0]
    for i in range(rows):
        d = x[2 * i] - x[2 * i + 1]
        y[2 * i] = results[255 + d]
        y[2 * i + 1] = results[255 - d]


cdef inline void softmax_rows_table(
    const float* table, const input8* x, output8* y, int64_t rows, int64_t depth, float y_scale, int32_t y_zero_point, UnaryKernel lookup,
) noexcept nogil:
    """Of long rows each distance from the maximum is computed once. lookup: a vector kernel, or NULL."""
    cdef float[ROWS * LONG_ROW] values
    cdef output8[LONG_ROW] outputs
    cdef output8[256] by_byte
    cdef int32_t[ROWS] tops
    cdef float[ROWS] totals
    cdef float inverse
    cdef int64_t together = FEW if depth <= FEW else VECTOR / sizeof(output8)
    cdef int64_t padded = (depth + together - 1) / together * together
    cdef int64_t c
    cdef int64_t first = 0
    cdef int count, r
    if depth == 2 and rows >= MANY_PAIRS:
        softmax_pairs(table, x, y, rows, y_scale, y_zero_point)
        return
    for r in range(ROWS if depth < LONG_ROW else 0):
        for c in range(depth, padded):
            values[r * LONG_ROW + c] = 0
    while first < rows:
        count = sum_rows(table, x, rows - first, depth, tops, values if depth < LONG_ROW else NULL, totals)
        for r in range(count):
            inverse = <float>1 / (totals[r] * y_scale)
            if depth < LONG_ROW:
                if depth <= FEW:
                    set_few_probabilities(outputs, values + r * LONG_ROW, inverse, y_zero_point)
                else:
                    set_probabilities(outputs, values + r * LONG_ROW, padded, inverse, y_zero_point)
                memcpy(y, outputs, depth * sizeof(output8))
            else:
                set_probabilities(outputs, table, 256, inverse, y_zero_point)
                if sizeof(output8) == 1 and lookup != NULL:
                    for c in range(256):
                        by_byte[<uint8_t>(tops[r] - c)] = outputs[c]
                    lookup(by_byte, x, y, depth)
                else:
                    for c in range(depth):
                        y[c] = outputs[tops[r] - x[c]]
            x += depth
            y += depth
        first += count


# ---- LOG_SOFTMAX
cdef inline void set_logarithms(
    const input8* x, input8* y, int64_t depth, float scale, float less, int32_t y_zero_point, UnaryKernel lookup,
) noexcept nogil:
    """Of long rows each value is computed once.

    A NaN, of scales beyond float32, is the lowest value in the blocks of 16 that TensorFlow's loop over a row of int8 has, and 0 behind them."""
    cdef input8[256] outputs
    cdef int64_t blocks = depth - depth % 16 if input8 is int8_t and not AARCH64 else 0
    cdef int64_t c
    cdef float v
    if not isfinite(scale) or not isfinite(less):
        for c in range(depth):
            v = ties_to_even(scale * <float>x[c] - less) + <float>y_zero_point
            y[c] = <input8>(-128 if c < blocks and isnan(v) else saturate_8(v, input8 is int8_t))
        return
    if depth < LONG_ROW:
        for c in range(logarithm_blocks(x, y, depth, scale, less, <float>y_zero_point, input8 is int8_t), depth):
            y[c] = <input8>saturate_8(ties_to_even(scale * <float>x[c] - less) + <float>y_zero_point, input8 is int8_t)
        return
    for c in range(256):
        outputs[c] = <input8>c
    for c in range(logarithm_blocks(outputs, outputs, 256, scale, less, <float>y_zero_point, input8 is int8_t), 256):
        outputs[c] = <input8>saturate_8(ties_to_even(scale * <float>outputs[c] - less) + <float>y_zero_point, input8 is int8_t)
    if lookup != NULL:
        lookup(outputs, x, y, depth)
        return
    for c in range(depth):
        y[c] = outputs[<uint8_t>x[c]]


cdef inline void log_softmax_rows_table(
    const float* table, const input8* x, input8* y, int64_t rows, int64_t depth, float x_scale, float y_scale, int32_t y_zero_point,
    UnaryKernel lookup,
) noexcept nogil:
    """lookup: a vector kernel, or NULL. Rows of one value have 256 results."""
    cdef input8[256] values
    cdef input8[256] results
    cdef int32_t[ROWS] tops
    cdef float[ROWS] totals
    cdef float scale = x_scale / y_scale
    cdef float less
    cdef int64_t first = 0
    cdef int count, r
    if depth == 1 and rows > 256:
        for r in range(256):
            values[r] = <input8>r
        log_softmax_rows_table(table, values, results, 256, 1, x_scale, y_scale, y_zero_point, lookup)
        for first in range(rows):
            y[first] = results[<uint8_t>x[first]]
        return
    while first < rows:
        count = sum_rows(table, x, rows - first, depth, tops, NULL, totals)
        for r in range(count):
            less = (x_scale * <float>tops[r] + logf(totals[r])) / y_scale
            set_logarithms(x, y, depth, scale, less, y_zero_point, lookup)
            x += depth
            y += depth
        first += count


cdef inline float larger(float a, float b) noexcept nogil:
    return b if b > a else a


cdef inline float largest_f32(const float* x, int64_t depth, int64_t start) noexcept nogil:
    """In the lanes of `row_sum_f32`, which shows when there are NaNs: one that comes first in its lane stays."""
    cdef float[16] lanes
    cdef int64_t blocks, i
    cdef float top = x[0]
    cdef int l
    if AARCH64:
        return largest_neon(x, depth, start)
    start = min(start, depth)
    blocks = (depth - start) / 8
    if blocks == 0:
        for i in range(1, depth):
            top = larger(top, x[i])
        return top
    for l in range(8):
        lanes[l] = x[start + l]
    if blocks > 1:
        for l in range(8):
            lanes[8 + l] = x[start + 8 + l]
        for i in range(start + 16, start + 8 * (blocks & ~<int64_t>1), 16):
            for l in range(16):
                lanes[l] = larger(lanes[l], x[i + l])
        for l in range(8):
            lanes[l] = larger(lanes[l], lanes[8 + l])
        if blocks & 1:
            for l in range(8):
                lanes[l] = larger(lanes[l], x[start + 8 * (blocks - 1) + l])
    for l in range(4):
        lanes[l] = larger(lanes[l], lanes[4 + l])
    top = larger(larger(lanes[0], lanes[2]), larger(lanes[1], lanes[3]))
    for i in range(start):
        top = larger(top, x[i])
    for i in range(start + 8 * blocks, depth):
        top = larger(top, x[i])
    return top


cdef inline float largest_of_row(const float* x, int64_t depth, int64_t start, const RowKernels* fast) noexcept nogil:
    cdef float top = 0
    if fast != NULL and fast.row_largest(x, depth, &top):
        return top
    return largest_f32(x, depth, start)


cdef inline void exponentials(const float* x, float* y, int64_t n, float top, float beta, const RowKernels* fast) noexcept nogil:
    cdef int64_t c
    if fast != NULL:
        fast.exp_scaled(x, y, n, top, beta)
        return
    for c in range(n):
        y[c] = eigen_exp((x[c] - top) * beta)


cdef inline int64_t tasks_of(int64_t rows, int64_t threads) noexcept nogil:
    """TensorFlow gives each of its threads some rows, at least eight. On aarch64 its vectors begin anew in each, and all threads but the caller's
    take denormals for zeros."""
    return max(min(rows / 8, threads), <int64_t>1)


cdef inline void find_vectors(int64_t row, int64_t rows, int64_t depth, int64_t threads, int64_t* first, int64_t* end) noexcept nogil:
    """The values of a row that are in vectors on aarch64, which begin at an address on 16 bytes."""
    cdef int64_t tasks = tasks_of(rows, threads)
    cdef int64_t begin = 0
    cdef int64_t stop = rows / tasks
    cdef int64_t at
    while stop <= row:
        tasks -= 1
        begin = stop
        stop = begin + (rows - begin) / tasks
    at = begin * depth + (-(begin * depth) & 3)
    first[0] = at - row * depth
    end[0] = at + whole_vectors(stop * depth - at) - row * depth


cdef inline void softmax_row_eigen(
    const float* x, float* y, int64_t row, int64_t rows, int64_t depth, float beta, int64_t threads, const RowKernels* fast=NULL,
) noexcept nogil:
    """`row` of `rows` counts from the start of the tensor. On aarch64 values beyond whole vectors have the C library's exponential."""
    cdef float top = largest_of_row(x, depth, aligned_start(row, depth), fast)
    cdef int64_t first, end, c
    exponentials(x, y, depth, top, beta, fast)
    if AARCH64:
        find_vectors(row, rows, depth, threads, &first, &end)
        for c in range(min(first, depth)):
            y[c] = expf((x[c] - top) * beta)
        for c in range(max(end, <int64_t>0), depth):
            y[c] = expf((x[c] - top) * beta)
    divide_by_sum(y, row, depth, fast)


cdef inline void exponentials_of_rows(
    const float* x, float* y, int64_t row, int64_t count, int64_t depth, float beta, const RowKernels* fast, float* tops,
) noexcept nogil:
    """exp((x - the row's largest value) * beta) of `count` short rows, computed together."""
    cdef const float* values
    cdef int64_t r, c
    for r in range(count):
        values = x + r * depth
        if depth < LANES_ROW:
            tops[r] = largest_f32(values, depth, aligned_start(row + r, depth))
        else:
            tops[r] = largest_of_row(values, depth, aligned_start(row + r, depth), fast)
        for c in range(depth):
            y[r * depth + c] = (values[c] - tops[r]) * beta
    fast.exp_scaled(y, y, count * depth, 0, 1)


cdef inline void softmax_short_rows_eigen(
    const float* x, float* y, int64_t row, int64_t count, int64_t depth, float beta, const RowKernels* fast, float* tops,
) noexcept nogil:
    """`count` rows as softmax_row_eigen, with room for as many values. Not on aarch64. x may be y."""
    cdef int64_t r
    exponentials_of_rows(x, y, row, count, depth, beta, fast, tops)
    for r in range(count):
        divide_by_sum(y + r * depth, row + r, depth, fast)


cdef inline void divide_by_sum(float* y, int64_t row, int64_t depth, const RowKernels* fast) noexcept nogil:
    """The exponentials of a row of the output tensor."""
    cdef float scale = <float>1 / sum_of_row(y, depth, aligned_start(row, depth), fast)
    cdef int64_t c
    if fast != NULL and depth >= 8:
        fast.scale_row(y, depth, scale)
    else:
        for c in range(depth):
            y[c] = y[c] * scale
    if scale != scale:             # wins over a NaN that is the element's own
        for c in range(depth):
            y[c] = scale


cdef inline void log_softmax_row_eigen(const float* x, float* y, int64_t row, int64_t depth, const RowKernels* fast=NULL) noexcept nogil:
    """The exponentials beyond the last whole block of eight, on aarch64 of four, are the C library's."""
    cdef float top = largest_of_row(x, depth, aligned_start(row, depth), fast)
    cdef float less
    cdef int64_t body = depth - depth % (4 if AARCH64 else 8)
    cdef int64_t c
    exponentials(x, y, body, top, 1, fast)
    for c in range(body, depth):
        y[c] = expf(x[c] - top)
    less = logf(sum_of_row(y, depth, 0, fast))
    if fast != NULL:
        fast.subtract_row(x, y, depth, top, less)
        return
    for c in range(depth):
        y[c] = x[c] - top - less


cdef inline void log_softmax_short_rows_eigen(
    const float* x, float* y, int64_t row, int64_t count, int64_t depth, const RowKernels* fast, float* tops,
) noexcept nogil:
    """`count` rows as log_softmax_row_eigen, with room for as many values. Not on aarch64."""
    cdef const float* values = x
    cdef int64_t r, c
    exponentials_of_rows(x, y, row, count, depth, 1, fast, tops)
    for r in range(count):
        for c in range(depth - depth % 8, depth):
            y[c] = expf(values[c] - tops[r])
        fast.subtract_row(values, y, depth, tops[r], logf(sum_of_row(y, depth, 0, fast)))
        values += depth
        y += depth
