/* The register tiles of conv_f32.pxi: R positions times NC vectors of columns (output channels), one chain of fused multiply-adds each.
 *
 * Packed weights: NC vectors of biases, then NC vectors per tap. The positions of a tile lie `row` bytes apart; a window is `count` stretches of
 * `length` floats, which begin at the pointers of `stretches`, for the first position of the output row.
 * Three positions share a pointer, so that the pointers of fourteen stay in registers.
 * The last vector is half as wide where its second half would be padding. Behind a single whole one it reads the inputs from memory again: where both
 * widths read one register, Zen 4 is a tenth slower; behind several the loads would be too many.
 *
 * What follows a product value by value (EpilogueF32) is computed before a tile is written: it may lie over the values that are added. */
#ifndef TFLM_CY_SIMD_CONV_F32_H
#define TFLM_CY_SIMD_CONV_F32_H

#include <math.h>

#include "float32.h"
#include "half.h"

#if SIMD_ISA == 512
/* Vectors of a panel; where there are more than some positions, at least; chains of sums, fewer than which wait for each other. */
enum { PANEL32 = 4, TALL_PANEL32 = 2, FEW_ROWS32 = 6, FEW_CHAINS32 = 12 };
#define SIMD_ROWS32 {0, 14, 12, 8, 6, 1, 1, 1, 1}
#elif SIMD_ISA == 128
enum { PANEL32 = 4, TALL_PANEL32 = 4, FEW_ROWS32 = 4, FEW_CHAINS32 = 8 };
#else
enum { PANEL32 = 3, TALL_PANEL32 = 3, FEW_ROWS32 = 6, FEW_CHAINS32 = 8 };
#define SIMD_ROWS32 {0, 8, 6, 4, 1, 1, 1, 1, 1}
#endif
enum { WIDE_PANEL32 = 8 };      /* for a single position */

typedef struct {        /* as conv_f32.pxd's */
  int adds, second;
  ptrdiff_t added_row, y_row;
  const float *added, *y;
  float low, high;
  int bends, by_sign;
  float slope;
  const float *slopes;
  float last_low, last_high;
} EpilogueF32;

typedef struct {
  const float **stretches;
  ptrdiff_t count;
  ptrdiff_t length;
  ptrdiff_t row;        /* bytes from a position to the next */
  ptrdiff_t y_row;      /* floats from a position to the next */
  ptrdiff_t y_apart;    /* positions of the output from one to the next */
  vf low, high;
  const void *finish;   /* a EpilogueF32; NULL: nothing follows */
  ptrdiff_t column;     /* of the panel's first one */
  int order;            /* of the terms */
} Window32;

/* A tile: `first` counts in floats from the stretches' pointers; n columns are stored. */
typedef void (*Tile32)(const Window32 *t, ptrdiff_t first, const float *w, ptrdiff_t n, float *y);

#ifndef AHEAD32
#define AHEAD32 512 /* floats from the weights in use to those that should be on their way */
#endif
#define UNROLL32 _Pragma("GCC unroll 16")
#define APART32 __asm__("" ::: "memory") /* begins a branch that shares no loads with the other one: there are no registers for them */

/* The last vector of a row may be a part of one. */
SIMD_INLINE vf load_column32(const int ALWAYS_WHOLE, const float *p, ptrdiff_t n) { return ALWAYS_WHOLE || n >= VL ? vf_load(p) : vf_load_part(p, n); }
/* The last vector that is stored, where it is half as wide, too. */
SIMD_INLINE void store_last32(const int HALVED, float *p, vf v, ptrdiff_t n) {
  if (n < (HALVED ? (ptrdiff_t)HALF : VL)) vf_store_part(p, v, n);
  else if (HALVED) vhalf_store(p, vhalf_of(v));
  else vf_store(p, v);
}

/* What follows a product, while its tile is in registers. */
SIMD_INLINE void clamp_tile32(const int R, const int NC, vf low, vf high, vf (*acc)[8]) {
  if (low[0] > -INFINITY) { /* a minimum takes as long as a multiplication, and an infinite limit changes nothing */
    UNROLL32 for (int r = 0; r < R; r++) {
      UNROLL32 for (int j = 0; j < NC; j++) acc[r][j] = vf_maximum(low, acc[r][j]);
    }
  }
  if (high[0] < INFINITY) {
    UNROLL32 for (int r = 0; r < R; r++) {
      UNROLL32 for (int j = 0; j < NC; j++) acc[r][j] = vf_minimum(high, acc[r][j]);
    }
  }
}

