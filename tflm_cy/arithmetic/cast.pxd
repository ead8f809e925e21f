"""CAST between number types: straight, or by way of a block of doubles (from floating point) or int64s (from integers), both exact.

Integers keep their low bits. A float that the integer type holds is truncated; for the others the C++ standard promises nothing, and
TensorFlow's compiler has made vector code for whole blocks whose results differ from those of the scalar code for the tail:
| to | tail | whole blocks |
| --- | --- | --- |
| int8 | low bits of the int32 conversion | that conversion, saturated |
| uint8 | likewise | saturated to uint16; from 32768 on 0; else saturated |
| int16, uint16 | likewise | that conversion, saturated |
| uint32 | low bits of the int64 conversion | below 0 the int32 conversion; below 2^32 right; else 2^31 |
| int32, int64 | what does not fit, NaN too, is the lowest value | the same |
From float32 uint8, int16 and int32 saturate by design: NaN is 0, 0 (-32768 in whole blocks) and the highest value.
On aarch64 the table is another one (cast_neon.pxd).
Source: LiteRT:tflite/kernels/cast.cc; blocks and table observed on TensorFlow 2.21.
"""
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

from tflm_cy.arithmetic.half cimport bfloat_to_f32, cast_to_half, f32_to_bfloat, half_to_f32
from tflm_cy.arithmetic.rounding cimport cut32, cut64

