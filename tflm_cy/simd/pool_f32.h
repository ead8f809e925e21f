/* The loops of pool_f32.pxi: one pixel of a pool, vector by vector. */
#ifndef TFLM_CY_SIMD_POOL_F32_H
#define TFLM_CY_SIMD_POOL_F32_H

#include "float32.h"

/* The taps of a window are bytes from the pixel where it begins, in nines: windows inside of the image have the same ones. */
SIMD_INLINE vf tap32(const float *pixel, ptrdiff_t bytes, const int WHOLE, ptrdiff_t n) {
  const float *at = (const float *)((const char *)pixel + bytes);
  return WHOLE ? vf_load(at) : vf_load_part(at, n);
}
SIMD_INLINE void store32(float *y, vf v, const int WHOLE, ptrdiff_t n) {
  if (WHOLE) vf_store(y, v);
  else vf_store_part(y, v, n);
}

/* One pixel of MAX_POOL_2D: `groups` times nine taps, of which a short last group repeats its first. With four taps at most (the fourth repeats the
 * first where there are three), most of the maxima that this makes change nothing: they are left out, and so are the taps. In NEON the first of two NaN
 * comes out, a signalling one before others: there the repeated tap counts once it is quiet. */
SIMD_INLINE vf max_nine32(const float *x, const int64_t *taps, const int WHOLE, ptrdiff_t n) {
#define TAP32(i) tap32(x, taps[i], WHOLE, n)
  vf a = vf_maximum(TAP32(2), TAP32(3)), b = vf_maximum(TAP32(4), TAP32(5));
  vf d = vf_maximum(vf_maximum(TAP32(0), TAP32(1)), TAP32(8)), e = vf_maximum(TAP32(6), TAP32(7));
  return vf_maximum(vf_maximum(a, b), vf_maximum(d, e));
}

SIMD_INLINE vf max_few32(const float *x, const int64_t *taps, ptrdiff_t count, const int WHOLE, ptrdiff_t n) {
  const vf tap = TAP32(0), first = SIMD_ISA == 128 ? vf_maximum(tap, tap) : tap;
  const vf two = SIMD_ISA == 128 ? vf_maximum(tap, TAP32(1)) : vf_maximum(TAP32(1), tap);
  if (count == 2) return SIMD_ISA == 128 ? vf_maximum(first, two) : two;
  return vf_maximum(vf_maximum(vf_maximum(TAP32(2), TAP32(3)), first), two);
}

/* NV vectors of channels side by side, the last of which begins at `last`: a tap's are read at once, so that a window larger than a cache is read once.
 * Not WHOLE: the vector has n channels. */
#define AT32(j) ((j) == NV - 1 ? last : (j) * VL)
SIMD_INLINE void max_vectors32(
    const int NV, const int WHOLE, const float *x, const int64_t *taps, ptrdiff_t count, ptrdiff_t last, ptrdiff_t n, vf low, vf high, float *y) {
  const ptrdiff_t groups = (count + 8) / 9;
  vf best[4];
#pragma GCC unroll 4
  for (int j = 0; j < NV; j++) {
    const vf first = count <= 4 ? max_few32(x + AT32(j), taps, count, WHOLE, n) : max_nine32(x + AT32(j), taps, WHOLE, n);
    best[j] = vf_minimum(vf_maximum(first, low), high);
  }
  for (ptrdiff_t g = 1; g < groups; g++)
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) best[j] = vf_minimum(vf_maximum(best[j], max_nine32(x + AT32(j), taps + 9 * g, WHOLE, n)), high);
#pragma GCC unroll 4
  for (int j = 0; j < NV; j++) store32(y + AT32(j), best[j], WHOLE, n);
}

