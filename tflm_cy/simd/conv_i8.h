/* The register tiles of conv_i8.pxi: P positions times NC vectors of columns (output channels), one tile after the other.
 *
 * Packed weights, per step of four taps (step8.h): NC vectors; x is broadcast four bytes at a time. The accumulators start with the column's
 * bias plus the position's term and end as bytes (requantized) or as floats.
 * The last vector is half as wide where its second half would be padding. */
#ifndef TFLM_CY_SIMD_CONV_I8_H
#define TFLM_CY_SIMD_CONV_I8_H

#include "half.h"
#include "pack.h"
#include "requantize8.h"
#include "step8.h"

#if SIMD_ISA == 512
enum { PANEL = 4, MOST_ROWS = 8, WIDE_ROWS = 6 }; /* vectors of a panel; rows of a tile of fewer, and of all of them */
#elif SIMD_ISA == 256
enum { PANEL = 2, MOST_ROWS = 8, WIDE_ROWS = 6 };
#elif SIMD_ISA == 128 && defined(SIMD_DOTPROD)
enum { PANEL = 4, MOST_ROWS = 8, WIDE_ROWS = 4 };
#elif SIMD_ISA == 128
enum { PANEL = 4, MOST_ROWS = 4, WIDE_ROWS = 2 };
#else
enum { PANEL = 2, MOST_ROWS = 4, WIDE_ROWS = 4 };
#endif

enum { MOST_TOGETHER8 = 120 };

typedef struct {        /* positions that tiles meet one after the other */
  const uint8_t *x;     /* the first one's window */
  ptrdiff_t step;       /* bytes from a window to the next */
  ptrdiff_t column;     /* of the first position in its output row */
  ptrdiff_t width;      /* positions of an output row; 0: they never end */
  ptrdiff_t skip;       /* bytes more to the first window of the next output row */
  ptrdiff_t count;
  int32_t terms[MOST_TOGETHER8];  /* static: added to each sum; dynamic: times the column's sum of weights */
  float inverses[MOST_TOGETHER8]; /* dynamic: the real value of one step */
  const int32_t *offsets;
  ptrdiff_t steps;
  ptrdiff_t run;        /* steps that follow each other in memory, of the `regular` ones in front */
  ptrdiff_t regular;
  int has_terms;
  int kind;             /* TILE_S8, TILE_U8, TILE_F32, TILE_I32 */
  vb zero, low, high;
  int magic_bias;           /* the sums are (requantize8.h) */
  float f_low, f_high;
  int keeps_nan;
  int apart;            /* never on x86-64 */
  ptrdiff_t y_row;      /* values from one position to the next */
} Positions8;

typedef struct {        /* a panel and its columns' constants */
  const int8_t *w;
  const int32_t *bias;  /* dynamic: the sums of the weights */
  const float *scales;
  const float *f_bias;
  ptrdiff_t n;          /* columns to store */
  int pairs;            /* conv_i8_neon.h */
} Panel8;

enum { TILE_S8 = 0, TILE_U8 = 1, TILE_F32 = 2, TILE_I32 = 3 }; /* TILE_I32: the sums themselves, of whole vectors */

#define UNROLL _Pragma("GCC unroll 8")

typedef struct {        /* of a tile: HALVED ones have their last vector apart */
  vi whole[8][4];
  vihalf half[8];
} Sums8;

SIMD_INLINE void tile8_start(
    const int P, const int NC, const int HALVED, const Positions8 *t, const int32_t *terms, const Panel8 *w, const int kind, Sums8 *sums) {
  UNROLL for (int j = 0; j < NC - HALVED; j++) {
    vi bias = vi_load(w->bias + j * VL);
    if (kind == TILE_F32) {
      UNROLL for (int p = 0; p < P; p++) sums->whole[p][j] = vi_mul(bias, vi_set1(terms[p]));
    } else if (t->has_terms) {
      UNROLL for (int p = 0; p < P; p++) sums->whole[p][j] = vi_add(bias, vi_set1(terms[p]));
    } else {
      UNROLL for (int p = 0; p < P; p++) sums->whole[p][j] = bias;
    }
  }
  if (HALVED) {
    vihalf bias = vihalf_load(w->bias + (NC - 1) * VL);
    UNROLL for (int p = 0; p < P; p++) {
      if (kind == TILE_F32) sums->half[p] = vihalf_mul(bias, vihalf_set1(terms[p]));
      else if (t->has_terms) sums->half[p] = vihalf_add(bias, vihalf_set1(terms[p]));
      else sums->half[p] = bias;
    }
  }
}

