/* Weights as the kernels read them: a matrix of floats, stored per column, turned so that the columns lie side by side. VL columns and VL
 * rows at a time; what is missing at the edges is 0. */
#ifndef TFLM_CY_SIMD_PACK_H
#define TFLM_CY_SIMD_PACK_H

#include "transpose_registers.h"

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

#if SIMD_ISA >= 128
/* n columns of `bytes` bytes, at most VL dwords of each; what is missing of VL columns is 0. */
SIMD_INLINE void turn_few(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t n, ptrdiff_t bytes, uint8_t *y, ptrdiff_t y_row) {
  vb a[VL];
  TRANSPOSE_UNROLLED for (int i = 0; i < VL; i++) {
    if (i >= n) a[i] = vb_set1(0);
    else if (bytes % 4) a[i] = vb_load_part(x + i * x_row, bytes);
    else a[i] = vi_load_part((const int32_t *)(x + i * x_row), bytes / 4);
  }
  transpose_registers(a);
  TRANSPOSE_UNROLLED for (int i = 0; i < VL; i++) {
    if (4 * i >= bytes) break;
    vb_store(y + i * y_row, a[i]);
  }
}
#else
SIMD_INLINE void turn_few(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t n, ptrdiff_t bytes, uint8_t *y, ptrdiff_t y_row) {
  uint8_t part[VL * 4 * VL], turned[VL * 4 * VL];
  memset(part, 0, sizeof part);
  for (ptrdiff_t i = 0; i < n; i++) memcpy(part + i * 4 * VL, x + i * x_row, (size_t)bytes);
  turn_block(part, 4 * VL, turned, 4 * VL);
  for (ptrdiff_t q = 0; 4 * q < bytes; q++) memcpy(y + q * y_row, turned + q * 4 * VL, 4 * VL);
}
#endif

/* `columns` columns of `bytes` bytes to (bytes + 3) / 4 rows; each row is written up to a multiple of VL columns. */
static void turn_dwords(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t columns, ptrdiff_t bytes, uint8_t *y, ptrdiff_t y_row) {
  for (ptrdiff_t c = 0; c < columns; c += VL) {
    const ptrdiff_t n = columns - c < VL ? columns - c : VL;
    for (ptrdiff_t k = 0; k < bytes; k += 4 * VL) {
      const ptrdiff_t length = bytes - k < 4 * VL ? bytes - k : 4 * VL;
      const uint8_t *from = x + c * x_row + k;
      uint8_t *to = y + k / 4 * y_row + 4 * c;
      if (n == VL && length == 4 * VL) turn_block(from, x_row, to, y_row);
      else turn_few(from, x_row, n, length, to, y_row);
    }
  }
}

#endif
