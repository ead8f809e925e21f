/* dynamic8.h of aarch64, on all instruction sets: the steps of arithmetic/xnnpack/dynamic_range_neon.pxd. */
#ifndef TFLM_CY_SIMD_DYNAMIC8_NEON_H
#define TFLM_CY_SIMD_DYNAMIC8_NEON_H

#include <arm_neon.h>

enum { ROWS_NEON8 = 0x100 }; /* Rows; others are packed, in groups of as many values as the last byte says */

static Steps8 steps_of_row(const float *x, ptrdiff_t n, int rows) {
  const int packed = rows != ROWS_NEON8;
  const ptrdiff_t blocks = n - n % 8;
  float32x4_t lows = vdupq_n_f32(INFINITY), highs = vdupq_n_f32(-INFINITY), more_lows = lows, more_highs = highs;
  Steps8 s;
  float low, high, zero;
  ptrdiff_t i = 0;
  for (; i < blocks; i += 8) {
    const float32x4_t a = vld1q_f32(x + i), b = vld1q_f32(x + i + 4);
    lows = vminq_f32(lows, a);
    highs = vmaxq_f32(highs, a);
    more_lows = vminq_f32(more_lows, b);
    more_highs = vmaxq_f32(more_highs, b);
  }
  low = vminvq_f32(vminq_f32(lows, more_lows));
  high = vmaxvq_f32(vmaxq_f32(highs, more_highs));
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

/* Four values, as int16. */
SIMD_INLINE int16x4_t words_of_values(float32x4_t x, const Steps8 *s) {
  const float32x4_t v = vmulq_n_f32(x, s->scale);
  return vqmovn_s32(s->rows == ROWS_NEON8 ? vcvtnq_s32_f32(v) : vcvtaq_s32_f32(v));
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
  const int packed = s->rows != ROWS_NEON8;
  const int16x8_t zero = vdupq_n_s16((int16_t)s->zero_point);
  const uint8x8_t flip = vdup_n_u8(is_signed ? 0 : 128);
  const ptrdiff_t whole = packed ? n - n % (s->rows & 0xFF) : n;
  ptrdiff_t i = 0;
  for (; i + 8 <= whole; i += 8) {
    const int16x8_t q = vcombine_s16(words_of_values(vld1q_f32(x + i), s), words_of_values(vld1q_f32(x + i + 4), s));
    const int8x8_t bytes = vqmovn_s16(packed ? vaddq_s16(q, zero) : vqaddq_s16(q, zero));
    vst1_u8(y + i, veor_u8(vreinterpret_u8_s8(bytes), flip));
  }
  if (packed && i + 4 <= whole) {
    const int16x4_t q = vadd_s16(words_of_values(vld1q_f32(x + i), s), vget_low_s16(zero));
    const uint8x8_t bytes = veor_u8(vreinterpret_u8_s8(vqmovn_s16(vcombine_s16(q, q))), flip);
    for (int j = 0; j < 4; j++) y[i + j] = ((const uint8_t *)&bytes)[j];
    i += 4;
  }
  for (; i < n; i++) y[i] = (uint8_t)(byte_of_value(x[i], s) ^ (is_signed ? 0 : 128));
}
#endif
