/* Matrices of dwords, transposed: VL rows and VL columns at a time. */
#ifndef TFLM_CY_SIMD_TRANSPOSE_REGISTERS_H
#define TFLM_CY_SIMD_TRANSPOSE_REGISTERS_H

#include "simd.h"

#define TRANSPOSE_UNROLLED _Pragma("GCC unroll 16") /* registers have no index */

#if SIMD_ISA >= 128
/* Dword q of register c becomes dword c of register q. */
SIMD_INLINE void transpose_registers(vb a[VL]) {
  vb b[VL];
  TRANSPOSE_UNROLLED for (int i = 0; i < VL; i += 2) {
    b[i] = vb_zip32_low(a[i], a[i + 1]);
    b[i + 1] = vb_zip32_high(a[i], a[i + 1]);
  }
  TRANSPOSE_UNROLLED for (int i = 0; i < VL; i += 4) { /* a[i + j]: dwords j, 4 + j, ... of the columns i .. i + 3 */
    a[i] = vb_zip64_low(b[i], b[i + 2]);
    a[i + 1] = vb_zip64_high(b[i], b[i + 2]);
    a[i + 2] = vb_zip64_low(b[i + 1], b[i + 3]);
    a[i + 3] = vb_zip64_high(b[i + 1], b[i + 3]);
  }
#if SIMD_ISA >= 256
  TRANSPOSE_UNROLLED for (int j = 0; j < 4; j++) {
#if SIMD_ISA == 512
    const vb low01 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0x88), high01 = _mm512_shuffle_i32x4(a[j], a[4 + j], 0xDD);
    const vb low23 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0x88), high23 = _mm512_shuffle_i32x4(a[8 + j], a[12 + j], 0xDD);
    a[j] = _mm512_shuffle_i32x4(low01, low23, 0x88);
    a[4 + j] = _mm512_shuffle_i32x4(high01, high23, 0x88);
    a[8 + j] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
    a[12 + j] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
#else
    const vb low = a[j], high = a[4 + j];
    a[j] = _mm256_permute2x128_si256(low, high, 0x20);
    a[4 + j] = _mm256_permute2x128_si256(low, high, 0x31);
#endif
  }
#endif
}
#endif

/* y[q][c] = x[c][q] for VL columns of VL dwords, `x_row` and `y_row` bytes from one to the next. */
SIMD_INLINE void turn_block(const uint8_t *x, ptrdiff_t x_row, uint8_t *y, ptrdiff_t y_row) {
#if SIMD_ISA >= 128
  vb a[VL];
  TRANSPOSE_UNROLLED for (int i = 0; i < VL; i++) a[i] = vb_load(x + i * x_row);
  transpose_registers(a);
  TRANSPOSE_UNROLLED for (int i = 0; i < VL; i++) vb_store(y + i * y_row, a[i]);
#else
  for (int c = 0; c < VL; c++)
    for (int q = 0; q < VL; q++) memcpy(y + q * y_row + 4 * c, x + c * x_row + 4 * q, 4);
#endif
}

#if SIMD_ISA >= 128
/* A part of a block: m dwords of each of n columns; those that are missing are 0. */
SIMD_INLINE void turn_part(const uint8_t *x, int64_t x_row, int64_t n, int64_t m, uint8_t *y, int64_t y_row) {
  vb a[VL];
  TRANSPOSE_UNROLLED for (int i = 0; i < VL; i++) a[i] = vi_load_part((const int32_t *)(x + (i < n ? i : 0) * x_row), i < n ? m : 0);
  transpose_registers(a);
  TRANSPOSE_UNROLLED for (int i = 0; i < VL; i++) {
    if (i >= m) break;
    vb_store(y + i * y_row, a[i]);
  }
}
#endif

#endif
