/* The loops of float32.pxi: functions of one and two values, vector by vector.
 *
 * vf_bent(a, slope) is a * slope where a < 0, else a with its own bits;
 * vf_signed(a, b) is b where a's sign bit is set, also that of -0 and NaN. */
#ifndef TFLM_CY_SIMD_FLOAT32_H
#define TFLM_CY_SIMD_FLOAT32_H

#include "simd.h"

#if SIMD_ISA == 512
SIMD_INLINE vf vf_negative(vf a, vf b) { return _mm512_mask_mov_ps(a, _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_LT_OQ), b); }
SIMD_INLINE vf vf_signed(vf a, vf b) { return _mm512_mask_mov_ps(a, _mm512_movepi32_mask(_mm512_castps_si512(a)), b); }
#elif SIMD_ISA == 128
SIMD_INLINE vf vf_negative(vf a, vf b) { return (vf)vbslq_f32(vcltzq_f32(simd_f32(a)), simd_f32(b), simd_f32(a)); }
SIMD_INLINE vf vf_signed(vf a, vf b) { return (vf)vbslq_f32(vcltzq_s32((int32x4_t)a), simd_f32(b), simd_f32(a)); }
#else
SIMD_INLINE vf vf_negative(vf a, vf b) { return _mm256_blendv_ps(a, b, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_LT_OQ)); }
SIMD_INLINE vf vf_signed(vf a, vf b) { return _mm256_blendv_ps(a, b, a); }
#endif
SIMD_INLINE vf vf_bent(vf a, vf slope) { return vf_negative(a, vf_mul_first(a, slope)); }
typedef struct { float low, high, slope; } Limits32; /* RangeF and Parameters begin like this; slope: only what has one */

SIMD_INLINE vf clamp32(vf v, vf low, vf high) { return vf_minimum(high, vf_maximum(low, v)); }

/* y[i] = f(a[i], b[i]); and with b a row of n values that meets each of the rows of a. */
#define BINARY32(NAME, VALUE) \
  SIMD_INLINE vf NAME##_32(vf a, vf b, vf low, vf high) { (void)low; (void)high; return VALUE; } \
  static void NAME##_run32(const void *params, const void *at_a, const void *at_b, void *at_y, int64_t n) { \
    const float *a = at_a, *b = at_b; \
    float *y = at_y; \
    const vf low = vf_set1(((const Limits32 *)params)->low), high = vf_set1(((const Limits32 *)params)->high); \
    int64_t i = 0; \
    for (; i + 2 * VL <= n; i += 2 * VL) { \
      vf u = NAME##_32(vf_load(a + i), vf_load(b + i), low, high), v = NAME##_32(vf_load(a + i + VL), vf_load(b + i + VL), low, high); \
      vf_store(y + i, u); \
      vf_store(y + i + VL, v); \
    } \
    for (; i < n; i += VL) { \
      int64_t m = n - i < VL ? n - i : VL; \
      vf_store_part(y + i, NAME##_32(vf_load_part(a + i, m), vf_load_part(b + i, m), low, high), m); \
    } \
  } \
  static void NAME##_rows32(const void *params, const float *a, const float *b, float *y, int64_t rows, int64_t n) { \
    const vf low = vf_set1(((const Limits32 *)params)->low), high = vf_set1(((const Limits32 *)params)->high); \
    for (; rows > 0; rows--, a += n, y += n) { \
      int64_t i = 0; \
      for (; i + VL <= n; i += VL) vf_store(y + i, NAME##_32(vf_load(a + i), vf_load(b + i), low, high)); \
      if (i < n) vf_store_part(y + i, NAME##_32(vf_load_part(a + i, n - i), vf_load_part(b + i, n - i), low, high), n - i); \
    } \
  }

BINARY32(add, clamp32(vf_add_first(a, b), low, high))
BINARY32(sub, clamp32(vf_sub(a, b), low, high))
BINARY32(mul, clamp32(vf_mul_first(a, b), low, high))
BINARY32(prelu, vf_bent(a, b))
BINARY32(prelu_signed, vf_signed(a, vf_mul_first(a, b)))
BINARY32(prelu_one_signed, vf_signed(a, vf_mul_first(b, a)))

#define UNARY32(NAME, VALUE) \
  SIMD_INLINE vf NAME##_32(vf x, vf low, vf high, vf slope) { (void)low; (void)high; (void)slope; return VALUE; } \
  static void NAME##_run32(const void *params, const void *at_x, void *at_y, int64_t n) { \
    const Limits32 *p = params; \
    const float *x = at_x; \
    float *y = at_y; \
    const vf low = vf_set1(p->low), high = vf_set1(p->high), slope = vf_set1(p->slope); \
    int64_t i = 0; \
    for (; i + 2 * VL <= n; i += 2 * VL) { \
      vf u = NAME##_32(vf_load(x + i), low, high, slope), v = NAME##_32(vf_load(x + i + VL), low, high, slope); \
      vf_store(y + i, u); \
      vf_store(y + i + VL, v); \
    } \
    for (; i < n; i += VL) { \
      int64_t m = n - i < VL ? n - i : VL; \
      vf_store_part(y + i, NAME##_32(vf_load_part(x + i, m), low, high, slope), m); \
    } \
  }

UNARY32(relu, clamp32(x, low, high))
UNARY32(leaky, vf_bent(x, slope))
UNARY32(leaky_signed, vf_signed(x, vf_mul_first(x, slope)))
UNARY32(hard_swish, vf_mul(vf_minimum(vf_maximum(vf_fma(x, vf_set1(0x1.555556p-3f), vf_set1(0.5f)), vf_set1(0)), vf_set1(1)), x))

/* The functions of map_ahead8 (float32.pxi, unary_f32.pxi) are compiled so that the operations of its four vectors alternate. On x86-64 GCC
   keeps the order of the source otherwise. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SCHEDULED __attribute__((optimize("schedule-insns", "sched-pressure")))
#else
#define SCHEDULED
#endif
#define SCHEDULED32(NAME) SCHEDULED static void tflm_cy_##NAME##_run32(const void *params, const void *x, void *y, int64_t n);
SCHEDULED32(tanh)
SCHEDULED32(exp)
SCHEDULED32(elu)
SCHEDULED32(logistic_avx2)
SCHEDULED32(gelu)
SCHEDULED32(gelu_tanh)
SCHEDULED32(sin)
SCHEDULED32(cos)

#if SIMD_ISA == 512
/* logistic8_avx512, sixteen values at a time. */
SIMD_INLINE vf logistic_32(const float *exp2, vf x) {
  const vi sign = vi_set1(INT32_MIN);
  const vf z = _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(x), sign)), magic = vf_set1(393216);
  vf n = vf_fma(z, vf_set1(0x1.715476p0f), magic);
  const vf l = _mm512_permutex2var_ps(vf_load(exp2), _mm512_castps_si512(n), vf_load(exp2 + VL));
  n = vf_sub(n, magic);
  const vf t = vf_fma(n, vf_set1(0x1.05C61p-29f), vf_fma(n, vf_set1(-0x1.62E430p-1f), z));
  const vf q = vf_fma(t, vf_set1(0.5f), vf_set1(0x1.0000F6p0f));
  const vf e = _mm512_scalef_ps(vf_fma(vf_mul(t, l), q, l), n);
  const vf f = vf_div(e, vf_add(e, vf_set1(1)));
  return _mm512_mask_sub_ps(f, _mm512_testn_epi32_mask(_mm512_castps_si512(x), sign), vf_set1(1), f);
}