SIMD_INLINE vi tile8_sums(const int NC, const int HALVED, const Sums8 *sums, int p, int j) {
  return HALVED && j == NC - 1 ? vihalf_whole(sums->half[p]) : sums->whole[p][j];
}

SIMD_INLINE vb tile8_bytes(const int magic_bias, const vi *q, const int kind, const Positions8 *t) {
  return vb_unlane(bytes8(magic_bias, kind == TILE_S8, q[0], q[1], q[2], q[3], t->zero, t->low, t->high));
}

SIMD_INLINE void tile8_finish_bytes(
    const int P, const int NC, const int HALVED, const int magic_bias, const Positions8 *t, ptrdiff_t count, const Panel8 *w, const int kind,
    const Sums8 *sums, uint8_t *y) {
  const vi none = vi_set1(0);
  vf s[4];
  UNROLL for (int j = 0; j < NC; j++) s[j] = vf_load(w->scales + j * VL);
  /* Of narrow outputs four (two) positions make a whole vector. */
  const int together = NC == 1 ? 4 : NC == 2 ? 2 : 1, whole = NC != 3 && w->n == NC * VL;
  UNROLL for (int p = 0; p < P; p += together) {
    if (p >= count) break;
    vi q[4] = {none, none, none, none};
    UNROLL for (int i = 0; i < NC * together; i++)
      if (p + i / NC < P) q[i] = scaled8(magic_bias, kind == TILE_S8, tile8_sums(NC, HALVED, sums, p + i / NC, i % NC), s[i % NC]);
    vb out = tile8_bytes(magic_bias, q, kind, t);
    uint8_t *to = y + p * t->y_row;
    if (whole && t->y_row == NC * VL && count >= p + together) {
      vb_store(to, out);
    } else if (whole) {
      vb_scatter(to, t->y_row, out, together, count - p);
    } else if (t->y_row == w->n && (count - p - together + 1) * t->y_row >= VB / together) {
      vb_scatter(to, t->y_row, out, together, together); /* what is too much belongs to positions that come */
    } else if (together == 1) {
      vb_store_part(to, out, w->n);
    } else {
      vb_scatter_part(to, t->y_row, out, together, count - p, w->n);
    }
  }
}

#if SIMD_ISA == 512
/* Eight columns: eight positions make a vector. */
SIMD_INLINE void tile8_finish_eight(
    const int P, const int magic_bias, const Positions8 *t, ptrdiff_t count, const Panel8 *w, const int kind, const Sums8 *sums, uint8_t *y) {
  const vhalf eight = vhalf_load(w->scales);
  const vf s = vhalf_pair(eight, eight);
  vi q[4];
  uint8_t bytes[VB];
  UNROLL for (int i = 0; i < 4; i++) q[i] = scaled8(magic_bias, kind == TILE_S8, vihalf_pair(sums->half[2 * i % P], sums->half[(2 * i + 1) % P]), s);
  vb out = tile8_bytes(magic_bias, q, kind, t);
  if (w->n == 8 && t->y_row == 8 && count >= 8) {
    vb_store(y, out);
    return;
  }
  vb_store(bytes, out);
  for (int p = 0; p < (count < P ? count : P); p++) {
    if (w->n == 8) memcpy(y + p * t->y_row, bytes + 8 * p, 8);
    else for (ptrdiff_t j = 0; j < w->n; j++) y[p * t->y_row + j] = bytes[8 * p + j];
  }
}
#endif

SIMD_INLINE void tile8_finish_some(
    const int P, const int NC, const int HALVED, const int magic_bias, const Positions8 *t, ptrdiff_t count, const Panel8 *w, const int kind,
    const Sums8 *sums, uint8_t *y) {
#if SIMD_ISA == 512
  if (NC == 1 && HALVED) {
    tile8_finish_eight(P, magic_bias, t, count, w, kind, sums, y);
    return;
  }
#endif
  tile8_finish_bytes(P, NC, HALVED, magic_bias, t, count, w, kind, sums, y);
}

