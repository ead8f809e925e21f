/* The inner loops of depthwise_f32.pxi: one vector of channels of R output rows, along x.
 *
 * Of each filter column the (R - 1) * S + K inputs are loaded once and serve all R rows. The order of a sum is filter column, then row.
 * Packed weights of a vector: its biases, then K * K taps in that order. */
#ifndef TFLM_CY_SIMD_DEPTHWISE_F32_H
#define TFLM_CY_SIMD_DEPTHWISE_F32_H

#include "half.h"

typedef struct {
  const float *rows[16]; /* inputs of the output rows, at the vector's first channel */
  ptrdiff_t iw, ic, pad_w;
  ptrdiff_t first, end;  /* output columns */
  ptrdiff_t y_row;       /* floats from an output row to the next */
  ptrdiff_t n;           /* channels of the vector */
  vf low, high;
} Columns32;

typedef void (*DepthwiseF32Function)(const Columns32 *d, const float *w, float *y);

#define UNROLL32D _Pragma("GCC unroll 32")

/* LOADS32: an input serves several rows: a load each time, which compilers like to make part of the multiplication, takes as long as that. Half vectors
 * are loaded as fast as that.
 * ABREAST32: output columns side by side. The few sums of one would wait for each other, but with sixteen registers the taps must make room: RELOAD32.
 * ABREAST_HALVES32: of half vectors.
 * CACHED32: large images are walked in chunks that the first cache holds; measured, it pays with sixteen registers alone. */
#if SIMD_ISA == 512
#define LOADS32(K, S) (K == 3)
#define RELOAD32(K, S) 0
#define ABREAST32(K, S) 1
#define ABREAST_HALVES32(K, S) (K == 3 && S == 1 ? 2 : 1)
#define CACHED32(K, S) 0
#else
#define LOADS32(K, S) (S == 1)
#define RELOAD32(K, S) (K == 5 && S == 1)
#define ABREAST32(K, S) (K == 5 && S == 1 ? 2 : 1)
#define CACHED32(K, S) ((K) == 3 && (S) == 2)
#endif
enum { MOST_SUMS32 = 8 };

SIMD_INLINE vf vf_of(vf v) { return v; }

#define V vf
#include "depthwise_f32_columns.h"
#undef V
#if SIMD_ISA == 512
#define V vhalf
#include "depthwise_f32_columns.h"
#undef V
#endif

#define COLUMNS32_OF(NAME, V, K, S, R, ABREAST, PART) \
  static void NAME##_##K##S##R(const Columns32 *d, const float *w, float *y) { V##_columns32(K, S, R, ABREAST, PART, d, w, y); }
#if SIMD_ISA == 512
#define COLUMNS32(K, S, R) \
  COLUMNS32_OF(whole32, vf, K, S, R, ABREAST32(K, S), 0) COLUMNS32_OF(part32, vf, K, S, R, 1, 1) \
  COLUMNS32_OF(half32, vhalf, K, S, R, ABREAST_HALVES32(K, S), 0)
#else
#define COLUMNS32(K, S, R) COLUMNS32_OF(whole32, vf, K, S, R, ABREAST32(K, S), 0) COLUMNS32_OF(part32, vf, K, S, R, 1, 1)
#endif

COLUMNS32(3, 1, 1) COLUMNS32(3, 1, 2) COLUMNS32(3, 1, 3) COLUMNS32(3, 1, 4) COLUMNS32(3, 2, 1) COLUMNS32(3, 2, 2)
COLUMNS32(5, 1, 1) COLUMNS32(5, 1, 2) COLUMNS32(5, 1, 3) COLUMNS32(5, 1, 4) COLUMNS32(5, 2, 1) COLUMNS32(5, 2, 2)

#define NAMES32(P, K) {{0, P##_##K##11, P##_##K##12, P##_##K##13, P##_##K##14}, {0, P##_##K##21, P##_##K##22}}
/* [0: whole vectors, 1: part of one, 2: half ones][filter][stride][rows] */
static const DepthwiseF32Function depthwise_f32_functions[][2][2][5] = {
  {NAMES32(whole32, 3), NAMES32(whole32, 5)},
  {NAMES32(part32, 3), NAMES32(part32, 5)},
#if SIMD_ISA == 512
  {NAMES32(half32, 3), NAMES32(half32, 5)},
#endif
};