cdef extern from *:
    """
    /* Whole vectors of what the compiler finds no instructions for, or not those that saturate: how many values they are. */
    #ifdef __AVX2__
    #include <immintrin.h>
    #define TFLM_CY_CUT(AT) _mm256_cvttps_epi32(_mm256_min_ps(top, _mm256_max_ps(_mm256_loadu_ps(x + i + AT), bottom))) /* max(NaN, b) is b */
    #define TFLM_CY_TO_S32(AT) _mm256_cvttps_epi32(_mm256_loadu_ps(x + i + AT)) /* what does not fit, NaN too, is the lowest value */
    #define TFLM_CY_ORDER _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)
    static inline int64_t tflm_cy_s16_blocks(const float *x, int16_t *y, int64_t n) {
      const __m256 top = _mm256_set1_ps(32767), bottom = _mm256_set1_ps(-32768);
      int64_t i = 0;
      for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_permute4x64_epi64(_mm256_packs_epi32(TFLM_CY_CUT(0), TFLM_CY_CUT(8)), 0xD8));
      return i;
    }
    static inline int64_t tflm_cy_u8_blocks(const float *x, uint8_t *y, int64_t n) {
      const __m256 top = _mm256_set1_ps(255), bottom = _mm256_setzero_ps();
      int64_t i = 0;
      for (; i + 32 <= n; i += 32) {
        const __m256i a = _mm256_packs_epi32(TFLM_CY_CUT(0), TFLM_CY_CUT(8)), b = _mm256_packs_epi32(TFLM_CY_CUT(16), TFLM_CY_CUT(24));
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), TFLM_CY_ORDER));
      }
      return i;
    }
    static inline int64_t tflm_cy_s8_blocks(const float *x, int8_t *y, int64_t n) {
      int64_t i = 0;
      for (; i + 32 <= n; i += 32) {
        const __m256i a = _mm256_packs_epi32(TFLM_CY_TO_S32(0), TFLM_CY_TO_S32(8)), b = _mm256_packs_epi32(TFLM_CY_TO_S32(16), TFLM_CY_TO_S32(24));
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), TFLM_CY_ORDER));
      }
      return i;
    }
    static inline int64_t tflm_cy_u16_blocks(const float *x, uint16_t *y, int64_t n) {
      int64_t i = 0;
      for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_permute4x64_epi64(_mm256_packus_epi32(TFLM_CY_TO_S32(0), TFLM_CY_TO_S32(8)), 0xD8));
      return i;
    }
    static inline int64_t tflm_cy_u32_blocks(const float *x, uint32_t *y, int64_t n) {
      const __m256 middle = _mm256_set1_ps(2147483648.0f), end = _mm256_set1_ps(4294967296.0f);
      const __m256i top = _mm256_set1_epi32(INT32_MIN);
      int64_t i = 0;
      for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        const __m256 upper = _mm256_and_ps(_mm256_cmp_ps(v, middle, _CMP_GE_OQ), _mm256_cmp_ps(v, end, _CMP_LT_OQ));
        const __m256i high = _mm256_xor_si256(_mm256_cvttps_epi32(_mm256_sub_ps(v, middle)), top);
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_blendv_epi8(_mm256_cvttps_epi32(v), high, _mm256_castps_si256(upper)));
      }
      return i;
    }
    /* One by one, but four are stored at once. */
    static inline int64_t tflm_cy_s64_f32_blocks(const int64_t *x, float *y, int64_t n) {
      int64_t i = 0;
      for (; i + 4 <= n; i += 4) _mm_storeu_ps(y + i, _mm_set_ps((float)x[i + 3], (float)x[i + 2], (float)x[i + 1], (float)x[i]));
      return i;
    }
    /* Integers below 2^51 are the low bits of doubles from 2^52 to 2^53, which 1.5 * 2^52 is the middle of; a block with others goes one by one. */
    #define TFLM_CY_MIDDLE 6755399441055744.0
    static inline int64_t tflm_cy_f32_s64_blocks(const float *x, int64_t *y, int64_t n) {
      const __m256d middle = _mm256_set1_pd(TFLM_CY_MIDDLE);
      const __m256 reach = _mm256_set1_ps(2251799813685248.0f), size = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MAX));
      int64_t i = 0;
      for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i), whole = _mm256_round_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        if (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_and_ps(v, size), reach, _CMP_LT_OQ)) == 255) { /* no NaN */
          const __m256d a = _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(whole)), middle);
          const __m256d b = _mm256_add_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(whole, 1)), middle);
          _mm256_storeu_si256((__m256i *)(y + i), _mm256_sub_epi64(_mm256_castpd_si256(a), _mm256_castpd_si256(middle)));
          _mm256_storeu_si256((__m256i *)(y + i + 4), _mm256_sub_epi64(_mm256_castpd_si256(b), _mm256_castpd_si256(middle)));
        } else for (int k = 0; k < 8; k++) y[i + k] = _mm_cvttss_si64(_mm_set_ss(x[i + k]));
      }
      return i;
    }
    #else
    static inline int64_t tflm_cy_s64_f32_blocks(const int64_t *x, float *y, int64_t n) { (void)x; (void)y; (void)n; return 0; }
    static inline int64_t tflm_cy_f32_s64_blocks(const float *x, int64_t *y, int64_t n) { (void)x; (void)y; (void)n; return 0; }
    static inline int64_t tflm_cy_s8_blocks(const float *x, int8_t *y, int64_t n) { (void)x; (void)y; (void)n; return 0; }
    static inline int64_t tflm_cy_u16_blocks(const float *x, uint16_t *y, int64_t n) { (void)x; (void)y; (void)n; return 0; }
    static inline int64_t tflm_cy_u32_blocks(const float *x, uint32_t *y, int64_t n) { (void)x; (void)y; (void)n; return 0; }
    static inline int64_t tflm_cy_s16_blocks(const float *x, int16_t *y, int64_t n) { (void)x; (void)y; (void)n; return 0; }
    static inline int64_t tflm_cy_u8_blocks(const float *x, uint8_t *y, int64_t n) { (void)x; (void)y; (void)n; return 0; }
    #endif
    """
    int64_t s16_blocks "tflm_cy_s16_blocks"(const float* x, int16_t* y, int64_t n) noexcept nogil
    int64_t u8_blocks "tflm_cy_u8_blocks"(const float* x, uint8_t* y, int64_t n) noexcept nogil
    int64_t s8_blocks "tflm_cy_s8_blocks"(const float* x, int8_t* y, int64_t n) noexcept nogil
    int64_t u16_blocks "tflm_cy_u16_blocks"(const float* x, uint16_t* y, int64_t n) noexcept nogil
    int64_t u32_blocks "tflm_cy_u32_blocks"(const float* x, uint32_t* y, int64_t n) noexcept nogil
    int64_t s64_f32_blocks "tflm_cy_s64_f32_blocks"(const int64_t* x, float* y, int64_t n) noexcept nogil
    int64_t f32_s64_blocks "tflm_cy_f32_s64_blocks"(const float* x, int64_t* y, int64_t n) noexcept nogil

cdef enum:
    CAST_BLOCK = 256             # values converted at a time; a multiple of every vector block

ctypedef fused Integral:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t

ctypedef fused Pattern:          # what an integer keeps of another one
    uint8_t
    uint16_t
    uint32_t
    int64_t

# into the block and out of it; the first `whole` values of `n` belong to whole vector blocks
ctypedef void (*LoadWhole)(const void* x, int64_t* block, int64_t n) noexcept nogil
ctypedef void (*LoadReal)(const void* x, double* block, int64_t n) noexcept nogil
ctypedef void (*StoreWhole)(const int64_t* block, void* y, int64_t n) noexcept nogil
ctypedef void (*StoreReal)(const double* block, void* y, int64_t n, int64_t whole) noexcept nogil