SIMD_INLINE void tile8_finish_floats(
    const int P, const int NC, const int HALVED, const Positions8 *t, const float *inverses, ptrdiff_t count, const Panel8 *w,
    const Sums8 *sums, float *y) {
  const vf low = vf_set1(t->f_low), high = vf_set1(t->f_high);
  UNROLL for (int j = 0; j < NC; j++) {
    const vf scale = vf_load(w->scales + j * VL), bias = vf_load(w->f_bias + j * VL);
    const ptrdiff_t n = w->n - j * VL;
    UNROLL for (int p = 0; p < P; p++) {
      if (p >= count || n <= 0) break;
      vf v = vf_from_vi(tile8_sums(NC, HALVED, sums, p, j));
      v = SIMD_ISA < 256 && t->apart ? vf_add(vf_mul(v, vf_mul(scale, vf_set1(inverses[p]))), bias) : vf_fma(vf_mul(v, vf_set1(inverses[p])), scale, bias);
      v = t->keeps_nan ? vf_max(low, vf_min(high, v)) : vf_min(vf_max(v, low), high);
      if (n >= VL) vf_store(y + p * t->y_row + j * VL, v);
      else vf_store_part(y + p * t->y_row + j * VL, v, n);
    }
  }
}

SIMD_INLINE void tile8_finish_sums(
    const int P, const int NC, const int HALVED, const Positions8 *t, ptrdiff_t count, const Sums8 *sums, int32_t *y) {
  UNROLL for (int p = 0; p < P; p++) {
    if (p >= count) break;
    UNROLL for (int j = 0; j < NC; j++) vi_store(y + p * t->y_row + j * VL, tile8_sums(NC, HALVED, sums, p, j));
  }
}

/* `first` is the tile's first position; y belongs to it. */
SIMD_INLINE void tile8_finish(
    const int P, const int NC, const int HALVED, const Positions8 *t, ptrdiff_t first, const Panel8 *w, const int kind, const Sums8 *sums,
    void *y) {
  if (kind == TILE_F32) {
    tile8_finish_floats(P, NC, HALVED, t, t->inverses + first, t->count - first, w, sums, (float *)y);
  } else if (kind == TILE_I32) {
    tile8_finish_sums(P, NC, HALVED, t, t->count - first, sums, (int32_t *)y);
  } else if (RAISES8 && t->magic_bias) {
    tile8_finish_some(P, NC, HALVED, 1, t, t->count - first, w, kind, sums, (uint8_t *)y);
  } else {
    tile8_finish_some(P, NC, HALVED, 0, t, t->count - first, w, kind, sums, (uint8_t *)y);
  }
}

#if SIMD_ISA == 128
/* A step's taps. Four vectors are one instruction. */
SIMD_INLINE void load_taps8(const int NC, const int8_t *w, int8x16_t *taps) {
  if (NC == 4) {
    const int8x16x4_t four = vld1q_s8_x4(w);
    UNROLL for (int j = 0; j < NC; j++) taps[j] = four.val[j];
  } else if (NC == 2) {
    const int8x16x2_t two = vld1q_s8_x2(w);
    UNROLL for (int j = 0; j < NC; j++) taps[j] = two.val[j];
  } else {
    UNROLL for (int j = 0; j < NC; j++) taps[j] = vld1q_s8(w + j * VB);
  }
}
#endif

#ifdef SIMD_I8MM
#include "conv_i8_mmla.h"
#elif SIMD_ISA == 128
#include "conv_i8_neon.h"
#else
SIMD_INLINE int pairs_fit8(const uint8_t *w, ptrdiff_t n) { (void)w; (void)n; return 1; }
#endif
#ifndef SIMD_I8MM
SIMD_INLINE void pair_taps8(uint8_t *w, ptrdiff_t vectors, ptrdiff_t run, ptrdiff_t segments) { (void)w; (void)vectors; (void)run; (void)segments; }
#endif

SIMD_INLINE const uint8_t *next_window8(const Positions8 *t, const uint8_t *window, ptrdiff_t *column) {
  const int last = ++*column == t->width;
  *column = last ? 0 : *column;
  return window + t->step + (last ? t->skip : 0);
}

