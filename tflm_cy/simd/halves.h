/* The loops of halves.pxi: functions of float16 values in float32 lanes, VL at a time. vf_rounded is the nearest float16, as float32. */
#ifndef TFLM_CY_SIMD_HALVES_H
#define TFLM_CY_SIMD_HALVES_H

#include "simd.h"

enum { HALF_NEAREST = 8, HALF_FLOOR = 9, HALF_CEIL = 10 }; /* of roundings; no exceptions */

#if SIMD_ISA == 512
typedef __m256i vhalves; /* VL float16 */
#define HALVES_FROM_VF(v) _mm512_cvtps_ph(v, HALF_NEAREST)
#define VF_FROM_HALVES(h) _mm512_cvtph_ps(h)
#define VF_ROUND(v, HOW) _mm512_roundscale_ps(v, HOW)
SIMD_INLINE vhalves halves_load(const uint16_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
SIMD_INLINE void halves_store(uint16_t *p, vhalves h) { _mm256_storeu_si256((__m256i *)p, h); }
SIMD_INLINE vhalves halves_gate(vhalves h) { return _mm256_min_epi16(_mm256_max_epi16(h, _mm256_setzero_si256()), _mm256_set1_epi16(0x4600)); }
SIMD_INLINE vhalves halves_exponent(vhalves h) { return _mm256_slli_epi16(h, 10); }
SIMD_INLINE vf vf_rsqrt11(vf v) {
  const __m256 low = _mm256_rsqrt_ps(_mm512_castps512_ps256(v)), high = _mm256_rsqrt_ps(_mm512_extractf32x8_ps(v, 1));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
SIMD_INLINE vf vf_where_finite(vf r) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(r, vf_set1(INFINITY), _CMP_LT_OQ), r); }
#else
typedef __m128i vhalves;
#define HALVES_FROM_VF(v) _mm256_cvtps_ph(v, HALF_NEAREST)
#define VF_FROM_HALVES(h) _mm256_cvtph_ps(h)
#define VF_ROUND(v, HOW) _mm256_round_ps(v, HOW)
SIMD_INLINE vhalves halves_load(const uint16_t *p) { return _mm_loadu_si128((const __m128i *)p); }
SIMD_INLINE void halves_store(uint16_t *p, vhalves h) { _mm_storeu_si128((__m128i *)p, h); }
SIMD_INLINE vhalves halves_gate(vhalves h) { return _mm_min_epi16(_mm_max_epi16(h, _mm_setzero_si128()), _mm_set1_epi16(0x4600)); }
SIMD_INLINE vhalves halves_exponent(vhalves h) { return _mm_slli_epi16(h, 10); }
SIMD_INLINE vf vf_rsqrt11(vf v) { return _mm256_rsqrt_ps(v); }
SIMD_INLINE vf vf_where_finite(vf r) { return _mm256_and_ps(r, _mm256_cmp_ps(r, vf_set1(INFINITY), _CMP_LT_OQ)); }
#endif

SIMD_INLINE vf vf_rounded(vf v) { return VF_FROM_HALVES(HALVES_FROM_VF(v)); }
SIMD_INLINE vf vf_half(float c) { return vf_rounded(vf_set1(c)); } /* a constant of the definition */

/* p * x + c: the product of two float16 is exact in float32. */
SIMD_INLINE vf vf_poly(vf x, vf p, float c) { return vf_rounded(vf_add(vf_mul(p, x), vf_half(c))); }

SIMD_INLINE vf hard_swish_value(vf v) {
  const vf gate = VF_FROM_HALVES(halves_gate(HALVES_FROM_VF(vf_add(v, vf_set1(3)))));
  return vf_mul(gate, vf_rounded(vf_mul(v, vf_half(0.16662598f))));
}

SIMD_INLINE vf exp_value(vf x) {
  const vf v = vf_min(vf_max(vf_rounded(vf_mul(x, vf_half(1.4423828f))), vf_set1(-15)), vf_set1(16));
  const vf z = vf_rounded(vf_sub(vf_rounded(vf_add(v, vf_set1(1536))), vf_set1(1536))), r = vf_rounded(vf_sub(v, z));
  vf p = vf_poly(r, vf_half(0.05517578f), 0.24255371f);
  p = vf_poly(r, p, 0.6933594f);
  p = vf_poly(r, p, 1);
  return vf_mul(VF_FROM_HALVES(halves_exponent(HALVES_FROM_VF(vf_add(z, vf_set1(1039))))), p);
}

