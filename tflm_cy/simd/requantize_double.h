/* The multiplication of requantize_double.pxi: int32 sums times doubles, halves away from zero.
 *
 * Rounding in doubles is exact: the whole part and one more or less. What no int32 holds converts to the minimum, as NaN does;
 * on Arm to the nearest value, NaN to 0. */
#ifndef TFLM_CY_SIMD_REQUANTIZE_DOUBLE_H
#define TFLM_CY_SIMD_REQUANTIZE_DOUBLE_H

#include "simd.h"

#if SIMD_ISA == 512
SIMD_INLINE __m256i requantize_double_half(__m256i x, const double *scales) {
  const __m512d one = _mm512_set1_pd(1.0), p = _mm512_mul_pd(_mm512_cvtepi32_pd(x), _mm512_loadu_pd(scales));
  const __m512d whole = _mm512_roundscale_pd(p, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), rest = _mm512_sub_pd(p, whole);
  __m512d y = _mm512_mask_add_pd(whole, _mm512_cmp_pd_mask(rest, _mm512_set1_pd(0.5), _CMP_GE_OQ), whole, one);
  y = _mm512_mask_sub_pd(y, _mm512_cmp_pd_mask(rest, _mm512_set1_pd(-0.5), _CMP_LE_OQ), whole, one);
  return _mm512_cvttpd_epi32(y);
}

SIMD_INLINE vi requantize_double(vi x, const double *scales) {
  const __m256i first = requantize_double_half(_mm512_castsi512_si256(x), scales), second = requantize_double_half(_mm512_extracti64x4_epi64(x, 1), scales + 8);
  return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}
#elif SIMD_ISA == 128
SIMD_INLINE int32x2_t requantize_double_half(int32x2_t x, const double *scales) {
  return vqmovn_s64(vcvtaq_s64_f64(vmulq_f64(vcvtq_f64_s64(vmovl_s32(x)), vld1q_f64(scales))));
}

SIMD_INLINE vi requantize_double(vi x, const double *scales) {
  return (vi)vcombine_s32(requantize_double_half(vget_low_s32(simd_i32(x)), scales), requantize_double_half(vget_high_s32(simd_i32(x)), scales + 2));
}
#else
SIMD_INLINE __m128i requantize_double_half(__m128i x, const double *scales) {
  const __m256d one = _mm256_set1_pd(1.0), p = _mm256_mul_pd(_mm256_cvtepi32_pd(x), _mm256_loadu_pd(scales));
  const __m256d whole = _mm256_round_pd(p, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), rest = _mm256_sub_pd(p, whole);
  const __m256d up = _mm256_and_pd(_mm256_cmp_pd(rest, _mm256_set1_pd(0.5), _CMP_GE_OQ), one);
  const __m256d down = _mm256_and_pd(_mm256_cmp_pd(rest, _mm256_set1_pd(-0.5), _CMP_LE_OQ), one);
  return _mm256_cvttpd_epi32(_mm256_sub_pd(_mm256_add_pd(whole, up), down));
}

SIMD_INLINE vi requantize_double(vi x, const double *scales) {
  const __m128i first = requantize_double_half(_mm256_castsi256_si128(x), scales), second = requantize_double_half(_mm256_extracti128_si256(x, 1), scales + 4);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}
#endif

typedef struct {
  int is_signed;
  vi zero, low, high;
} RequantizeDoubleLimits;

/* n columns of a row, whose sums and scales are whole vectors. */
static void requantize_double_row(const RequantizeDoubleLimits *k, const double *scales, const int32_t *sums, ptrdiff_t n, uint8_t *y) {
  const vb none = vb_set1(0);
  for (; n > 0; n -= VB, sums += VB, scales += VB, y += VB) {
    vi q[4] = {none, none, none, none};
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++)
      if (n > j * VL) q[j] = vi_min(vi_max(vi_add(requantize_double(vi_load(sums + j * VL), scales + j * VL), k->zero), k->low), k->high);
    vb bytes = k->is_signed ? vb_pack_s(q[0], q[1], q[2], q[3], none) : vb_pack_u(q[0], q[1], q[2], q[3], none);
    vb_store_part(y, vb_unlane(bytes), n < VB ? n : VB);
  }
}
#endif