/* Positions first .. stop - 1; `stop` is behind the last one, or the begin of a tile. */
SIMD_INLINE void tile8(
    const int P, const int NC, const int HALVED, const int kind, const Positions8 *t, const Panel8 *w, ptrdiff_t first, ptrdiff_t stop, void *y) {
  const ptrdiff_t size = kind == TILE_F32 || kind == TILE_I32 ? 4 : 1, count = t->count;
  const ptrdiff_t lines = t->width > 0 ? (t->column + first) / t->width : 0;
  const uint8_t *window = t->x + first * t->step + lines * t->skip;
  ptrdiff_t column = t->column + first - lines * t->width;
  for (; first < stop; first += P) {
    Sums8 sums;
    const uint8_t *rows[8];
    tile8_start(P, NC, HALVED, t, t->terms + first, w, kind, &sums);
    if (first + P <= count && (t->width == 0 || column + P <= t->width)) {
      UNROLL for (int p = 0; p < P; p++) rows[p] = window + p * t->step;
      const int last = (column += P) == t->width;
      column = last ? 0 : column;
      window += P * t->step + (last ? t->skip : 0);
    } else {
      UNROLL for (int p = 0; p < P; p++) {
        rows[p] = p == 0 || first + p < count ? window : rows[0];
        window = next_window8(t, window, &column);
      }
    }
#if SIMD_ISA == 128
    multiply_steps8(P, NC, t, rows, w, &sums);
#else
    const int32_t *const end = t->offsets + t->steps;
    const int8_t *from = w->w;
    for (const int32_t *offset = t->offsets; offset < end; offset++) {
      const ptrdiff_t at = *offset;
#if SIMD_ISA == 512
      vihalf half;
      if (HALVED) half = vihalf_load(from + (NC - 1) * VB);
#endif
      UNROLL for (int part = 0; part < PARTS8; part++) {
        vb taps[4];
        UNROLL for (int j = 0; j < NC - HALVED; j++) taps[j] = taps8(from + j * VB, part);
        UNROLL for (int p = 0; p < P; p++) {
#if SIMD_ISA == 512
          if (HALVED && NC == 1) { /* a CPU may load two half vectors in the time of a whole one */
            int32_t four;
            memcpy(&four, rows[p] + at, 4);
            sums.half[p] = vihalf_dot4(sums.half[p], vihalf_set1(four), half);
            continue;
          }
#endif
          const vb x = vb_set1_32(rows[p] + at + 4 * part);
          UNROLL for (int j = 0; j < NC - HALVED; j++) sums.whole[p][j] = dot8(sums.whole[p][j], x, taps[j]);
#if SIMD_ISA == 512
          if (HALVED) sums.half[p] = vihalf_dot4(sums.half[p], vihalf_of(x), half);
#endif
        }
      }
      from += NC * VB;
    }
#endif
    tile8_finish(P, NC, HALVED, t, first, w, kind, &sums, (uint8_t *)y + first * t->y_row * size);
  }
}

/* Where the last positions would leave half of a tile empty they are tiles of FEW: from which one on. */
SIMD_INLINE ptrdiff_t few8_from(const int P, const int FEW, ptrdiff_t count) { return FEW == P ? count : (count + FEW - 1) / P * P; }

/* One row whose steps lie together: several chains per vector, so that the sums do not wait for each other. */
SIMD_INLINE void row8(const int NC, const int kind, const Positions8 *t, const Panel8 *w, void *y) {
#if SIMD_ISA == 128
  Sums8 sums;
  tile8_start(1, NC, 0, t, t->terms, w, kind, &sums);
  multiply_row8(NC, t, w, &sums);
#else
  const int chains = NC == 1 ? 4 : 2;
  Sums8 sums;
  vi more[4][4];
  enum { STEP = 4 * PARTS8 };
  const uint8_t *row = t->x + t->offsets[0], *end = row + STEP * t->steps;
  const int8_t *from = w->w;
  tile8_start(1, NC, 0, t, t->terms, w, kind, &sums);
  UNROLL for (int k = 1; k < chains; k++)
    UNROLL for (int j = 0; j < NC; j++) more[k][j] = vi_set1(0);
  for (; row + STEP * chains <= end; row += STEP * chains) {
    UNROLL for (int k = 0; k < chains; k++) {
      UNROLL for (int part = 0; part < PARTS8; part++) {
        const vb x = vb_set1_32(row + STEP * k + 4 * part);
        UNROLL for (int j = 0; j < NC; j++) {
          vi *sum = k == 0 ? &sums.whole[0][j] : &more[k][j];
          *sum = dot8(*sum, x, taps8(from + (k * NC + j) * VB, part));
        }
      }
    }
    from += chains * NC * VB;
  }
  for (; row < end; row += STEP, from += NC * VB) {
    UNROLL for (int part = 0; part < PARTS8; part++) {
      const vb x = vb_set1_32(row + 4 * part);
      UNROLL for (int j = 0; j < NC; j++) sums.whole[0][j] = dot8(sums.whole[0][j], x, taps8(from + j * VB, part));
    }
  }
  UNROLL for (int k = 1; k < chains; k++)
    UNROLL for (int j = 0; j < NC; j++) sums.whole[0][j] = vi_add(sums.whole[0][j], more[k][j]);
#endif
  tile8_finish(1, NC, 0, t, 0, w, kind, &sums, y);
}

