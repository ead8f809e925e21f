/* What the xnnpack arithmetic takes from the CPU itself: its approximations of reciprocals and their square roots, which are executed, not
 * modelled, and which of XNNPACK's generations of kernels for x86-64 TensorFlow would choose on it.
 *
 * The functions carry their own target, so that a file compiled for plain x86-64 may include this; call them only where
 * tflm_cy_cpu_has_... is true. On an instruction set that has not an approximation it is computed, and the CPU has nothing. */
#ifndef TFLM_CY_GENERATION_H
#define TFLM_CY_GENERATION_H

#include <math.h>
#include <stddef.h>

#include "x86.h"

static inline int tflm_cy_cpu_has_avx2_fma(void) { return x86_features() & X86_AVX2; }
static inline int tflm_cy_cpu_has_avx512f(void) { return x86_features() & X86_AVX512F; }
static inline int tflm_cy_cpu_has_avx512vnni(void) { return x86_features() & X86_AVX512_VNNI; }

/* Tiles of int8: of the quantized kernels the newest. */
static inline int tflm_cy_cpu_has_amx_int8(void) { return x86_features() & X86_AMX_INT8; }

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* VRSQRT14PS */
__attribute__((target("avx512f"))) static inline void tflm_cy_rsqrt14(const float *x, float *y, ptrdiff_t n) {
  ptrdiff_t i = 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(y + i, _mm512_rsqrt14_ps(_mm512_loadu_ps(x + i)));
  if (i < n) {
    __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    _mm512_mask_storeu_ps(y + i, rest, _mm512_rsqrt14_ps(_mm512_maskz_loadu_ps(rest, x + i)));
  }
}

/* RSQRTPS */
static inline void tflm_cy_rsqrtps(const float *x, float *y, ptrdiff_t n) {
  ptrdiff_t i = 0;
  for (; i + 4 <= n; i += 4) _mm_storeu_ps(y + i, _mm_rsqrt_ps(_mm_loadu_ps(x + i)));
  for (; i < n; i++) y[i] = _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(x[i])));
}

#else

static inline void tflm_cy_rsqrtps(const float *x, float *y, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) y[i] = 1.0f / sqrtf(x[i]);
}

static inline void tflm_cy_rsqrt14(const float *x, float *y, ptrdiff_t n) { tflm_cy_rsqrtps(x, y, n); }

#endif

#if defined(__aarch64__)
#include <arm_neon.h>

/* FRECPE; FRSQRTE, which of a float16 gives the same; FRECPS: 2 - a * b, rounded once */
static inline float tflm_cy_recpe(float x) { return vrecpes_f32(x); }
static inline float tflm_cy_rsqrte(float x) { return vrsqrtes_f32(x); }
static inline float tflm_cy_recps(float a, float b) { return vrecpss_f32(a, b); }
#else
static inline float tflm_cy_recpe(float x) { return 1.0f / x; }
static inline float tflm_cy_rsqrte(float x) { return 1.0f / sqrtf(x); }
static inline float tflm_cy_recps(float a, float b) { return fmaf(-a, b, 2.0f); }
#endif

#endif
