/* The first n floats of a vector of eight, for code with AVX: its masked store takes some processors as long as a dozen others. */
#ifndef TFLM_CY_STORE_PART_H
#define TFLM_CY_STORE_PART_H

#ifdef __AVX__
#include <immintrin.h>
#include <stddef.h>
#include <string.h>

static inline __attribute__((always_inline, unused)) void tflm_cy_store_part(float *p, __m256 a, ptrdiff_t n) {
  __m128 left = _mm256_castps256_ps128(a);
  if (n <= 0) return;
  if (n >= 8) {
    _mm256_storeu_ps(p, a);
    return;
  }
  if (n & 4) {
    _mm_storeu_ps(p, left);
    left = _mm256_extractf128_ps(a, 1);
    p += 4;
  }
  if (n & 2) {
    const double two = _mm_cvtsd_f64(_mm_castps_pd(left)); /* p may be any address */
    memcpy(p, &two, 8);
    left = _mm_movehl_ps(left, left);
    p += 2;
  }
  if (n & 1) {
    const float one = _mm_cvtss_f32(left);
    memcpy(p, &one, 4);
  }
}
#endif
#endif