typedef void (*Tiles8)(const Positions8 *, const Panel8 *, void *);

#define TILE8(NAME, KIND, P, FEW, NC, HALVED)                                                                                \
  static __attribute__((noinline)) void NAME##_few(const Positions8 *t, const Panel8 *w, ptrdiff_t first, void *y) {        \
    tile8(FEW, NC, HALVED, KIND, t, w, first, t->count, y);                                                                  \
  }                                                                                                                          \
  static void NAME(const Positions8 *t, const Panel8 *w, void *y) {                                                          \
    const ptrdiff_t few = few8_from(P, FEW, t->count);                                                                       \
    tile8(P, NC, HALVED, KIND, t, w, 0, few, y);                                                                             \
    if (FEW < P && few < t->count) NAME##_few(t, w, few, y);                                                                 \
  }
#define ROW8(NAME, KIND, NC) \
  static void NAME(const Positions8 *t, const Panel8 *w, void *y) { row8(NC, KIND, t, w, y); }
#define KINDS8(NAME, MAKE, ...)                                                                                              \
  MAKE(NAME##_s8, TILE_S8, __VA_ARGS__) MAKE(NAME##_u8, TILE_U8, __VA_ARGS__) MAKE(NAME##_f32, TILE_F32, __VA_ARGS__)        \
  MAKE(NAME##_i32, TILE_I32, __VA_ARGS__)
#define BY_KIND(NAME) {NAME##_s8, NAME##_u8, NAME##_f32, NAME##_i32}

KINDS8(row8_1, ROW8, 1)
KINDS8(row8_2, ROW8, 2)
#if SIMD_ISA == 512
KINDS8(tile8_1, TILE8, MOST_ROWS, 4, 1, 0)
KINDS8(tile8_2, TILE8, MOST_ROWS, 4, 2, 0)
KINDS8(tile8_3, TILE8, MOST_ROWS, 4, 3, 0)
KINDS8(half8_1, TILE8, MOST_ROWS, 4, 1, 1)
KINDS8(half8_2, TILE8, MOST_ROWS, 4, 2, 1)
KINDS8(half8_3, TILE8, MOST_ROWS, 4, 3, 1)
KINDS8(tile8_4, TILE8, WIDE_ROWS, 2, 4, 0)
KINDS8(row8_3, ROW8, 3)
KINDS8(row8_4, ROW8, 4)
#elif SIMD_ISA == 128
KINDS8(tile8_1, TILE8, MOST_ROWS, 4, 1, 0)
KINDS8(tile8_2, TILE8, MOST_ROWS, 4, 2, 0)
KINDS8(tile8_3, TILE8, WIDE_ROWS, 2, 3, 0)
KINDS8(tile8_4, TILE8, WIDE_ROWS, 2, 4, 0)
KINDS8(row8_3, ROW8, 3)
KINDS8(row8_4, ROW8, 4)
#else
KINDS8(tile8_1, TILE8, MOST_ROWS, 4, 1, 0)
KINDS8(tile8_2, TILE8, WIDE_ROWS, 2, 2, 0)
#endif

/* [0: tiles, 1: their last vector is half as wide, 2: one row][vectors - 1][kind] */
static const Tiles8 TILES8[3][PANEL][4] = {
#if SIMD_ISA == 512
  {BY_KIND(tile8_1), BY_KIND(tile8_2), BY_KIND(tile8_3), BY_KIND(tile8_4)},
  {BY_KIND(half8_1), BY_KIND(half8_2), BY_KIND(half8_3), BY_KIND(tile8_4)},
  {BY_KIND(row8_1), BY_KIND(row8_2), BY_KIND(row8_3), BY_KIND(row8_4)},
#elif SIMD_ISA == 128
  {BY_KIND(tile8_1), BY_KIND(tile8_2), BY_KIND(tile8_3), BY_KIND(tile8_4)},
  {{NULL}},
  {BY_KIND(row8_1), BY_KIND(row8_2), BY_KIND(row8_3), BY_KIND(row8_4)},
#else
  {BY_KIND(tile8_1), BY_KIND(tile8_2)},
  {{NULL}},
  {BY_KIND(row8_1), BY_KIND(row8_2)},
#endif
};

#include "conv_i8_nibbles.h"

/* For n columns. */
SIMD_INLINE Tiles8 tiles_i8(int one_row, ptrdiff_t n, int kind) {
  const int vectors = (int)((n + VL - 1) / VL);
  return TILES8[one_row ? 2 : n - (vectors - 1) * VL <= HALF][vectors - 1][kind];
}

/* The sum of a window's bytes, for each position. */
SIMD_INLINE void tile8_row_sums(Positions8 *t, const int32_t *ones, int32_t factor) {
  const uint8_t *row = t->x;
  ptrdiff_t column = t->column;
  for (ptrdiff_t p = 0; p < t->count; p++) {
    vi sum = vi_set1(0), more = sum;
    ptrdiff_t s = 0;
    for (; s + 2 <= t->steps; s += 2) {
      UNROLL for (int part = 0; part < PARTS8; part++) {
        sum = dot8(sum, vb_set1_32(row + t->offsets[s] + 4 * part), ones8(ones[s], part));
        more = dot8(more, vb_set1_32(row + t->offsets[s + 1] + 4 * part), ones8(ones[s + 1], part));
      }
    }
    if (s < t->steps) {
      UNROLL for (int part = 0; part < PARTS8; part++) sum = dot8(sum, vb_set1_32(row + t->offsets[s] + 4 * part), ones8(ones[s], part));
    }
    int32_t lanes[VL];
    vi_store(lanes, vi_add(sum, more));
    t->terms[p] = (int32_t)((uint32_t)lanes[0] * (uint32_t)factor);
    row = next_window8(t, row, &column);
  }
}

/* The sum of n weights, once `flip` has made unsigned bytes of them that are greater by 128. */
SIMD_INLINE int64_t sum_taps(const uint8_t *w, ptrdiff_t n, int flip) {
  int64_t total = -128 * (int64_t)n;
  ptrdiff_t i = 0;
#if SIMD_ISA >= 256
  const vb none = vb_set1(0), change = vb_set1(flip);
  int64_t lanes[VB / 8];
  vb sums = none;
  for (; i + VB <= n; i += VB) sums = SIMD_BOTH(add_epi64, sums, SIMD_BOTH(sad_epu8, vb_xor(vb_load(w + i), change), none));
  vb_store(lanes, sums);
  for (int k = 0; k < VB / 8; k++) total += lanes[k];
#endif
  for (; i < n; i++) total += w[i] ^ flip;
  return total;
}

/* Packing: dword k (four taps) of filter c goes to `to + k * step + 4 * c`; up to 16 filters of n <= 64 bytes, `row` bytes apart. What is
 * behind the n-th byte, and the filters that a last vector has not, become 0. flip: the bits of a byte to change; less: what is then subtracted, cut off at the limits of int8. */
enum { TURN_ROWS = 16, TURN_BYTES = 64 };
#if SIMD_ISA >= 128
static void turn_taps(const uint8_t *w, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t n, int flip, int less, uint8_t *to, ptrdiff_t step) {
  static const uint8_t all[VB] = {[0 ... VB - 1] = 255};
  for (; n > 0; n -= VB, w += VB, to += VL * step) {
    const vb some = vb_load_part(all, n < VB ? n : VB), change = vb_and(some, vb_set1(flip)), shift = vb_and(some, vb_set1(less));
    for (ptrdiff_t c = 0; c < rows; c += VL) {
      vb r[VL];
      for (int i = 0; i < VL; i++) {
        const uint8_t *from = w + (c + i) * row;
        r[i] = c + i >= rows ? vb_set1(0) : vb_sub_s(vb_xor(n >= VB ? vb_load(from) : vb_load_part(from, n), change), shift);
      }
      transpose_registers(r);
      for (int i = 0; i < VL; i++)
        if (4 * i < n) vb_store(to + i * step + 4 * c, r[i]);
    }
  }
}
#else
static void turn_taps(const uint8_t *w, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t n, int flip, int less, uint8_t *to, ptrdiff_t step) {
  uint8_t taps[TURN_ROWS * TURN_BYTES];
  for (ptrdiff_t c = 0; c < rows; c++) {
    for (ptrdiff_t i = 0; i < n; i++) {
      const int16_t v = (int16_t)((int8_t)(w[c * row + i] ^ flip) - less);
      taps[c * TURN_BYTES + i] = (uint8_t)(v < -128 ? -128 : v > 127 ? 127 : v);
    }
  }
  turn_dwords(taps, TURN_BYTES, rows, n, to, step);
}
#endif
#endif
