"""Quantizing and dequantizing as the vector code of the optimized kernels: whole blocks of values one way, the tail another.

| | whole blocks | tail |
| --- | --- | --- |
| float32 to 8 or 16 bits, blocks of 8 | x * (float)(1 / scale), ties to even | (double)x / scale, halves away from zero |
| 8 bits to 8 bits, blocks of 16 | halves of the last shift up | halves away from zero |
| 4, 8, 16 bits to float32, blocks of 8 | (float)q * scale + (float)(-zero_point * scale) | (float)((double)scale * (q - zero_point)) |

What int32 cannot hold becomes what it is in the reference before the (wrapping) addition of the zero point. On aarch64 the product and the
sum of a block to float32 are fused.
Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h.
"""
from libc.math cimport fabsf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.conversion cimport Affine, Narrow, dequantize_bytes
from tflm_cy.arithmetic.fixed_point cimport clamp32
from tflm_cy.arithmetic.machine cimport product_plus
from tflm_cy.arithmetic.rounding cimport add_wrapping, cut32, round_away_f64

cdef extern from *:
    """
    /* Whole vectors of quantize_split: how many values they are. The limits are those of the type or nearer. */
    #ifdef __AVX2__
    #include <immintrin.h>
    #define TFLM_CY_NEAR(AT) \
      _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i + AT), _mm256_set1_ps(inverse))), _mm256_set1_epi32(zero_point))
    static inline int64_t tflm_cy_quantize_blocks_s16(const float *x, float inverse, int zero_point, int low, int high, void *out, int64_t n) {
      const __m256i least = _mm256_set1_epi16((short)low), most = _mm256_set1_epi16((short)high);
      int16_t *y = (int16_t *)out;
      int64_t i = 0;
      for (; i + 16 <= n; i += 16) {
        const __m256i v = _mm256_permute4x64_epi64(_mm256_packs_epi32(TFLM_CY_NEAR(0), TFLM_CY_NEAR(8)), 0xD8);
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_min_epi16(_mm256_max_epi16(v, least), most));
      }
      return i;
    }
    static inline int64_t tflm_cy_quantize_blocks_8(
        const float *x, float inverse, int zero_point, int low, int high, int is_signed, void *out, int64_t n) {
      const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
      const __m256i least = _mm256_set1_epi16((short)low), most = _mm256_set1_epi16((short)high);
      uint8_t *y = (uint8_t *)out;
      int64_t i = 0;
      for (; i + 32 <= n; i += 32) {
        __m256i a = _mm256_packs_epi32(TFLM_CY_NEAR(0), TFLM_CY_NEAR(8)), b = _mm256_packs_epi32(TFLM_CY_NEAR(16), TFLM_CY_NEAR(24));
        a = _mm256_min_epi16(_mm256_max_epi16(a, least), most);
        b = _mm256_min_epi16(_mm256_max_epi16(b, least), most);
        const __m256i v = is_signed ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b);
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_permutevar8x32_epi32(v, order));
      }
      return i;
    }
    #else
    static inline int64_t tflm_cy_quantize_blocks_s16(const float *x, float inverse, int zero_point, int low, int high, void *out, int64_t n) {
      (void)x; (void)inverse; (void)zero_point; (void)low; (void)high; (void)out; (void)n;
      return 0;
    }
    static inline int64_t tflm_cy_quantize_blocks_8(
        const float *x, float inverse, int zero_point, int low, int high, int is_signed, void *out, int64_t n) {
      (void)x; (void)inverse; (void)zero_point; (void)low; (void)high; (void)is_signed; (void)out; (void)n;
      return 0;
    }
    #endif
    """
    int64_t quantize_blocks_s16 "tflm_cy_quantize_blocks_s16"(
        const float* x, float inverse, int32_t zero_point, int32_t low, int32_t high, void* out, int64_t n) noexcept nogil
    int64_t quantize_blocks_8 "tflm_cy_quantize_blocks_8"(
        const float* x, float inverse, int32_t zero_point, int32_t low, int32_t high, bint is_signed, void* out, int64_t n) noexcept nogil