SIMD_INLINE void clamp_halves32(const int R, vf low, vf high, vhalf *half) {
  if (low[0] > -INFINITY) {
    UNROLL32 for (int r = 0; r < R; r++) half[r] = vhalf_max(vhalf_of(low), half[r]);
  }
  if (high[0] < INFINITY) {
    UNROLL32 for (int r = 0; r < R; r++) half[r] = vhalf_min(vhalf_of(high), half[r]);
  }
}

/* What is added begins at `at`, of which a position has `n` values. */
SIMD_INLINE void add_tile32(const int R, const int NC, const int SECOND, const float *at, ptrdiff_t row, ptrdiff_t n, vf (*acc)[8]) {
  UNROLL32 for (int j = 0; j < NC; j++, n -= VL, at += VL) {
    const ptrdiff_t m = n < 0 ? 0 : n < VL ? n : VL;
    UNROLL32 for (int r = 0; r < R; r++) {
      const vf other = vf_load_part(at + r * row, m);
      acc[r][j] = SECOND ? vf_add_first(other, acc[r][j]) : vf_add_first(acc[r][j], other);
    }
  }
}

SIMD_INLINE void bend_tile32(const int R, const int NC, const int BY_SIGN, const EpilogueF32 *f, ptrdiff_t n, ptrdiff_t column, vf (*acc)[8]) {
  UNROLL32 for (int j = 0; j < NC; j++) {
    const vf slope = f->slopes ? load_column32(j < NC - 1, f->slopes + column + j * VL, n - j * VL) : vf_set1(f->slope);
    UNROLL32 for (int r = 0; r < R; r++) {
      acc[r][j] = BY_SIGN ? vf_signed(acc[r][j], vf_mul_first(acc[r][j], slope)) : vf_bent(acc[r][j], slope);
    }
  }
}

/* What follows a tile's sums, and its outputs. */
SIMD_INLINE void finish_tile32(const int R, const int NC, const int HALVED, const int FINISHES, const Window32 *t, vf (*acc)[8], vhalf *half, ptrdiff_t n, float *y) {
  const int WHOLE = NC - HALVED;
  const EpilogueF32 *f = t->finish;
  const ptrdiff_t y_row = t->y_row, apart = t->y_apart; /* before anything is stored: they would be read again after each store */
  if (FINISHES) {
    if (HALVED) {
      UNROLL32 for (int r = 0; r < R; r++) acc[r][WHOLE] = vhalf_whole(half[r]);
    }
    clamp_tile32(R, NC, t->low, t->high, acc);
    if (f->adds) {
      const ptrdiff_t out = f->y_row, added = f->added_row;
      const float *at = added == out ? f->added + (y - f->y) : f->added + (y - f->y) / out * added + t->column;
      if (f->second) {
        APART32;
        add_tile32(R, NC, 1, at, added * apart, added - t->column, acc);
      } else {
        APART32;
        add_tile32(R, NC, 0, at, added * apart, added - t->column, acc);
      }
    }
    clamp_tile32(R, NC, vf_set1(f->low), vf_set1(f->high), acc);
    if (f->bends && f->by_sign) {
      APART32;
      bend_tile32(R, NC, 1, f, n, t->column, acc);
    } else if (f->bends) {
      bend_tile32(R, NC, 0, f, n, t->column, acc);
    }
    clamp_tile32(R, NC, vf_set1(f->last_low), vf_set1(f->last_high), acc);
    UNROLL32 for (int r = 0; r < R; r++) {
      float *out = y + r * y_row;
      UNROLL32 for (int j = 0; j < NC - 1; j++) vf_store(out + j * VL, acc[r][j]);
      store_last32(HALVED, out + (NC - 1) * VL, acc[r][NC - 1], n - (NC - 1) * VL);
    }
    return;
  }
  clamp_tile32(R, WHOLE, t->low, t->high, acc);
  if (HALVED) clamp_halves32(R, t->low, t->high, half);
  UNROLL32 for (int r = 0; r < R; r++) {
    float *out = y + r * y_row;
    UNROLL32 for (int j = 0; j < NC - 1; j++) vf_store(out + j * VL, acc[r][j]);
    store_last32(HALVED, out + (NC - 1) * VL, HALVED ? vhalf_whole(half[r]) : acc[r][NC - 1], n - (NC - 1) * VL);
  }
}