/* Outputs that follow each other, of T taps each, whose pointers are `step` apart: arithmetic/xnnpack/depthwise.pxd's depthwise_pixel, NV vectors of channels
 * from c on, the last one with n of them. */
SIMD_INLINE void pixels32(const int T, const int NV, const int PART, const float *const *at, ptrdiff_t step, ptrdiff_t pixels, const float *w,
                          const float *bias, ptrdiff_t channels, ptrdiff_t c, ptrdiff_t n, vf low, vf high, float *y) {
  vf taps[25][2], start[2];
  UNROLL32D for (int j = 0; j < NV; j++) {
    const int part = PART && j == NV - 1;
    const float *from = w + c + j * VL;
    start[j] = part ? vf_load_part(bias + c + j * VL, n) : vf_load(bias + c + j * VL);
    UNROLL32D for (int t = 0; t < T; t++) taps[t][j] = part ? vf_load_part(from + t * channels, n) : vf_load(from + t * channels);
  }
  for (y += c; pixels > 0; pixels--, at += step, y += channels) {
    vf a[2];
    UNROLL32D for (int j = 0; j < NV; j++) a[j] = start[j];
    UNROLL32D for (int t = 0; t < T; t++) {
      const float *from = at[t] + c;
      UNROLL32D for (int j = 0; j < NV; j++)
        a[j] = vf_fma_first(PART && j == NV - 1 ? vf_load_part(from + j * VL, n) : vf_load(from + j * VL), taps[t][j], a[j]);
    }
    UNROLL32D for (int j = 0; j < NV; j++) {
      const vf v = vf_min(high, vf_max(low, a[j]));
      if (PART && j == NV - 1) vf_store_part(y + j * VL, v, n);
      else vf_store(y + j * VL, v);
    }
  }
}

/* Some pixels at a time, so that what all their channels read and write stays in the first cache. Of 25 taps a vector's weights fill the registers. */
SIMD_INLINE void channels_of_pixels32(const int T, const float *const *at, ptrdiff_t step, ptrdiff_t pixels, const float *w, const float *bias,
                                      ptrdiff_t channels, vf low, vf high, float *y) {
  enum { VALUES = 4096, FEWEST = 4 };
  const ptrdiff_t most = VALUES / channels + FEWEST;
  for (; pixels > 0; at += most * step, y += most * channels, pixels -= most) {
    const ptrdiff_t now = pixels < most ? pixels : most;
    for (ptrdiff_t c = 0; c < channels;) {
      const ptrdiff_t left = channels - c;
#define PIXELS32(NV, PART, N) pixels32(T, NV, PART, at, step, now, w, bias, channels, c, N, low, high, y)
      if (T <= 9 && left >= 2 * VL) PIXELS32(2, 0, VL);
      else if (T <= 9 && left > VL) PIXELS32(2, 1, left - VL);
      else if (left >= VL) PIXELS32(1, 0, VL);
      else PIXELS32(1, 1, left);
#undef PIXELS32
      c += T <= 9 && left > VL ? 2 * VL : VL;
    }
  }
}

static int tile_of_pixels32(const float *const *at, ptrdiff_t step, ptrdiff_t pixels, ptrdiff_t tile, const float *w, const float *bias, ptrdiff_t channels,
                            vf low, vf high, float *y) {
  if (tile == 3) channels_of_pixels32(3, at, step, pixels, w, bias, channels, low, high, y);
  else if (tile == 4) channels_of_pixels32(4, at, step, pixels, w, bias, channels, low, high, y);
  else if (tile == 9) channels_of_pixels32(9, at, step, pixels, w, bias, channels, low, high, y);
  else if (tile == 25) channels_of_pixels32(25, at, step, pixels, w, bias, channels, low, high, y);
  else return 0;
  return 1;
}

SIMD_INLINE DepthwiseF32Function depthwise_f32_function(ptrdiff_t channels, ptrdiff_t k, ptrdiff_t stride, ptrdiff_t rows) {
  return depthwise_f32_functions[channels == VL ? 0 : channels == HALF ? 2 : 1][k == 5][stride == 2][rows];
}

#endif