cdef enum:
    FAR = 1 << 21                # from a zero point on that a clamp may not cover
    FLOAT_BLOCK = 8
    BYTE_BLOCK = 16

cdef struct SplitBytes:          # results by byte
    uint8_t body[256]
    uint8_t tail[256]

cdef struct SplitFloats:
    float body[256]
    float tail[256]


cdef inline float ties_to_even(float x) noexcept nogil:
    """rintf: beyond 2^22 only what is whole or does not matter is left, below it the addition rounds."""
    cdef float shifted = (x + <float>12582912.0) - <float>12582912.0
    return shifted if fabsf(x) < <float>4194304.0 else x


cdef inline int64_t quantized_blocks(const Affine* q, float inverse, const float* x, Narrow* y, int64_t n) noexcept nogil:
    """How many values are done in vectors: the conversion to int32 rounds as `ties_to_even`, but beyond 2^22, where all are clamped."""
    cdef int64_t done = 0
    if not -FAR < q.zero_point < FAR:
        return done
    if Narrow is int16_t:
        done = quantize_blocks_s16(x, inverse, q.zero_point, q.low, q.high, y, n)
    elif Narrow is int8_t:
        done = quantize_blocks_8(x, inverse, q.zero_point, q.low, q.high, True, y, n)
    else:
        done = quantize_blocks_8(x, inverse, q.zero_point, q.low, q.high, False, y, n)
    return done


cdef inline void quantize_split(const void* params, const float* x, Narrow* y, int64_t n) noexcept nogil:
    cdef Affine q = (<const Affine*>params)[0]
    cdef float inverse = <float>(1.0 / <double>q.scale)
    cdef int64_t body = n - n % FLOAT_BLOCK
    cdef int64_t i
    for i in range(quantized_blocks(&q, inverse, x, y, body), body):
        y[i] = <Narrow>clamp32(add_wrapping(cut32(ties_to_even(x[i] * inverse)), q.zero_point), q.low, q.high)
    for i in range(body, n):
        y[i] = <Narrow>clamp32(add_wrapping(round_away_f64(<double>x[i] / <double>q.scale), q.zero_point), q.low, q.high)


cdef inline void lookup_split(const void* params, const uint8_t* x, uint8_t* y, int64_t n) noexcept nogil:
    cdef const SplitBytes* table = <const SplitBytes*>params
    cdef int64_t body = n - n % BYTE_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = table.body[x[i]]
    for i in range(body, n):
        y[i] = table.tail[x[i]]


cdef inline float dequantized_in_block(int32_t q, float scale, int32_t zero_point) noexcept nogil:
    return product_plus(<float>q, scale, <float>(<double>-zero_point * <double>scale))


cdef inline void dequantize_split_bytes(const void* params, const Narrow* x, float* y, int64_t n) noexcept nogil:
    cdef Affine q = (<const Affine*>params)[0]
    cdef float bias = <float>(<double>-q.zero_point * <double>q.scale)
    cdef int64_t body = n - n % FLOAT_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = product_plus(<float><int32_t>x[i], q.scale, bias)
    dequantize_bytes(params, x + body, y + body, n - body)


cdef inline void dequantize_split_s16(const void* params, const int16_t* x, float* y, int64_t n) noexcept nogil:
    """The zero point is 0, which a block adds: to a zero below zero, and to what a scale that is no number makes of it."""
    cdef float scale = (<const Affine*>params).scale
    cdef int64_t body = n - n % FLOAT_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = dequantized_in_block(x[i], scale, 0)
    for i in range(body, n):
        y[i] = <float>(<double>scale * <double>x[i])


cdef inline void dequantize_split_4(const void* params, const uint8_t* x, float* y, int64_t n) noexcept nogil:
    """Two values a byte; `params` has the results by pattern."""
    cdef const SplitFloats* table = <const SplitFloats*>params
    cdef int64_t body = n - n % FLOAT_BLOCK
    cdef int64_t i
    for i in range(body):
        y[i] = table.body[(x[i >> 1] >> (4 * (i & 1))) & 15]
    for i in range(body, n):
        y[i] = table.tail[(x[i >> 1] >> (4 * (i & 1))) & 15]