#if SIMD_ISA == 128
#include "conv_f32_neon.h"
#else
SIMD_INLINE void tile32(const int R, const int NC, const int HALVED, const int FINISHES, const Window32 *t, ptrdiff_t first, const float *w, ptrdiff_t n, float *y) {
  vf acc[14][8];
  vhalf half[14], h;
  const int WHOLE = NC - HALVED; /* vectors; a half one behind them */
  const ptrdiff_t row = t->row;
  UNROLL32 for (int j = 0; j < WHOLE; j++) {
    vf bias = vf_load(w + j * VL);
    UNROLL32 for (int r = 0; r < R; r++) acc[r][j] = bias;
  }
  if (HALVED) {
    h = vhalf_load(w + WHOLE * VL);
    UNROLL32 for (int r = 0; r < R; r++) half[r] = h;
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
      if (HALVED) h = vhalf_load(w + WHOLE * VL);
      UNROLL32 for (int j = 0; j < WHOLE; j++) {
        v[j] = vf_load(w + j * VL);
        if (R > 2 && j * VL % 16 == 0) simd_prefetch(w + j * VL + AHEAD32); /* each line; fewer positions do nothing but load */
      }
      UNROLL32 for (int r = 0; r < R; r++) {
        const char *q = r < 3 ? q0 : r < 6 ? q1 : r < 9 ? q2 : r < 12 ? q3 : q4;
        const float *at = (const float *)(q + r % 3 * row);
        if (WHOLE <= 1) { /* a load in each multiplication */
          if (WHOLE) acc[r][0] = vf_fma_first_at(v[0], at, acc[r][0]);
          if (HALVED) half[r] = vhalf_fma_first_at(h, at, half[r]);
          continue;
        }
        vf x = vf_set1(*at);
        UNROLL32 for (int j = 0; j < WHOLE; j++) acc[r][j] = vf_fma_first(v[j], x, acc[r][j]);
        if (HALVED) half[r] = vhalf_fma_first(h, vhalf_of(x), half[r]);
      }
      w += NC * VL;
      q0 += 4;
      q1 += 4;
      q2 += 4;
      q3 += 4;
      q4 += 4;
    }
  }
  finish_tile32(R, NC, HALVED, FINISHES, t, acc, half, n, y);
}

#define TILE32_OF(KIND, R, NC, HALVED, FINISHES) \
  static void KIND##_##R##x##NC(const Window32 *t, ptrdiff_t first, const float *w, ptrdiff_t n, float *y) { \
    tile32(R, NC, HALVED, FINISHES, t, first, w, n, y); \
  }
#define TILE32(R, NC) TILE32_OF(tile32, R, NC, 0, 0) TILE32_OF(finish32, R, NC, 0, 1)
#if SIMD_ISA == 512
#define BOTH32(R, NC) TILE32(R, NC) TILE32_OF(half32, R, NC, 1, 0) TILE32_OF(half_finish32, R, NC, 1, 1)
#else
#define BOTH32(R, NC) TILE32(R, NC)
#endif
#define BOTH32_6(NC) BOTH32(1, NC) BOTH32(2, NC) BOTH32(3, NC) BOTH32(4, NC) BOTH32(5, NC) BOTH32(6, NC)
#define ROWS32_6(KIND, NC) 0, KIND##_1x##NC, KIND##_2x##NC, KIND##_3x##NC, KIND##_4x##NC, KIND##_5x##NC, KIND##_6x##NC
#define WIDE32(KIND) {0, KIND##_1x5}, {0, KIND##_1x6}, {0, KIND##_1x7}, {0, KIND##_1x8}

