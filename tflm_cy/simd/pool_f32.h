/* The loops of pool_f32.pxi: one pixel of a pool, vector by vector. */
#ifndef TFLM_CY_SIMD_POOL_F32_H
#define TFLM_CY_SIMD_POOL_F32_H

#include "float32.h"

/* One pixel of MAX_POOL_2D: `groups` times nine taps, of which a short last group repeats its first. With two or four taps only, most of the maxima that
 * this makes change nothing: they are left out, and so are the taps. */
#define TAP32(i) (n >= VL ? vf_load(v[i] + c) : vf_load_part(v[i] + c, n))
SIMD_INLINE vf max_nine32(const float *const *v, ptrdiff_t c, ptrdiff_t n) {
  vf a = vf_maximum(TAP32(2), TAP32(3)), b = vf_maximum(TAP32(4), TAP32(5));
  vf d = vf_maximum(vf_maximum(TAP32(0), TAP32(1)), TAP32(8)), e = vf_maximum(TAP32(6), TAP32(7));
  return vf_maximum(vf_maximum(a, b), vf_maximum(d, e));
}

SIMD_INLINE vf max_few32(const float *const *v, ptrdiff_t taps, ptrdiff_t c, ptrdiff_t n) {
  const vf first = TAP32(0), two = vf_maximum(TAP32(1), first);
  return taps == 2 ? two : vf_maximum(vf_maximum(vf_maximum(TAP32(2), TAP32(3)), first), two);
}
#undef TAP32

/* NV vectors of channels side by side: a tap's are read at once, so that a window larger than a cache is read once. n channels are left. */
SIMD_INLINE void max_vectors32(const int NV, const float *const *v, ptrdiff_t taps, ptrdiff_t groups, ptrdiff_t c, ptrdiff_t n, vf low, vf high, float *y) {
  vf best[4];
#pragma GCC unroll 4
  for (int j = 0; j < NV; j++) {
    const vf first = taps == 2 || taps == 4 ? max_few32(v, taps, c + j * VL, n - j * VL) : max_nine32(v, c + j * VL, n - j * VL);
    best[j] = vf_minimum(vf_maximum(first, low), high);
  }
  for (ptrdiff_t g = 1; g < groups; g++)
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) best[j] = vf_minimum(vf_maximum(best[j], max_nine32(v + 9 * g, c + j * VL, n - j * VL)), high);
#pragma GCC unroll 4
  for (int j = 0; j < NV; j++) {
    if (n - j * VL >= VL) vf_store(y + c + j * VL, best[j]);
    else vf_store_part(y + c + j * VL, best[j], n - j * VL);
  }
}

static void max_pixel32(const float *const *v, ptrdiff_t taps, ptrdiff_t groups, ptrdiff_t channels, float low, float high, float *y) {
  const vf lows = vf_set1(low), highs = vf_set1(high);
  ptrdiff_t c = 0;
  if (groups > 1) {
    for (; c + 4 * VL <= channels; c += 4 * VL) max_vectors32(4, v, taps, groups, c, 4 * VL, lows, highs, y);
    for (; c + VL < channels; c += 2 * VL) max_vectors32(2, v, taps, groups, c, channels - c, lows, highs, y);
  }
  for (; c + VL <= channels; c += VL) max_vectors32(1, v, taps, groups, c, VL, lows, highs, y);
  if (c < channels) max_vectors32(1, v, taps, groups, c, channels - c, lows, highs, y);
}

/* One pixel of AVERAGE_POOL_2D: a window from the pixel at `image`, taps in nines, filter column by filter column. Of `rows` x `columns` taps
 * those from (top, left) on up to (bottom, right) lie inside of the image; the others, and those that a last nine lacks, are `zeros`. */
typedef struct {
  const float *image, *zeros;
  ptrdiff_t row, pixel; /* floats to the next row, and column */
  ptrdiff_t rows, columns, top, bottom, left, right;
  float scale, low, high;
} Average32;

SIMD_INLINE void average_vectors32(const int NV, const Average32 *p, ptrdiff_t c, ptrdiff_t n, float *y) {
  const vf scale = vf_set1(p->scale), low = vf_set1(p->low), high = vf_set1(p->high);
  const float *column = p->image + c, *at = column, *const zeros = p->zeros + c;
  const int inside = p->top == 0 && p->bottom == p->rows && p->left == 0 && p->right == p->columns;
  ptrdiff_t row = 0, left = p->columns, x = 0;
  vf total[4];
#pragma GCC unroll 4
  for (int j = 0; j < NV; j++) total[j] = vf_set1(0);
  while (left > 0) {
    const float *v[9];
    for (int i = 0; i < 9; i++) {
      v[i] = left > 0 && (inside || (row >= p->top && row < p->bottom && x >= p->left && x < p->right)) ? at : zeros;
      at += p->row;
      if (++row == p->rows) {
        row = 0;
        at = column += p->pixel;
        left--;
        x++;
      }
    }
#define TAP32(i) (j < NV - 1 || n == NV * VL ? vf_load(v[i] + j * VL) : vf_load_part(v[i] + j * VL, n - j * VL))
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) {
      vf a = vf_add_first(TAP32(2), TAP32(3)), b = vf_add_first(TAP32(4), TAP32(5));
      vf d = vf_add_first(vf_add_first(TAP32(0), TAP32(1)), TAP32(8)), e = vf_add_first(TAP32(6), TAP32(7));
      total[j] = vf_add_first(total[j], vf_add_first(vf_add_first(a, b), vf_add_first(d, e)));
    }
#undef TAP32
  }
#pragma GCC unroll 4
  for (int j = 0; j < NV; j++) {
    vf v = vf_minimum(vf_maximum(vf_mul(total[j], scale), low), high);
    if (j < NV - 1 || n == NV * VL) vf_store(y + j * VL, v);
    else vf_store_part(y + j * VL, v, n - j * VL);
  }
}

static void average_pixel32(const Average32 *p, ptrdiff_t channels, float *y) {
  ptrdiff_t c = 0;
  for (; c + 4 * VL <= channels; c += 4 * VL) average_vectors32(4, p, c, 4 * VL, y + c);
  for (; c + VL < channels; c += 2 * VL) average_vectors32(2, p, c, channels - c < 2 * VL ? channels - c : 2 * VL, y + c);
  if (c < channels) average_vectors32(1, p, c, channels - c, y + c);
}

#endif
