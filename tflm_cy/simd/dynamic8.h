/* Rows of floats to bytes with a scale and a zero point of their own: arithmetic/xnnpack/dynamic_range.pxd's quantize_row in vectors.
 *
 * The range is taken in that order: four accumulators of some lanes, then one, then single values, which shows with NaN only. */
#ifndef TFLM_CY_SIMD_DYNAMIC8_H
#define TFLM_CY_SIMD_DYNAMIC8_H

typedef struct {
  float scale, inverse, lowest, highest;
  int32_t zero_point;
  int rows; /* Rows of dynamic_range.pxd */
} Steps8;

#ifdef __aarch64__
#include "dynamic8_neon.h"
#else

static inline float simd_smaller(float a, float b) { return a < b ? a : b; }
static inline float simd_larger(float a, float b) { return a > b ? a : b; }

/* The range of a row in `lanes` lanes, a constant; in vectors, unless these are longer. */
SIMD_INLINE void range_of_row(const float *x, ptrdiff_t n, const int lanes, float *lows, float *highs) {
  enum { MOST = 64 / VL };
  const int quarter = lanes / VL;
  vf low[MOST], high[MOST];
  ptrdiff_t i = 0;
  if (quarter == 0) {
    for (int j = 0; j < 4 * lanes; j++) { lows[j] = INFINITY; highs[j] = -INFINITY; }
    for (; i + 4 * lanes <= n; i += 4 * lanes)
      for (int j = 0; j < 4 * lanes; j++) { lows[j] = simd_smaller(lows[j], x[i + j]); highs[j] = simd_larger(highs[j], x[i + j]); }
    for (int j = 0; j < lanes; j++) {
      lows[j] = simd_smaller(simd_smaller(lows[j], lows[lanes + j]), simd_smaller(lows[2 * lanes + j], lows[3 * lanes + j]));
      highs[j] = simd_larger(simd_larger(highs[j], highs[lanes + j]), simd_larger(highs[2 * lanes + j], highs[3 * lanes + j]));
    }
    for (; i + lanes <= n; i += lanes)
      for (int j = 0; j < lanes; j++) { lows[j] = simd_smaller(lows[j], x[i + j]); highs[j] = simd_larger(highs[j], x[i + j]); }
    for (; i < n; i++)
      for (int j = 0; j < lanes; j++) { lows[j] = simd_smaller(lows[j], x[i]); highs[j] = simd_larger(highs[j], x[i]); }
  } else {
    _Pragma("GCC unroll 16") for (int j = 0; j < 4 * quarter; j++) { low[j] = vf_set1(INFINITY); high[j] = vf_set1(-INFINITY); }
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      _Pragma("GCC unroll 16") for (int j = 0; j < 4 * quarter; j++) {
        const vf v = vf_load(x + i + j * VL);
        low[j] = vf_min(low[j], v);
        high[j] = vf_max(high[j], v);
      }
    }
    _Pragma("GCC unroll 16") for (int j = 0; j < quarter; j++) {
      low[j] = vf_min(vf_min(low[j], low[quarter + j]), vf_min(low[2 * quarter + j], low[3 * quarter + j]));
      high[j] = vf_max(vf_max(high[j], high[quarter + j]), vf_max(high[2 * quarter + j], high[3 * quarter + j]));
    }
    for (; i + lanes <= n; i += lanes) {
      _Pragma("GCC unroll 16") for (int j = 0; j < quarter; j++) {
        const vf v = vf_load(x + i + j * VL);
        low[j] = vf_min(low[j], v);
        high[j] = vf_max(high[j], v);
      }
    }
    for (; i < n; i++) {
      const vf v = vf_set1(x[i]);
      _Pragma("GCC unroll 16") for (int j = 0; j < quarter; j++) { low[j] = vf_min(low[j], v); high[j] = vf_max(high[j], v); }
    }
    _Pragma("GCC unroll 16") for (int j = 0; j < quarter; j++) { vf_store(lows + j * VL, low[j]); vf_store(highs + j * VL, high[j]); }
  }
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int j = 0; j < width; j++) {
      lows[j] = simd_smaller(lows[j], lows[width + j]);
      highs[j] = simd_larger(highs[j], highs[width + j]);
    }
}

static Steps8 steps_of_row(const float *x, ptrdiff_t n, int rows) {
  float lows[64], highs[64];
  Steps8 s;
  s.rows = rows;
  if (rows == 16) range_of_row(x, n, 16, lows, highs);
  else range_of_row(x, n, 8, lows, highs);
  const float least = simd_smaller(0, lows[0]), most = simd_larger(0, highs[0]);
  float zero;
  s.scale = least == most ? 1.0f : 255.0f / (most - least);
  zero = (-128.0f + least * s.scale) + (127.0f + most * s.scale);
  zero = zero > 0 ? -128.0f - least * s.scale : 127.0f - most * s.scale;
  zero = rintf(simd_smaller(simd_larger(zero, -128), 127));
  s.lowest = -128.0f - zero;
  s.highest = 127.0f - zero;
  s.zero_point = (int32_t)zero;
  s.inverse = 1.0f / s.scale;
  return s;
}

SIMD_INLINE vi simd_to_steps(vf x, const Steps8 *s) {
  const vf v = vf_min(vf_mul(x, vf_set1(s->scale)), vf_set1(s->highest));
  return vi_from_vf(vf_max(v, vf_set1(s->lowest)));
}

/* Unsigned: the int8 value plus 128. */
static void quantize_bytes(const float *x, ptrdiff_t n, const Steps8 *s, int is_signed, uint8_t *y) {
  const vb zero = vb_set1_16(s->zero_point + (is_signed ? 0 : 128));
  ptrdiff_t i = 0;
  for (; i < n; i += VB) {
    vi q[4];
    vb out;
    const ptrdiff_t left = n - i;
    if (left >= VB) {
      _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) q[j] = simd_to_steps(vf_load(x + i + j * VL), s);
    } else {
      for (int j = 0; j < 4; j++) {
        ptrdiff_t some = left - j * VL;
        some = some < 0 ? 0 : some > VL ? VL : some;
        q[j] = simd_to_steps(some > 0 ? vf_load_part(x + i + j * VL, some) : vf_set1(0), s);
      }
    }
    out = vb_unlane(is_signed ? vb_pack_s(q[0], q[1], q[2], q[3], zero) : vb_pack_u(q[0], q[1], q[2], q[3], zero));
    if (left >= VB) vb_store(y + i, out);
    else vb_store_part(y + i, out, left);
  }
}
#endif
#endif