/* The last vector of a pixel with channels for one ends with them, and overlaps the one before. */
static void max_pixel32(const float *x, const int64_t *taps, ptrdiff_t count, ptrdiff_t channels, float low, float high, float *y) {
  const vf lows = vf_set1(low), highs = vf_set1(high);
  ptrdiff_t c = 0;
  if (channels < VL) {
    max_vectors32(1, 0, x, taps, count, 0, channels, lows, highs, y);
    return;
  }
  for (; c + 4 * VL <= channels; c += 4 * VL) max_vectors32(4, 1, x + c, taps, count, 3 * VL, VL, lows, highs, y + c);
  for (; c + VL < channels; c += 2 * VL) {
    const ptrdiff_t left = channels - c < 2 * VL ? channels - c : 2 * VL;
    max_vectors32(2, 1, x + c, taps, count, left - VL, VL, lows, highs, y + c);
  }
  if (c < channels) max_vectors32(1, 1, x + c, taps, count, channels - c - VL, VL, lows, highs, y + c);
}

SIMD_INLINE vf sum_nine32(const float *x, const int64_t *taps, const int WHOLE, ptrdiff_t n) {
  vf a = vf_add_first(TAP32(2), TAP32(3)), b = vf_add_first(TAP32(4), TAP32(5));
  vf d = vf_add_first(vf_add_first(TAP32(0), TAP32(1)), TAP32(8)), e = vf_add_first(TAP32(6), TAP32(7));
  return vf_add_first(vf_add_first(a, b), SIMD_ISA == 128 ? vf_add_first(e, d) : vf_add_first(d, e));
}

/* The zeros that two or four taps lack change nothing: +0 added to the total, which begins as +0. */
SIMD_INLINE vf sum_few32(const float *x, const int64_t *taps, ptrdiff_t count, const int WHOLE, ptrdiff_t n) {
  const vf two = vf_add_first(TAP32(0), TAP32(1));
  return count <= 2 ? two : vf_add_first(vf_add_first(TAP32(2), TAP32(3)), two);
}
#undef TAP32

/* One pixel of AVERAGE_POOL_2D: taps outside of the image, and those that a last nine lacks, are zeros. */
SIMD_INLINE void average_vectors32(
    const int NV, const int WHOLE, const float *x, const int64_t *taps, ptrdiff_t count, ptrdiff_t last, ptrdiff_t n, vf scale, vf low, vf high,
    float *y) {
  const ptrdiff_t groups = count <= 4 ? 0 : (count + 8) / 9;
  vf total[4];
#pragma GCC unroll 4
  for (int j = 0; j < NV; j++) {
    total[j] = vf_set1(0);
    if (groups == 0) total[j] = vf_add_first(total[j], sum_few32(x + AT32(j), taps, count, WHOLE, n));
  }
  for (ptrdiff_t g = 0; g < groups; g++, taps += 9)
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) {
      const vf sum = sum_nine32(x + AT32(j), taps, WHOLE, n);
      total[j] = SIMD_ISA == 128 && !WHOLE ? vf_add_first(sum, total[j]) : vf_add_first(total[j], sum);
    }
#pragma GCC unroll 4
  for (int j = 0; j < NV; j++) store32(y + AT32(j), vf_minimum(vf_maximum(vf_mul(total[j], scale), low), high), WHOLE, n);
}

/* As max_pixel32; in NEON what is left over adds up in another order, so that nothing overlaps. */
static void average_pixel32(
    const float *x, const int64_t *taps, ptrdiff_t count, ptrdiff_t channels, float scale, float low, float high, float *y) {
  const vf scales = vf_set1(scale), lows = vf_set1(low), highs = vf_set1(high);
  const ptrdiff_t whole = SIMD_ISA == 128 ? channels - channels % VL : channels < VL ? 0 : channels;
  ptrdiff_t c = 0;
  for (; c + 4 * VL <= whole; c += 4 * VL) average_vectors32(4, 1, x + c, taps, count, 3 * VL, VL, scales, lows, highs, y + c);
  for (; c + VL < whole; c += 2 * VL) {
    const ptrdiff_t left = whole - c < 2 * VL ? whole - c : 2 * VL;
    average_vectors32(2, 1, x + c, taps, count, left - VL, VL, scales, lows, highs, y + c);
  }
  if (c < whole) average_vectors32(1, 1, x + c, taps, count, whole - c - VL, VL, scales, lows, highs, y + c);
  if (whole < channels) average_vectors32(1, 0, x + whole, taps, count, 0, channels - whole, scales, lows, highs, y + whole);
}

#endif