SCHEDULED static void logistic_run_vectors32(const float *exp2, const float *x, float *y, int64_t n) {
  int64_t i = 0;
  for (; i + 4 * VL <= n; i += 4 * VL) {
    const vf a = logistic_32(exp2, vf_load(x + i)), b = logistic_32(exp2, vf_load(x + i + VL));
    const vf c = logistic_32(exp2, vf_load(x + i + 2 * VL)), d = logistic_32(exp2, vf_load(x + i + 3 * VL));
    vf_store(y + i, a);
    vf_store(y + i + VL, b);
    vf_store(y + i + 2 * VL, c);
    vf_store(y + i + 3 * VL, d);
  }
  for (; i + VL <= n; i += VL) vf_store(y + i, logistic_32(exp2, vf_load(x + i)));
  if (i < n) vf_store_part(y + i, logistic_32(exp2, vf_load_part(x + i, n - i)), n - i);
}
static void (*const logistic_vectors32)(const float *, const float *, float *, int64_t) = logistic_run_vectors32;

#else
static void (*const logistic_vectors32)(const float *, const float *, float *, int64_t) = NULL;
#endif

#if SIMD_ISA == 512 || SIMD_ISA == 256
/* root8 from VRSQRT14PS, sixteen values at a time, or from RSQRTPS, eight: those of which of the delegate's generations (generation.pxd). */
#if SIMD_ISA == 512
enum { ROOTS_OF32 = 5 };
SIMD_INLINE vf first_root(vf v) { return _mm512_rsqrt14_ps(v); }
SIMD_INLINE vf other_than(vf v, float x, vf r) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, vf_set1(x), _CMP_NEQ_UQ), r); }
#else
enum { ROOTS_OF32 = 2 };
SIMD_INLINE vf first_root(vf v) { return _mm256_rsqrt_ps(v); }
SIMD_INLINE vf other_than(vf v, float x, vf r) { return _mm256_and_ps(_mm256_cmp_ps(v, vf_set1(x), _CMP_NEQ_UQ), r); }
#endif
SIMD_INLINE vf root_32(int inverse, vf v) {
  const vf y = first_root(v);
  const vf r = vf_sub(y, vf_mul(vf_sub(vf_mul(v, vf_mul(y, y)), vf_set1(1)), vf_mul(vf_set1(0.5f), y)));
  return inverse ? other_than(v, INFINITY, r) : vf_mul(v, other_than(v, 0, r));
}

#define ROOT32(NAME, INVERSE)                                                           \
  static void NAME(const void *params, const void *at_x, void *at_y, int64_t n) {          \
    const float *x = at_x;                                                              \
    float *y = at_y;                                                                    \
    (void)params;                                                                          \
    int64_t i = 0;                                                                      \
    for (; i + VL <= n; i += VL) vf_store(y + i, root_32(INVERSE, vf_load(x + i)));     \
    if (i < n) vf_store_part(y + i, root_32(INVERSE, vf_load_part(x + i, n - i)), n - i); \
  }
ROOT32(sqrt_run32, 0)
ROOT32(rsqrt_run32, 1)
#else
enum { ROOTS_OF32 = 0 };
static void (*const sqrt_run32)(const void *, const void *, void *, int64_t) = NULL;
static void (*const rsqrt_run32)(const void *, const void *, void *, int64_t) = NULL;
#endif

#endif