SIMD_INLINE vf odd_wave_value(vf x) {
  const vf pi = vf_half(3.140625f), minus_pi = vf_sub(vf_set1(0), pi);
  x = vf_min(x, vf_rounded(vf_sub(pi, x)));
  x = vf_max(x, vf_rounded(vf_sub(minus_pi, x)));
  x = vf_min(x, vf_rounded(vf_sub(pi, x)));
  const vf x2 = vf_rounded(vf_mul(x, x));
  const vf p = vf_rounded(vf_mul(x, vf_poly(x2, vf_half(-0.11200523376f), 1)));
  return vf_div(p, vf_poly(x2, vf_half(0.055543992668f), 1));
}

SIMD_INLINE vf reduced_angle_value(vf x) {
  const vf turns = vf_rounded(VF_ROUND(vf_rounded(vf_mul(x, vf_half(0.15917969f))), HALF_NEAREST));
  const vf v = vf_rounded(vf_sub(x, vf_mul(turns, vf_set1(6.25f))));
  return vf_rounded(vf_sub(v, vf_mul(turns, vf_half(0.033172607f))));
}

SIMD_INLINE vf gelu_value(vf v, float limit, float a1, float a3, float a5, float b2, float b4) {
  const vf top = vf_half(limit), c = vf_max(vf_sub(vf_set1(0), top), vf_min(top, v)), x2 = vf_rounded(vf_mul(c, c));
  const vf p = vf_rounded(vf_mul(c, vf_poly(x2, vf_poly(x2, vf_half(a5), a3), a1)));
  const vf q = vf_poly(x2, vf_poly(x2, vf_half(b4), b2), 1);
  return vf_mul(vf_rounded(vf_mul(v, vf_set1(0.5f))), vf_rounded(vf_add(vf_rounded(vf_div(p, q)), vf_set1(1))));
}

#define HALVES(NAME, VALUE)                                                        \
  static void NAME##_halves(const void *params, const void *at_x, void *at_y, int64_t n) { \
    const float *limits = params; /* low, high: of a clamp only */                   \
    const uint16_t *x = at_x;                                                      \
    uint16_t *y = at_y;                                                            \
    int64_t i = 0;                                                                 \
    (void)limits;                                                                  \
    for (; i + VL <= n; i += VL) {                                                 \
      const vf v = VF_FROM_HALVES(halves_load(x + i));                             \
      halves_store(y + i, HALVES_FROM_VF(VALUE));                                  \
    }                                                                              \
    if (i < n) {                                                                   \
      uint16_t part[VL] = {0};                                                     \
      memcpy(part, x + i, (size_t)(n - i) * 2);                                    \
      const vf v = VF_FROM_HALVES(halves_load(part));                              \
      halves_store(part, HALVES_FROM_VF(VALUE));                                   \
      memcpy(y + i, part, (size_t)(n - i) * 2);                                    \
    }                                                                              \
  }

HALVES(square, vf_mul(v, v))
HALVES(floor, VF_ROUND(v, HALF_FLOOR))
HALVES(ceil, VF_ROUND(v, HALF_CEIL))
HALVES(round, VF_ROUND(v, HALF_NEAREST))
HALVES(clamp, vf_min(vf_max(v, vf_set1(limits[0])), vf_set1(limits[1])))
HALVES(rsqrt, vf_rsqrt11(v))
HALVES(sqrt, vf_mul(v, vf_where_finite(vf_rsqrt11(v))))
HALVES(hard_swish, hard_swish_value(v))
HALVES(exp, exp_value(v))
HALVES(sin, odd_wave_value(reduced_angle_value(v)))
HALVES(cos, odd_wave_value(vf_rounded(vf_sub(vf_half(1.5703125f), reduced_angle_value(v)))))
HALVES(gelu, gelu_value(v, 3.2890625f, 0.79763203859f, 0.1539786756f, 0.0045998394489f, 0.35756936669f, 0.042862996459f))
HALVES(gelu_tanh, gelu_value(v, 3.26953125f, 0.79763704538f, 0.14811584353f, 0.0043507730588f, 0.35130375624f, 0.040821321309f))

#endif
