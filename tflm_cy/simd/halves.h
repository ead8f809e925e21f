/* float16 to float32. */
#ifndef TFLM_CY_SIMD_HALVES_H
#define TFLM_CY_SIMD_HALVES_H

#include "simd.h"

static void widen_halves(const void *how, const void *at_x, void *at_y, int64_t n) {
  const uint16_t *x = at_x;
  float *y = at_y;
  int64_t i = 0;
  (void)how;
  for (; i < n; i += VL) {
    uint16_t part[VL] = {0};
    const uint16_t *from = x + i;
    const int64_t m = n - i < VL ? n - i : VL;
    if (m < VL) from = memcpy(part, from, 2 * (size_t)m);
#if SIMD_ISA == 512
    vf_store_part(y + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from)), m);
#else
    vf_store_part(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)), m);
#endif
  }
}

#endif
