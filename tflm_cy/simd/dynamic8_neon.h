/* dynamic8.h of aarch64, on all instruction sets: the steps of arithmetic/xnnpack/dynamic_range_neon.pxd. */
#ifndef TFLM_CY_SIMD_DYNAMIC8_NEON_H
#define TFLM_CY_SIMD_DYNAMIC8_NEON_H

#include <arm_neon.h>

enum { ROWS_NEON8 = 0x100 }; /* Rows; others are packed, in groups of as many values as the last byte says */

/* `vectors` is a constant. */
SIMD_INLINE void add_to_range(const float *x, const int vectors, float32x4_t *lows, float32x4_t *highs) {
  _Pragma("GCC unroll 4") for (int j = 0; j < vectors; j++) {
    const float32x4_t v = vld1q_f32(x + 4 * j);
    lows[j] = vminq_f32(lows[j], v);
    highs[j] = vmaxq_f32(highs[j], v);
  }
}

static Steps8 steps_of_row(const float *x, ptrdiff_t n, int rows) {
  const int packed = rows != ROWS_NEON8;
  const ptrdiff_t blocks = n - n % 8;
  float32x4_t lows[4], highs[4];
  Steps8 s;
  float low, high, zero;
  ptrdiff_t i = 0;
  _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) {
    lows[j] = vdupq_n_f32(INFINITY);
    highs[j] = vdupq_n_f32(-INFINITY);
  }
  for (; i + 16 <= blocks; i += 16) add_to_range(x + i, 4, lows, highs);
  if (i < blocks) {
    add_to_range(x + i, 2, lows, highs);
    i += 8;
  }
  low = vminvq_f32(vminq_f32(vminq_f32(lows[0], lows[1]), vminq_f32(lows[2], lows[3])));
  high = vmaxvq_f32(vmaxq_f32(vmaxq_f32(highs[0], highs[1]), vmaxq_f32(highs[2], highs[3])));
  for (; i < n; i++) {
    if (packed || x[i] == x[i]) {
      low = packed || low == low ? fminf(low, x[i]) : low;
      high = packed || high == high ? fmaxf(high, x[i]) : high;
    } else {
      low = high = NAN;
    }
  }
  low = fminf(0, low);
  high = fmaxf(0, high);
  s.scale = low == high ? 1.0f : 255.0f / (high - low);
  s.inverse = packed && s.scale == 0 ? 0.0f : 1.0f / s.scale;
  zero = (-128.0f + low * s.scale) + (127.0f + high * s.scale);
  zero = zero > 0 ? -128.0f - low * s.scale : 127.0f - high * s.scale;
  s.zero_point = (int32_t)rintf(fminf(fmaxf(zero, -128), 127));
  s.rows = rows;
  return s;
}

/* Eight values; `packed` is a constant. */
SIMD_INLINE int8x8_t bytes_of_values(const float *x, const int packed, float scale, int16x8_t zero) {
  const float32x4_t a = vmulq_n_f32(vld1q_f32(x), scale), b = vmulq_n_f32(vld1q_f32(x + 4), scale);
  const int16x4_t low = vqmovn_s32(packed ? vcvtaq_s32_f32(a) : vcvtnq_s32_f32(a));
  const int16x8_t words = vqmovn_high_s32(low, packed ? vcvtaq_s32_f32(b) : vcvtnq_s32_f32(b));
  return vqmovn_s16(packed ? vaddq_s16(words, zero) : vqaddq_s16(words, zero));
}

/* As many of n values as there are whole vectors; how many that are. */
SIMD_INLINE ptrdiff_t quantize_vectors(const float *x, ptrdiff_t n, const int packed, const Steps8 *s, uint8x8_t flip, uint8_t *y) {
  const int16x8_t zero = vdupq_n_s16((int16_t)s->zero_point);
  const float scale = s->scale;
  ptrdiff_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const int8x8_t low = bytes_of_values(x + i, packed, scale, zero), high = bytes_of_values(x + i + 8, packed, scale, zero);
    vst1q_u8(y + i, veorq_u8(vcombine_u8(vreinterpret_u8_s8(low), vreinterpret_u8_s8(high)), vcombine_u8(flip, flip)));
  }
  for (; i + 8 <= n; i += 8) vst1_u8(y + i, veor_u8(vreinterpret_u8_s8(bytes_of_values(x + i, packed, scale, zero)), flip));
  return i;
}

static int32_t byte_of_value(float x, const Steps8 *s) {
  const float v = x * s->scale;
  int64_t y = s->rows == ROWS_NEON8 ? vcvtns_s32_f32(v) : vcvtas_s32_f32(v);
  if (s->rows == ROWS_NEON8) y = y < -32768 ? -32768 : y > 32767 ? 32767 : y;
  y = (int32_t)(uint32_t)(y + s->zero_point);
  return y < -128 ? -128 : y > 127 ? 127 : (int32_t)y;
}

/* Unsigned: the int8 value plus 128. */
static void quantize_bytes(const float *x, ptrdiff_t n, const Steps8 *s, int is_signed, uint8_t *y) {
  const uint8x8_t flip = vdup_n_u8(is_signed ? 0 : 128);
  ptrdiff_t i;
  if (s->rows == ROWS_NEON8) {
    i = quantize_vectors(x, n, 0, s, flip, y);
  } else {
    const ptrdiff_t whole = n - n % (s->rows & 0xFF);
    i = quantize_vectors(x, whole, 1, s, flip, y);
    if (i + 4 <= whole) {
      float four[8] = {0};
      uint8x8_t bytes;
      memcpy(four, x + i, 4 * sizeof(float));
      bytes = veor_u8(vreinterpret_u8_s8(bytes_of_values(four, 1, s->scale, vdupq_n_s16((int16_t)s->zero_point))), flip);
      memcpy(y + i, &bytes, 4);
      i += 4;
    }
  }
  for (; i < n; i++) y[i] = (uint8_t)(byte_of_value(x[i], s) ^ (is_signed ? 0 : 128));
}
#endif
