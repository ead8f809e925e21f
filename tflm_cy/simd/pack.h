/* Weights as the kernels read them: a matrix of floats, stored per column, turned so that the columns lie side by side. VL columns and VL
 * rows at a time; what is missing at the edges is 0. */
#ifndef TFLM_CY_SIMD_PACK_H
#define TFLM_CY_SIMD_PACK_H

#include "simd.h"

/* By how much a uint8 weight less its zero point leaves the range of int8; an int8 itself unless the zero point is 0. */
SIMD_INLINE int8_t far_by(uint8_t w, int zero_point) {
  const int v = w - zero_point;
  return (int8_t)(v < -128 ? v + 128 : v > 127 ? v - 127 : 0);
}

/* Does one of n weights? */
static int any_far(const uint8_t *w, ptrdiff_t n, int zero_point) {
  const int low = zero_point > 128 ? zero_point - 128 : 0, high = zero_point < 128 ? zero_point + 127 : 255;
  vb least = vb_set1(low), most = vb_set1(high);
  uint8_t lows[VB], highs[VB];
  int far = 0;
  for (; n > 0; n -= VB, w += VB) {
    if (n < VB) {
      for (int i = 0; i < n; i++) far |= w[i] < low || w[i] > high;
      break;
    }
    least = vb_min_u(least, vb_load(w));
    most = vb_max_u(most, vb_load(w));
  }
  vb_store(lows, least);
  vb_store(highs, most);
  for (int i = 0; i < VB; i++) far |= lows[i] < low || highs[i] > high;
  return far;
}

#if SIMD_ISA == 512
/* Dword q of register c becomes dword c of register q. */
SIMD_INLINE void turn_registers(__m512i a[16]) {
  __m512i b[16];
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  for (int j = 0; j < 4; j++) { /* a[4 * i + j]: dwords j, 4 + j, 8 + j, 12 + j of the columns 4 * i .. 4 * i + 3 */
    const __m512i low01 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0x88), high01 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0xDD);
    const __m512i low23 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0x88), high23 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0xDD);
    a[j] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    a[4 + j] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    a[8 + j] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
    a[12 + j] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
  }
}
#endif

/* y[q][c] = x[c][q] for VL columns of VL dwords, `x_row` and `y_row` bytes from one to the next. */
#if SIMD_ISA == 512
SIMD_INLINE void turn_block(const uint8_t *x, ptrdiff_t x_row, uint8_t *y, ptrdiff_t y_row) {
  __m512i a[16];
  for (int i = 0; i < 16; i++) a[i] = _mm512_loadu_si512(x + i * x_row);
  turn_registers(a);
  for (int i = 0; i < 16; i++) _mm512_storeu_si512(y + i * y_row, a[i]);
}
#elif SIMD_ISA == 256
SIMD_INLINE void turn_block(const uint8_t *x, ptrdiff_t x_row, uint8_t *y, ptrdiff_t y_row) {
  __m256i a[8], b[8];
  for (int i = 0; i < 8; i++) a[i] = _mm256_loadu_si256((const __m256i *)(x + i * x_row));
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm256_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm256_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm256_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  for (int j = 0; j < 4; j++) {
    _mm256_storeu_si256((__m256i *)(y + j * y_row), _mm256_permute2x128_si256(a[j], a[4 + j], 0x20));
    _mm256_storeu_si256((__m256i *)(y + (4 + j) * y_row), _mm256_permute2x128_si256(a[j], a[4 + j], 0x31));
  }
}
#else
SIMD_INLINE void turn_block(const uint8_t *x, ptrdiff_t x_row, uint8_t *y, ptrdiff_t y_row) {
  for (int c = 0; c < VL; c++)
    for (int q = 0; q < VL; q++) memcpy(y + q * y_row + 4 * c, x + c * x_row + 4 * q, 4);
}
#endif

/* `columns` columns of `bytes` bytes to (bytes + 3) / 4 rows; each row is written up to a multiple of VL columns. */
static void turn_dwords(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t columns, ptrdiff_t bytes, uint8_t *y, ptrdiff_t y_row) {
  uint8_t part[VL * 4 * VL], turned[VL * 4 * VL];
  for (ptrdiff_t c = 0; c < columns; c += VL) {
    const ptrdiff_t n = columns - c < VL ? columns - c : VL;
    for (ptrdiff_t k = 0; k < bytes; k += 4 * VL) {
      const ptrdiff_t length = bytes - k < 4 * VL ? bytes - k : 4 * VL;
      const uint8_t *from = x + c * x_row + k;
      uint8_t *to = y + k / 4 * y_row + 4 * c;
      if (n == VL && length == 4 * VL) {
        turn_block(from, x_row, to, y_row);
        continue;
      }
      memset(part, 0, sizeof part);
      for (ptrdiff_t i = 0; i < n; i++) memcpy(part + i * 4 * VL, from + i * x_row, (size_t)length);
      turn_block(part, 4 * VL, turned, 4 * VL);
      for (ptrdiff_t q = 0; 4 * q < length; q++) memcpy(to + q * y_row, turned + q * 4 * VL, 4 * VL);
    }
  }
}

#endif
