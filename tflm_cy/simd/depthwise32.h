/* The inner loops of depthwise32.pxi: one vector of channels of R output rows, along x.
 *
 * Of each filter column the (R - 1) * S + K inputs are loaded once and serve all R rows. The order of a sum is filter column, then row.
 * Packed weights of a vector: its biases, then K * K taps in that order. */
#ifndef TFLM_CY_SIMD_DEPTHWISE32_H
#define TFLM_CY_SIMD_DEPTHWISE32_H

#include "simd.h"

typedef struct {
  const float *rows[16]; /* inputs of the output rows, at the vector's first channel */
  ptrdiff_t iw, ic, pad_w;
  ptrdiff_t first, end;  /* output columns */
  ptrdiff_t y_row;       /* floats from an output row to the next */
  ptrdiff_t n;           /* channels of the vector */
  vf low, high;
} Columns32;

typedef void (*Depthwise32Function)(const Columns32 *d, const float *w, float *y);

#define UNROLL32D _Pragma("GCC unroll 32")

/* An input serves several rows: a load each time, which compilers like to make part of the multiplication, takes as long as that. */
#if SIMD_ISA == 512
#define LOADED32(x) __asm__("" : "+v"(x))
#else
#define LOADED32(x) (void)0
#endif

SIMD_INLINE void column32(
    const int K, const int S, const int R, const int PART, const int CHECK, const Columns32 *d, const float *const *rows, const vf *taps, vf bias,
    vf low, vf high, ptrdiff_t ox, float *y) {
  const ptrdiff_t ic = d->ic, left = ox * S - d->pad_w;
  vf acc[4];
  UNROLL32D for (int r = 0; r < R; r++) acc[r] = bias;
  UNROLL32D for (int kx = 0; kx < K; kx++) {
    const ptrdiff_t ix = left + kx, at = ix * ic;
    const int outside = CHECK && (ix < 0 || ix >= d->iw);
    UNROLL32D for (int i = 0; i < (R - 1) * S + K; i++) {
      vf x;
      if (CHECK && outside) x = vf_set1(0);
      else x = PART ? vf_load_part(rows[i] + at, d->n) : vf_load(rows[i] + at);
      if (K == 3) LOADED32(x);
      UNROLL32D for (int r = 0; r < R; r++) {
        const int ky = i - r * S;
        if (ky >= 0 && ky < K) acc[r] = vf_fma(x, taps[kx * K + ky], acc[r]);
      }
    }
  }
  UNROLL32D for (int r = 0; r < R; r++) {
    vf v = K == 3 ? vf_min(high, vf_max(low, acc[r])) : vf_min(d->high, vf_max(d->low, acc[r])); /* larger filters need all registers */
    if (PART) vf_store_part(y + r * d->y_row, v, d->n);
    else vf_store(y + r * d->y_row, v);
  }
}

SIMD_INLINE void columns32(const int K, const int S, const int R, const int PART, const Columns32 *d, const float *w, float *y) {
  const float *rows[16];
  vf taps[25];
  const vf bias = vf_load(w), low = d->low, high = d->high;
  const ptrdiff_t ic = d->ic;
  ptrdiff_t ox = d->first, inside;
  UNROLL32D for (int i = 0; i < (R - 1) * S + K; i++) rows[i] = d->rows[i];
  UNROLL32D for (int i = 0; i < K * K; i++) taps[i] = vf_load(w + (1 + i) * VL);
  for (; ox < d->end && ox * S < d->pad_w; ox++) column32(K, S, R, PART, 1, d, rows, taps, bias, low, high, ox, y + ox * ic);
  inside = d->iw + d->pad_w - K >= 0 ? (d->iw + d->pad_w - K) / S + 1 : 0;
  if (inside > d->end) inside = d->end;
  for (; ox < inside; ox++) column32(K, S, R, PART, 0, d, rows, taps, bias, low, high, ox, y + ox * ic);
  for (; ox < d->end; ox++) column32(K, S, R, PART, 1, d, rows, taps, bias, low, high, ox, y + ox * ic);
}

#define COLUMNS32(K, S, R) \
  static void columns32_##K##S##R(const Columns32 *d, const float *w, float *y) { columns32(K, S, R, 0, d, w, y); } \
  static void columns32_part_##K##S##R(const Columns32 *d, const float *w, float *y) { columns32(K, S, R, 1, d, w, y); }

COLUMNS32(3, 1, 1) COLUMNS32(3, 1, 2) COLUMNS32(3, 1, 3) COLUMNS32(3, 1, 4) COLUMNS32(3, 2, 1) COLUMNS32(3, 2, 2)
COLUMNS32(5, 1, 1) COLUMNS32(5, 1, 2) COLUMNS32(5, 1, 3) COLUMNS32(5, 1, 4) COLUMNS32(5, 2, 1) COLUMNS32(5, 2, 2)

#define NAMES32(P, K) { {0, P##K##11, P##K##12, P##K##13, P##K##14}, {0, P##K##21, P##K##22} }
static const Depthwise32Function depthwise32_functions[2][2][2][5] = {
  {NAMES32(columns32_, 3), NAMES32(columns32_, 5)}, {NAMES32(columns32_part_, 3), NAMES32(columns32_part_, 5)}};

SIMD_INLINE Depthwise32Function depthwise32_function(int part, ptrdiff_t k, ptrdiff_t stride, ptrdiff_t rows) {
  return depthwise32_functions[part][k == 5][stride == 2][rows];
}

#endif
