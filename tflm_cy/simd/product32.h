/* The register tiles of product32.pxi: R positions times NC vectors of columns (output channels), one chain of fused multiply-adds each.
 *
 * Packed weights: NC vectors of biases, then NC vectors per tap. The positions of a tile lie `row` bytes apart; a window is `count` stretches of
 * `length` floats, which begin at the pointers of `stretches`, for the first position of the output row.
 * Three positions share a pointer, so that the pointers of fourteen stay in registers. */
#ifndef TFLM_CY_SIMD_PRODUCT32_H
#define TFLM_CY_SIMD_PRODUCT32_H

#include "simd.h"

#if SIMD_ISA == 512
enum { PANEL32 = 4, TALL_PANEL32 = 2, FEW_ROWS32 = 6 }; /* vectors of a panel; where there are more than some positions, at least */
#define SIMD_ROWS32 {0, 14, 12, 8, 6, 1, 1, 1, 1}
#else
enum { PANEL32 = 2, TALL_PANEL32 = 2, FEW_ROWS32 = 6 };
#define SIMD_ROWS32 {0, 8, 6, 1, 1, 1, 1, 1, 1}
#endif
enum { WIDE_PANEL32 = 8 };      /* for a single position */
static const int most_rows32[WIDE_PANEL32 + 1] = SIMD_ROWS32; /* positions of a tile, by the vectors of its panel */

typedef struct {
  const float *const *stretches;
  ptrdiff_t count;
  ptrdiff_t length;
  ptrdiff_t row;        /* bytes from a position to the next */
  ptrdiff_t y_row;      /* floats from a position to the next */
  vf low, high;
} Window32;

/* A tile: `first` counts in floats from the stretches' pointers; n columns are stored. */
typedef void (*Tile32)(const Window32 *t, ptrdiff_t first, const float *w, ptrdiff_t n, float *y);

#ifndef AHEAD32
#define AHEAD32 512 /* floats from the weights in use to those that should be on their way */
#endif
#define UNROLL32 _Pragma("GCC unroll 16")

SIMD_INLINE void tile32(const int R, const int NC, const Window32 *t, ptrdiff_t first, const float *w, ptrdiff_t n, float *y) {
  vf acc[14][8];
  const ptrdiff_t row = t->row;
  UNROLL32 for (int j = 0; j < NC; j++) {
    vf bias = vf_load(w + j * VL);
    UNROLL32 for (int r = 0; r < R; r++) acc[r][j] = bias;
  }
  w += NC * VL;
  for (ptrdiff_t s = 0; s < t->count; s++) {
    const char *q0 = (const char *)(t->stretches[s] + first);
    const char *q1 = q0 + (R > 3 ? 3 * row : 0);
    const char *q2 = q1 + (R > 6 ? 3 * row : 0);
    const char *q3 = q2 + (R > 9 ? 3 * row : 0);
    const char *q4 = q3 + (R > 12 ? 3 * row : 0);
    for (ptrdiff_t k = t->length; k > 0; k--) {
      vf v[8];
      UNROLL32 for (int j = 0; j < NC; j++) {
        v[j] = vf_load(w + j * VL);
        if (R > 2) simd_prefetch(w + j * VL + AHEAD32); /* fewer positions do nothing but load */
      }
      UNROLL32 for (int r = 0; r < R; r++) {
        const char *q = r < 3 ? q0 : r < 6 ? q1 : r < 9 ? q2 : r < 12 ? q3 : q4;
        vf x = vf_set1(*(const float *)(q + r % 3 * row));
        UNROLL32 for (int j = 0; j < NC; j++) acc[r][j] = vf_fma(x, v[j], acc[r][j]);
      }
      w += NC * VL;
      q0 += 4;
      q1 += 4;
      q2 += 4;
      q3 += 4;
      q4 += 4;
    }
  }
  const vf low = t->low, high = t->high;
  UNROLL32 for (int r = 0; r < R; r++) {
    float *out = y + r * t->y_row;
    UNROLL32 for (int j = 0; j < NC; j++) {
      vf v = vf_min(high, vf_max(low, acc[r][j]));
      if (j < NC - 1 || n == NC * VL) vf_store(out + j * VL, v);
      else vf_store_part(out + j * VL, v, n - j * VL);
    }
  }
}

#define TILE32(R, NC) \
  static void tile32_##R##x##NC(const Window32 *t, ptrdiff_t first, const float *w, ptrdiff_t n, float *y) { tile32(R, NC, t, first, w, n, y); }
#define TILES32_6(NC) TILE32(1, NC) TILE32(2, NC) TILE32(3, NC) TILE32(4, NC) TILE32(5, NC) TILE32(6, NC)
#define NAMES32_6(NC) 0, tile32_1x##NC, tile32_2x##NC, tile32_3x##NC, tile32_4x##NC, tile32_5x##NC, tile32_6x##NC

TILE32(1, 5) TILE32(1, 6) TILE32(1, 7) TILE32(1, 8)
TILES32_6(1) TILE32(7, 1) TILE32(8, 1)
TILES32_6(2)
#if SIMD_ISA == 512
TILE32(9, 1) TILE32(10, 1) TILE32(11, 1) TILE32(12, 1) TILE32(13, 1) TILE32(14, 1)
TILE32(7, 2) TILE32(8, 2) TILE32(9, 2) TILE32(10, 2) TILE32(11, 2) TILE32(12, 2)
TILES32_6(3) TILE32(7, 3) TILE32(8, 3)
TILES32_6(4)
static const Tile32 tiles32[WIDE_PANEL32 + 1][15] = {
  {0},
  {NAMES32_6(1), tile32_7x1, tile32_8x1, tile32_9x1, tile32_10x1, tile32_11x1, tile32_12x1, tile32_13x1, tile32_14x1},
  {NAMES32_6(2), tile32_7x2, tile32_8x2, tile32_9x2, tile32_10x2, tile32_11x2, tile32_12x2},
  {NAMES32_6(3), tile32_7x3, tile32_8x3},
  {NAMES32_6(4)},
  {0, tile32_1x5}, {0, tile32_1x6}, {0, tile32_1x7}, {0, tile32_1x8},
};
#else
TILE32(1, 3) TILE32(1, 4)
static const Tile32 tiles32[WIDE_PANEL32 + 1][15] = {
  {0},
  {NAMES32_6(1), tile32_7x1, tile32_8x1},
  {NAMES32_6(2)},
  {0, tile32_1x3}, {0, tile32_1x4}, {0, tile32_1x5}, {0, tile32_1x6}, {0, tile32_1x7}, {0, tile32_1x8},
};
#endif

/* All of `positions` of one output row, in tiles of nearly the same number of them. */
SIMD_INLINE void panel32(const Window32 *t, int vectors, ptrdiff_t positions, const float *w, ptrdiff_t n, float *y) {
  ptrdiff_t most = most_rows32[vectors], tiles = (positions + most - 1) / most;
  ptrdiff_t rows = positions / tiles, longer = positions % tiles, first = 0;
  for (ptrdiff_t i = 0; i < tiles; i++) {
    ptrdiff_t now = rows + (i < longer);
    tiles32[vectors][now](t, first * (t->row / (ptrdiff_t)sizeof(float)), w, n, y + first * t->y_row);
    first += now;
  }
}

#endif
