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

/* `columns` columns of `bytes` bytes to (bytes + 3) / 4 rows; each row is written up to a multiple of VL columns. With vectors only of whole dwords. */
static void turn_dwords(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t columns, ptrdiff_t bytes, uint8_t *y, ptrdiff_t y_row) {
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
#if SIMD_ISA >= 128
      turn_part(from, x_row, n, length / 4, to, y_row);
#else
      uint8_t part[VL * 4 * VL] = {0}, turned[VL * 4 * VL];
      for (ptrdiff_t i = 0; i < n; i++) memcpy(part + i * 4 * VL, from + i * x_row, (size_t)length);
      turn_block(part, 4 * VL, turned, 4 * VL);
      for (ptrdiff_t q = 0; 4 * q < length; q++) memcpy(to + q * y_row, turned + q * 4 * VL, 4 * VL);
#endif
    }
  }
}

#endif
