/* Each byte of a row so many times: the channels of a depthwise convolution with a multiplier. */
#ifndef TFLM_CY_SIMD_REPEAT_BYTES_H
#define TFLM_CY_SIMD_REPEAT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "simd.h"

enum { REPEAT_BLOCK = 16, REPEAT_MOST = 16 };

#if defined(__SSSE3__) || defined(__aarch64__)
/* Vector k of a block's outputs takes its byte i from input (16 * k + i) / times. */
static void repeat_places(ptrdiff_t times, uint8_t *places) {
  ptrdiff_t from = 0, left = times;
  for (ptrdiff_t i = 0; i < REPEAT_BLOCK * times; i++) {
    places[i] = (uint8_t)from;
    if (--left == 0) from++, left = times;
  }
}

SIMD_INLINE void repeat_block(const uint8_t *x, const uint8_t *places, const ptrdiff_t times, uint8_t *y) {
#if defined(__SSSE3__)
  const __m128i v = _mm_loadu_si128((const __m128i *)x);
  for (ptrdiff_t k = 0; k < REPEAT_BLOCK * times; k += REPEAT_BLOCK)
    _mm_storeu_si128((__m128i *)(y + k), _mm_shuffle_epi8(v, _mm_loadu_si128((const __m128i *)(places + k))));
#else
  const uint8x16_t v = vld1q_u8(x);
  for (ptrdiff_t k = 0; k < REPEAT_BLOCK * times; k += REPEAT_BLOCK) vst1q_u8(y + k, vqtbl1q_u8(v, vld1q_u8(places + k)));
#endif
}

SIMD_INLINE void repeat_blocks(const uint8_t *x, ptrdiff_t rows, ptrdiff_t n, const uint8_t *places, const ptrdiff_t times, uint8_t *y,
                               ptrdiff_t y_row) {
  const uint8_t *const x_end = x + rows * n;
  uint8_t *const y_end = y + (rows - 1) * y_row + n * times;
  for (; rows > 0; rows--, x += n, y += y_row) {
    ptrdiff_t i = 0;
    for (; i < n && x + i + REPEAT_BLOCK <= x_end && y + (i + REPEAT_BLOCK) * times <= y_end; i += REPEAT_BLOCK)
      repeat_block(x + i, places, times, y + i * times);
    for (; i < n; i += REPEAT_BLOCK) {
      const ptrdiff_t rest = n - i < REPEAT_BLOCK ? n - i : REPEAT_BLOCK;
      uint8_t from[REPEAT_BLOCK] = {0}, to[REPEAT_BLOCK * REPEAT_MOST];
      memcpy(from, x + i, (size_t)rest);
      repeat_block(from, places, times, to);
      memcpy(y + i * times, to, (size_t)(rest * times));
    }
  }
}
#endif

/* Rows of n bytes, one after the other, each to times * n bytes of y. What lies between these in y gets any values. */
static void repeat_rows(const uint8_t *x, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t times, uint8_t *y, ptrdiff_t y_row) {
#if defined(__SSSE3__) || defined(__aarch64__)
  uint8_t places[REPEAT_BLOCK * REPEAT_MOST];
  if (times <= REPEAT_MOST) {
    repeat_places(times, places);
    if (times == 2) repeat_blocks(x, rows, n, places, 2, y, y_row);
    else if (times == 3) repeat_blocks(x, rows, n, places, 3, y, y_row);
    else if (times == 4) repeat_blocks(x, rows, n, places, 4, y, y_row);
    else repeat_blocks(x, rows, n, places, times, y, y_row);
    return;
  }
#endif
  for (; rows > 0; rows--, x += n, y += y_row)
    for (ptrdiff_t i = 0; i < n; i++) memset(y + i * times, x[i], (size_t)times);
}
#endif
