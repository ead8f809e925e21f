/* The CPU's approximation of 1 / x, on aarch64 refined. Its bits are the vendor's (Arm's architecture defines them): the instruction is executed,
 * not modelled. Where there is none the quotient stands in. */
#ifndef TFLM_CY_RECIPROCAL_H
#define TFLM_CY_RECIPROCAL_H

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
/* Four at a time, with the step of Newton's iteration: what is NaN gets the approximation. */
static inline int64_t tflm_cy_inverses(float *y, int64_t n, int of_roots) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m128 given = _mm_loadu_ps(y + i), a = of_roots ? _mm_sqrt_ps(given) : given, x = _mm_rcp_ps(a);
    const __m128 rest = _mm_sub_ps(_mm_set1_ps(1), _mm_mul_ps(a, x)), known = _mm_cmpord_ps(rest, rest);
    const __m128 better = _mm_add_ps(x, _mm_mul_ps(x, rest));
    _mm_storeu_ps(y + i, _mm_or_ps(_mm_and_ps(known, better), _mm_andnot_ps(known, x)));
  }
  return i;
}
static inline float tflm_cy_reciprocal(float x) { return _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(x))); }
#elif defined(__aarch64__)
#include <arm_neon.h>
/* FRECPE and two steps of Newton's iteration, FRECPS, which know zeros and infinities. */
static inline int64_t tflm_cy_inverses(float *y, int64_t n, int of_roots) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float32x4_t given = vld1q_f32(y + i), a = of_roots ? vsqrtq_f32(given) : given;
    float32x4_t x = vrecpeq_f32(a);
    x = vmulq_f32(vrecpsq_f32(a, x), x);
    vst1q_f32(y + i, vmulq_f32(vrecpsq_f32(a, x), x));
  }
  return i;
}
static inline float tflm_cy_reciprocal(float a) {
  float x = vrecpes_f32(a);
  x = vrecpss_f32(a, x) * x;
  return vrecpss_f32(a, x) * x;
}
#else
static inline int64_t tflm_cy_inverses(float *y, int64_t n, int of_roots) { (void)y; (void)n; (void)of_roots; return 0; }
static inline float tflm_cy_reciprocal(float x) { return 1.0f / x; }
#endif

#endif