# ---- integers into the block; bool is a byte
cdef inline void load_whole(const Integral* x, int64_t* block, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        block[i] = x[i]


# ---- floating point into the block
cdef inline void load_f32(const float* x, double* block, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        block[i] = x[i]


cdef inline void load_f64(const double* x, double* block, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        block[i] = x[i]


cdef inline void load_half(const uint16_t* x, double* block, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        block[i] = half_to_f32(x[i])


cdef inline void load_bfloat(const uint16_t* x, double* block, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        block[i] = bfloat_to_f32(x[i])


cdef inline void load_complex(const float* x, double* block, int64_t n) noexcept nogil:
    """The real part."""
    cdef int64_t i
    for i in range(n):
        block[i] = x[2 * i]


cdef inline void load_4(const uint8_t* x, double* block, int64_t n) noexcept nogil:
    """int4; whole blocks begin at a whole byte."""
    cdef int32_t value
    cdef int64_t i
    for i in range(n):
        value = (x[i >> 1] >> (4 * (i & 1))) & 15
        block[i] = value - 16 if value >= 8 else value


# ---- integers out of the block
cdef inline void store_whole(const int64_t* block, Integral* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <Integral>block[i]


cdef inline void store_whole_bool(const int64_t* block, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = block[i] != 0


cdef inline void store_whole_f32(const int64_t* block, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <float>block[i]


cdef inline void store_whole_f64(const int64_t* block, double* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <double>block[i]


cdef inline void store_whole_half(const int64_t* block, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = cast_to_half(<float>block[i])


cdef inline void store_whole_bfloat(const int64_t* block, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = f32_to_bfloat(<float>block[i])


cdef inline void store_whole_complex(const int64_t* block, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[2 * i] = <float>block[i]
        y[2 * i + 1] = 0


# ---- floating point out of the block
cdef inline int32_t to_s32(double x) noexcept nogil:
    """As x86 converts."""
    if x >= 2147483648.0 or x <= -2147483649.0 or x != x:
        return INT32_MIN
    return <int32_t>x


cdef inline int64_t to_s64(double x) noexcept nogil:
    if x >= 9223372036854775808.0 or x < -9223372036854775808.0 or x != x:
        return INT64_MIN
    return <int64_t>x


cdef inline int32_t between(int32_t x, int32_t low, int32_t high) noexcept nogil:
    return low if x < low else high if x > high else x


cdef inline void store_s8(const double* block, int8_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(whole):
        y[i] = <int8_t>between(to_s32(block[i]), -128, 127)
    for i in range(whole, n):
        y[i] = <int8_t>to_s32(block[i])


cdef inline void store_u8(const double* block, uint8_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int32_t value
    cdef int64_t i
    for i in range(whole):
        value = between(to_s32(block[i]), 0, 65535)
        y[i] = <uint8_t>(0 if value >= 32768 else min(value, 255))
    for i in range(whole, n):
        y[i] = <uint8_t>to_s32(block[i])


cdef inline void store_s16(const double* block, int16_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(whole):
        y[i] = <int16_t>between(to_s32(block[i]), -32768, 32767)
    for i in range(whole, n):
        y[i] = <int16_t>to_s32(block[i])


cdef inline void store_u16(const double* block, uint16_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(whole):
        y[i] = <uint16_t>between(to_s32(block[i]), 0, 65535)
    for i in range(whole, n):
        y[i] = <uint16_t>to_s32(block[i])


cdef inline void store_s32(const double* block, int32_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = to_s32(block[i])


cdef inline void store_u32(const double* block, uint32_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(whole):
        if block[i] > -1.0:
            y[i] = <uint32_t><int64_t>block[i] if block[i] < 4294967296.0 else <uint32_t>0x80000000
        else:
            y[i] = <uint32_t>to_s32(block[i])
    for i in range(whole, n):
        y[i] = <uint32_t>to_s64(block[i])


cdef inline void store_s64(const double* block, int64_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = to_s64(block[i])


cdef inline void store_bool(const double* block, uint8_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = block[i] != 0


cdef inline void store_f32(const double* block, float* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <float>block[i]


cdef inline void store_f64(const double* block, double* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = block[i]


cdef inline void store_half(const double* block, uint16_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = cast_to_half(<float>block[i])


cdef inline void store_bfloat(const double* block, uint16_t* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = f32_to_bfloat(<float>block[i])


cdef inline void store_complex(const double* block, float* y, int64_t n, int64_t whole) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[2 * i] = <float>block[i]
        y[2 * i + 1] = 0


cdef inline void store_4(const double* block, uint8_t* y, int64_t n, int64_t whole) noexcept nogil:
    """int4, clamped; NaN as x86's max(-8, min(7, x)) gives it."""
    cdef int32_t value
    cdef int64_t i
    for i in range(n):
        value = 7 if block[i] != block[i] or block[i] > 7 else -8 if block[i] < -8 else <int32_t>block[i]
        if i & 1:
            y[i >> 1] |= <uint8_t>((value & 15) << 4)
        else:
            y[i >> 1] = <uint8_t>(value & 15)


# ---- straight from type to type, without a block
cdef inline void whole_to_whole(const Integral* x, Pattern* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <Pattern>x[i]


cdef inline void whole_to_bool(const Pattern* x, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = x[i] != 0


cdef inline void whole_to_f32(const Integral* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef int64_t done = 0
    if Integral is int64_t:
        done = s64_f32_blocks(x, y, n)
    for i in range(done, n):
        y[i] = <float>x[i]


cdef inline void f64_to_f32(const double* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <float>x[i]


cdef inline void f32_to_bool(const float* x, uint8_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = x[i] != 0


cdef inline void f32_to_s32(const float* x, int32_t* y, int64_t n) noexcept nogil:
    """Saturates; NaN is the highest value."""
    cdef int32_t value
    cdef int64_t i
    for i in range(n):
        value = <int32_t>x[i]
        y[i] = value if x[i] < <float>2147483648.0 else INT32_MAX


cdef inline void f32_to_s64(const float* x, int64_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(f32_s64_blocks(x, y, n), n):
        y[i] = cut64(x[i])


cdef inline void f32_to_f16(const float* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = cast_to_half(x[i])


cdef inline void f32_to_s8(const float* x, int8_t* y, int64_t n) noexcept nogil:
    """Of whole blocks, as the other functions up to `f32_to_u32`."""
    cdef int64_t i
    for i in range(s8_blocks(x, y, n), n):
        y[i] = <int8_t>between(cut32(x[i]), -128, 127)


cdef inline void f32_to_u8(const float* x, uint8_t* y, int64_t n) noexcept nogil:
    """The tail, too."""
    cdef float value
    cdef int64_t i
    for i in range(u8_blocks(x, y, n), n):
        value = x[i] if x[i] > 0 else 0
        y[i] = <uint8_t>cut32(value if value < 255 else 255)


cdef inline void f32_to_s16(const float* x, int16_t* y, int64_t n) noexcept nogil:
    """NaN is the lowest value."""
    cdef float value
    cdef int64_t i
    for i in range(s16_blocks(x, y, n), n):
        value = x[i] if x[i] > -32768 else -32768
        y[i] = <int16_t>cut32(value if value < 32767 else 32767)


cdef inline void f32_to_u16(const float* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(u16_blocks(x, y, n), n):
        y[i] = <uint16_t>between(cut32(x[i]), 0, 65535)


cdef inline void f32_to_u32(const float* x, uint32_t* y, int64_t n) noexcept nogil:
    """What is 2^31 or more is converted less 2^31, which is exact."""
    cdef uint32_t low, high
    cdef int64_t i
    for i in range(u32_blocks(x, y, n), n):
        low = <uint32_t>cut32(x[i])
        high = <uint32_t>cut32(x[i] - <float>2147483648.0) + <uint32_t>0x80000000
        high = high if x[i] < <float>4294967296.0 else <uint32_t>0x80000000
        y[i] = high if x[i] >= <float>2147483648.0 else low


cdef inline void f32_to_low_bits(const float* x, Pattern* y, int64_t n) noexcept nogil:
    """Of a tail, to int8 and uint16."""
    cdef int64_t i
    for i in range(n):
        y[i] = <Pattern>cut32(x[i])


cdef inline void f32_to_s16_tail(const float* x, int16_t* y, int64_t n) noexcept nogil:
    """NaN is 0."""
    cdef int64_t i
    f32_to_s16(x, y, n)
    for i in range(n):
        y[i] = y[i] if x[i] == x[i] else 0


cdef inline void f32_to_u32_tail(const float* x, uint32_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = <uint32_t>to_s64(x[i])


cdef inline void f32_to_complex(const float* x, float* y, int64_t n) noexcept nogil:
    """Copies, so that a signalling NaN stays one."""
    cdef int64_t i
    for i in range(n):
        y[2 * i] = x[i]
        y[2 * i + 1] = 0


cdef inline void complex_to_f32(const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = x[2 * i]