TILE32(1, 5) TILE32(1, 6) TILE32(1, 7) TILE32(1, 8)
#if SIMD_ISA == 512
BOTH32_6(1) BOTH32(7, 1) BOTH32(8, 1) BOTH32(9, 1) BOTH32(10, 1) BOTH32(11, 1) BOTH32(12, 1) BOTH32(13, 1) BOTH32(14, 1)
BOTH32_6(2) BOTH32(7, 2) BOTH32(8, 2) BOTH32(9, 2) BOTH32(10, 2) BOTH32(11, 2) BOTH32(12, 2)
BOTH32_6(3) BOTH32(7, 3) BOTH32(8, 3)
BOTH32_6(4)
#define ROWS32(KIND) \
  {0}, \
  {ROWS32_6(KIND, 1), KIND##_7x1, KIND##_8x1, KIND##_9x1, KIND##_10x1, KIND##_11x1, KIND##_12x1, KIND##_13x1, KIND##_14x1}, \
  {ROWS32_6(KIND, 2), KIND##_7x2, KIND##_8x2, KIND##_9x2, KIND##_10x2, KIND##_11x2, KIND##_12x2}, \
  {ROWS32_6(KIND, 3), KIND##_7x3, KIND##_8x3}, \
  {ROWS32_6(KIND, 4)}
#else
BOTH32_6(1) BOTH32(7, 1) BOTH32(8, 1)
BOTH32_6(2)
TILE32(1, 3) TILE32(2, 3) TILE32(3, 3) TILE32(4, 3) TILE32(1, 4)
#define ROWS32(KIND) \
  {0}, \
  {ROWS32_6(KIND, 1), KIND##_7x1, KIND##_8x1}, \
  {ROWS32_6(KIND, 2)}, \
  {0, KIND##_1x3, KIND##_2x3, KIND##_3x3, KIND##_4x3}, {0, KIND##_1x4}
#endif
static const Tile32 tiles32[2][WIDE_PANEL32 + 1][15] = {{ROWS32(tile32), WIDE32(tile32)}, {ROWS32(finish32), WIDE32(finish32)}}; /* [finishes] */
#if SIMD_ISA == 512
static const Tile32 half_tiles32[2][PANEL32 + 1][15] = {{ROWS32(half32)}, {ROWS32(half_finish32)}};
#else
static const Tile32 half_tiles32[2][PANEL32 + 1][15] = {{{0}}};
#endif
static const int most_rows32[WIDE_PANEL32 + 1] = SIMD_ROWS32; /* positions of a tile, by the vectors of its panel */

/* There is one order. */
SIMD_INLINE int most_positions32(int order, int vectors) { (void)order; return most_rows32[vectors]; }
SIMD_INLINE const Tile32 *tiles_of32(int order, int finishes, int vectors, ptrdiff_t n) {
  (void)order;
  return vectors <= PANEL32 && n - (vectors - 1) * VL <= HALF ? half_tiles32[finishes][vectors] : tiles32[finishes][vectors];
}
SIMD_INLINE int widest_panel32(int order) { (void)order; return WIDE_PANEL32; }
SIMD_INLINE int has_order32(int order) { return order == 0; }
#endif

/* All of `positions` of one output row, in tiles of nearly the same number of them. */
SIMD_INLINE void panel32(const Window32 *t, int vectors, ptrdiff_t positions, const float *w, ptrdiff_t n, float *y) {
  ptrdiff_t most = most_positions32(t->order, vectors), tiles = 1, rows = positions, longer = 0, first = 0;
  if (positions > most) { /* a division takes as long as some steps of a tile */
    tiles = (positions + most - 1) / most;
    rows = positions / tiles;
    longer = positions % tiles;
  }
  const Tile32 *by_rows = tiles_of32(t->order, t->finish != NULL, vectors, n);
  for (ptrdiff_t i = 0; i < tiles; i++) {
    ptrdiff_t now = rows + (i < longer);
    by_rows[now](t, first * (t->row / (ptrdiff_t)sizeof(float)), w, n, y + first * t->y_row);
    first += now;
  }
}

/* The weights of a panel whose columns lie side by side: `depth` rows of `filled` columns, zeros up to `wide`. */
static void copy_columns32(const float *w, ptrdiff_t k_stride, ptrdiff_t depth, ptrdiff_t filled, ptrdiff_t wide, float *to) {
  for (; depth > 0; depth--, w += k_stride, to += wide) {
    ptrdiff_t j = 0;
    for (; j + VL <= filled; j += VL) vf_store(to + j, vf_load(w + j));
    if (j < filled) {
      vf_store(to + j, vf_load_part(w + j, filled - j));
      j += VL;
    }
    for (; j < wide; j += VL) vf_store(to + j, vf_set1(0));
  }
}

#endif
