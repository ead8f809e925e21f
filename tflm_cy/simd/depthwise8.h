/* The inner loops of depthwise8.pxi: planes of interleaved rows, and sums over them.
 *
 * A plane holds, for each byte of a row (some pixels, some channels), that byte and those of the three rows below it in one dword. A dword times
 * four weights is four taps of a column of the filter; the next column is the dword one pixel further.
 *
 * Sums come in groups of VB values, four vectors: a group is 1, 2 or 4 pixels of VB, VB / 2 or VB / 4 channels (`pieces`), or any VB values
 * that follow each other in a row.
 *
 * Interleaving and packing work within each 16 bytes. Where VB channels of a pixel become bytes (`pieces` of 1) their dwords stay in the order that
 * leaves them in, as do weights, biases and scales (whole_channel); else rows are put in an order before that gives consecutive dwords, and bytes behind.
 *
 * What uint8 weights less their zero point leave the range of int8 by are *extra* taps: a second product for those dwords. There are few. */
#ifndef TFLM_CY_SIMD_DEPTHWISE8_H
#define TFLM_CY_SIMD_DEPTHWISE8_H

#include "requantize8.h"
#include "step8.h"

#if SIMD_ISA == 512
enum { TOGETHER_1 = 4, TOGETHER_2 = 2, SLIDE_1 = 4, SLIDE_2 = 3 }; /* groups at once, with one row of output and two */
#elif SIMD_ISA == 256
enum { TOGETHER_1 = 2, TOGETHER_2 = 1, SLIDE_1 = 4, SLIDE_2 = 3 };
#else
enum { TOGETHER_1 = 1, TOGETHER_2 = 1, SLIDE_1 = 2, SLIDE_2 = 1 };
#endif

typedef struct {
  const uint8_t *planes;
  ptrdiff_t plane_bytes;
  ptrdiff_t quads;
  ptrdiff_t columns;      /* of the filter */
  ptrdiff_t column_step;  /* bytes of a plane from one to the next */
  ptrdiff_t stride;
  const int8_t *taps;     /* per column, quad, quarter, row: a vector */
  const int32_t *extra;   /* per quarter of a group: the first of its extra taps, and behind the last; NULL: none */
  const int32_t *extra_at; /* per extra taps: bytes of the planes to their dwords; of a single position, columns and quads */
  const int8_t *extra_taps; /* per row: a vector */
  const int32_t *bias;
  const float *scales;
  const int32_t *sources; /* four per group: where its vectors begin in a plane; pieces: of the first group of the row */
  ptrdiff_t next;         /* groups from one to the next of those done together */
  int pieces;             /* 0: groups of values that follow each other */
  int is_signed;
  int rows;               /* to store */
  ptrdiff_t y_row;
  ptrdiff_t y_pixel;
  vb zero, low, high;
  int raised;             /* the sums are (requantize8.h) */
  int32_t *sums;          /* not NULL: where the sums go, in the order of the outputs, whose first one `y0` stands for */
  const uint8_t *y0;
} Columns8;

/* The channel, of VB, whose dword is number `lane` of a group. */
SIMD_INLINE int whole_channel(int lane) { return lane % VL / 4 * 16 + lane / VL * 4 + lane % 4; }

/* VB bytes of `count` rows (4; or 3, the third standing for the fourth, whose weights are 0) as dwords; whole: not consecutive ones. */
SIMD_INLINE void interleave(const int count, const int whole, const vb *rows, vb change, vb *dwords) {
  vb r[4];
  _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) r[j] = vb_xor(whole ? rows[j] : vb_lane(rows[j]), change);
  if (count == 3) r[3] = r[2];
  const vb low01 = vb_zip8_low(r[0], r[1]), high01 = vb_zip8_high(r[0], r[1]);
  const vb low23 = vb_zip8_low(r[2], r[3]), high23 = vb_zip8_high(r[2], r[3]);
  dwords[0] = vb_zip16_low(low01, low23);
  dwords[1] = vb_zip16_high(low01, low23);
  dwords[2] = vb_zip16_low(high01, high23);
  dwords[3] = vb_zip16_high(high01, high23);
}

SIMD_INLINE void interleave_to(const int count, const int whole, const vb *rows, vb change, uint8_t *plane) {
  vb dwords[4];
  interleave(count, whole, rows, change, dwords);
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) vb_store(plane + i * VB, dwords[i]);
}

/* n bytes of each row, in stretches of VB / pieces that are `step` bytes apart; writes whole vectors. flip: the bits of a byte to change. */
SIMD_INLINE void interleave_some(const int count, const int pieces, const int whole, const uint8_t *const *rows, ptrdiff_t n, ptrdiff_t step,
                                 int flip, uint8_t *plane) {
  const vb change = vb_set1(flip);
  ptrdiff_t at = 0;
  for (; n >= VB; n -= VB, at += pieces * step, plane += 4 * VB) {
    vb r[4];
    _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) r[j] = vb_gather(rows[j] + at, step, pieces);
    interleave_to(count, whole, r, change, plane);
  }
  if (n > 0) {
    vb r[4];
    for (int j = 0; j < count; j++) {
      uint8_t rest[VB] = {0};
      if (pieces == 1) {
        r[j] = vb_load_part(rows[j] + at, n);
        continue;
      }
      for (int i = 0; i * (VB / pieces) < n; i++) memcpy(rest + i * (VB / pieces), rows[j] + at + i * step, VB / pieces);
      r[j] = vb_load(rest);
    }
    interleave_to(count, whole, r, change, plane);
  }
}

static void interleave_rows(const uint8_t *const *rows, int count, int pieces, int whole, ptrdiff_t n, ptrdiff_t step, int flip, uint8_t *plane) {
  if (whole && count == 3) interleave_some(3, 1, 1, rows, n, step, flip, plane);
  else if (whole) interleave_some(4, 1, 1, rows, n, step, flip, plane);
  else if (pieces == 1 && count == 3) interleave_some(3, 1, 0, rows, n, step, flip, plane);
  else if (pieces == 1) interleave_some(4, 1, 0, rows, n, step, flip, plane);
  else if (pieces == 2) interleave_some(4, 2, 0, rows, n, step, flip, plane);
  else interleave_some(4, 4, 0, rows, n, step, flip, plane);
}

/* VL dwords of a plane, and taps that they meet. In two parts (step8.h) the first and third bytes of the dwords are apart from the others,
 * as int16, and so are packed taps, which are read from memory: there are too few registers for them. */
#if PARTS8 == 2
typedef struct { vb even, odd; } Dwords8;
typedef const int8_t *DwordTaps8;
SIMD_INLINE Dwords8 dwords8(const void *p) {
  const vb v = vb_load(p);
  return (Dwords8){vb_and(v, vb_set1_16(255)), _mm256_srli_epi16(v, 8)};
}
SIMD_INLINE DwordTaps8 dword_taps8(const int8_t *p) { return p; }
SIMD_INLINE vi dword_dot8(vi acc, Dwords8 x, DwordTaps8 taps) { return dot8(dot8(acc, x.even, vb_load(taps)), x.odd, vb_load(taps + VB)); }
#else
typedef vb Dwords8, DwordTaps8;
SIMD_INLINE Dwords8 dwords8(const void *p) { return vb_load(p); }
SIMD_INLINE DwordTaps8 dword_taps8(const int8_t *p) {
  vb taps = vb_load(p);
  SIMD_KEEP(taps);
  return taps;
}
SIMD_INLINE vi dword_dot8(vi acc, Dwords8 x, DwordTaps8 taps) { return vi_dot4(acc, x, taps); }
#endif
enum { DWORD_TAPS8 = VB * PARTS8 }; /* bytes of those of VL dwords */

/* Tap j of the dword `lane`. */
SIMD_INLINE void pack_tap8(int8_t *taps, ptrdiff_t lane, int j, int8_t tap) {
#if PARTS8 == 2
  const int16_t wide = tap;
  memcpy(taps + j % 2 * VB + 4 * lane + j / 2 * 2, &wide, 2);
#else
  taps[4 * lane + j] = tap;
#endif
}

/* The same without rounding: the sums themselves. */
SIMD_INLINE void finish_sums(const int R, const int X, const int pieces, const Columns8 *s, vi acc[2][4][4], ptrdiff_t y_group, ptrdiff_t at,
                             ptrdiff_t n) {
  _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) {
    if (r >= s->rows) break;
    _Pragma("GCC unroll 4") for (int g = 0; g < X; g++) {
      int32_t *to = s->sums + at + r * s->y_row + g * y_group;
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        const ptrdiff_t left = (g + 1 < X ? VB : n) - i * VL;
        int32_t *here = to + (pieces == 0 ? i * VL : i / (4 / (pieces ? pieces : 1)) * s->y_pixel + i % (4 / (pieces ? pieces : 1)) * VL);
        if (left >= VL) vi_store(here, acc[r][g][i]);
        else if (left > 0) vi_store_part(here, acc[r][g][i], left);
      }
    }
  }
}

/* X groups of R rows as bytes. y: of the first group; n: values of the last group. */
SIMD_INLINE void finish_bytes(const int R, const int X, const int pieces, const int raised, const Columns8 *s, vi acc[2][4][4], ptrdiff_t y_group,
                              uint8_t *y, ptrdiff_t n) {
  vf scales[4];
  const vb zero = s->zero, low = s->low, high = s->high;
  const int is_signed = s->is_signed;
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) scales[i] = vf_load(s->scales + i * VL);
  _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) {
    if (r >= s->rows) break;
    _Pragma("GCC unroll 4") for (int g = 0; g < X; g++) {
      uint8_t *to = y + r * s->y_row + g * y_group;
      vi q[4];
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) q[i] = vi_from_vf(product8(raised, acc[r][g][i], scales[i]));
      vb out = bytes8(raised, is_signed, q[0], q[1], q[2], q[3], zero, low, high);
      if (pieces != 1) out = vb_unlane(out);
      if (pieces == 0) {
        if (g + 1 < X || n >= VB) vb_store(to, out);
        else vb_store_part(to, out, n);
      } else {
        vb_scatter(to, s->y_pixel, out, pieces, g + 1 < X ? pieces : n / (VB / pieces));
      }
    }
  }
}

SIMD_INLINE void finish_groups(const int R, const int X, const int pieces, const Columns8 *s, vi acc[2][4][4], ptrdiff_t y_group, uint8_t *y,
                               ptrdiff_t n) {
  if (s->sums) finish_sums(R, X, pieces, s, acc, y_group, y - s->y0, n);
  else if (RAISES8 && s->raised) finish_bytes(R, X, pieces, 1, s, acc, y_group, y, n);
  else finish_bytes(R, X, pieces, 0, s, acc, y_group, y, n);
}

/* Any filter. y_group: bytes of y from one of the groups done together to the next. */
SIMD_INLINE void sum_groups(const int R, const int X, const Columns8 *s, ptrdiff_t group, ptrdiff_t y_group, uint8_t *y, ptrdiff_t n) {
  vi acc[2][4][4];
  ptrdiff_t from[4][4];
  const int8_t *taps = s->taps;
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    const vi bias = vi_load(s->bias + i * VL);
    _Pragma("GCC unroll 4") for (int g = 0; g < X; g++) {
      from[g][i] = s->sources[4 * (group + g * s->next) + i];
      _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) acc[r][g][i] = bias;
    }
  }
  for (ptrdiff_t c = 0; c < s->columns; c++) {
    const uint8_t *plane = s->planes + c * s->column_step;
    for (ptrdiff_t q = 0; q < s->quads; q++, plane += s->plane_bytes) {
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        DwordTaps8 w[2];
        _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) w[r] = dword_taps8(taps + r * DWORD_TAPS8);
        taps += R * DWORD_TAPS8;
        _Pragma("GCC unroll 4") for (int g = 0; g < X; g++) {
          const Dwords8 x = dwords8(plane + from[g][i]);
          _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) acc[r][g][i] = dword_dot8(acc[r][g][i], x, w[r]);
        }
      }
    }
  }
  if (s->extra) {
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
      for (int32_t e = s->extra[i]; e < s->extra[i + 1]; e++) {
        _Pragma("GCC unroll 4") for (int g = 0; g < X; g++) {
          const Dwords8 x = dwords8(s->planes + s->extra_at[e] + from[g][i]);
          _Pragma("GCC unroll 2") for (int r = 0; r < R; r++)
            acc[r][g][i] = dword_dot8(acc[r][g][i], x, dword_taps8(s->extra_taps + (e * R + r) * DWORD_TAPS8));
        }
      }
    }
  }
  if (s->pieces == 0) finish_groups(R, X, 0, s, acc, y_group, y, n);
  else if (s->pieces == 1) finish_groups(R, X, 1, s, acc, y_group, y, n);
  else if (s->pieces == 2) finish_groups(R, X, 2, s, acc, y_group, y, n);
  else finish_groups(R, X, 4, s, acc, y_group, y, n);
}

/* The dwords of a single position and n channels from `at` on, below four taps. */
SIMD_INLINE void gather_position(const uint8_t *const *rows, ptrdiff_t at, ptrdiff_t n, vb change, vb *x) {
  vb r[4];
  _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) r[j] = n >= VB ? vb_load(rows[j] + at) : vb_load_part(rows[j] + at, n);
  interleave(4, 0, r, change, x);
}

/* n values of a single position, from `at` of the pixels below the filter: rows[4 * (column * quads + quad) + j]. */
static void sum_position(const Columns8 *s, const uint8_t *const *rows, ptrdiff_t at, ptrdiff_t n, int flip, uint8_t *y) {
  const vb change = vb_set1(flip);
  vi acc[2][4][4];
  vb x[4];
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) acc[0][0][i] = vi_load(s->bias + i * VL);
  for (ptrdiff_t k = 0; k < s->columns * s->quads; k++) {
    gather_position(rows + 4 * k, at, n, change, x);
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
      acc[0][0][i] = dword_dot8(acc[0][0][i], dwords8(&x[i]), dword_taps8(s->taps + (4 * k + i) * DWORD_TAPS8));
  }
  if (s->extra) {
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
      for (int32_t e = s->extra[i]; e < s->extra[i + 1]; e++) {
        gather_position(rows + 4 * s->extra_at[e], at, n, change, x);
        acc[0][0][i] = dword_dot8(acc[0][0][i], dwords8(&x[i]), dword_taps8(s->extra_taps + e * DWORD_TAPS8));
      }
    }
  }
  finish_groups(1, 1, 0, s, acc, 0, y, n);
}

#include "depthwise8_roll.h"

/* Filters of three columns and one quad over X groups of pixels next to each other: what is loaded for one pixel serves its neighbours. With a
 * `dilated` filter those are as far from each other as its columns, `dilation` pixels. */
SIMD_INLINE void slide_groups(const int R, const int X, const int pieces, const int stride, const int dilated, const Columns8 *s, ptrdiff_t group,
                              uint8_t *y, ptrdiff_t n) {
  const int vectors = 4 / pieces; /* of a pixel */
  const ptrdiff_t column = dilated ? s->column_step : vectors * VB, dilation = dilated ? s->column_step / (4 * VB) : 1;
  vi acc[2][4][4];
  const uint8_t *plane = s->planes + group * pieces * stride * s->column_step;
  _Pragma("GCC unroll 4") for (int u = 0; u < vectors; u++) {
    const vi bias = vi_load(s->bias + u * VL);
    DwordTaps8 w[3][2];
    _Pragma("GCC unroll 4") for (int c = 0; c < 3; c++)
      _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) w[c][r] = dword_taps8(s->taps + ((c * 4 + u) * R + r) * DWORD_TAPS8);
    _Pragma("GCC unroll 16") for (int p = 0; p < X * pieces; p++)
      _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) acc[r][p / pieces][p % pieces * vectors + u] = bias;
    _Pragma("GCC unroll 40") for (int j = 0; j < (X * pieces - 1) * stride + 3; j++) {
      const Dwords8 x = dwords8(plane + j * column + u * VB);
      _Pragma("GCC unroll 16") for (int p = 0; p < X * pieces; p++) {
        const int c = j - p * stride, g = p / pieces, i = p % pieces * vectors + u;
        if (c < 0 || c > 2) continue;
        _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) acc[r][g][i] = dword_dot8(acc[r][g][i], x, w[c][r]);
      }
    }
    if (s->extra) {
      for (int32_t e = s->extra[u]; e < s->extra[u + 1]; e++) {
        const uint8_t *at = plane + s->extra_at[e] + u * VB;
        _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) w[0][r] = dword_taps8(s->extra_taps + (e * R + r) * DWORD_TAPS8);
        _Pragma("GCC unroll 16") for (int p = 0; p < X * pieces; p++) {
          const Dwords8 x = dwords8(at + p * stride * column);
          vi *sums[2] = {&acc[0][p / pieces][p % pieces * vectors + u], &acc[1][p / pieces][p % pieces * vectors + u]};
          _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) *sums[r] = dword_dot8(*sums[r], x, w[0][r]);
        }
      }
    }
  }
  finish_groups(R, X, pieces, s, acc, pieces * dilation * s->y_pixel, y, n);
}

typedef void (*Slide8)(const Columns8 *, ptrdiff_t, uint8_t *, ptrdiff_t);

#define SLIDE_OF(NAME, R, X, PIECES, STRIDE, DILATED)                                                                                             \
  static void NAME(const Columns8 *s, ptrdiff_t group, uint8_t *y, ptrdiff_t n) { slide_groups(R, X, PIECES, STRIDE, DILATED, s, group, y, n); }
#define SLIDE(NAME, R, X, PIECES, STRIDE) SLIDE_OF(NAME, R, X, PIECES, STRIDE, 0)
#define SLIDES(PIECES)                        \
  SLIDE(slide_1_1_##PIECES, 1, SLIDE_1, PIECES, 1) \
  SLIDE(slide_1_2_##PIECES, 1, SLIDE_1, PIECES, 2) \
  SLIDE(slide_2_1_##PIECES, 2, SLIDE_2, PIECES, 1)
#if SIMD_ISA == 512 /* there pixels of VB channels roll */
enum { FEWEST_PIECES = 2 };
#else
enum { FEWEST_PIECES = 1 };
SLIDES(1)
#endif
SLIDES(2)
SLIDES(4)

/* [one row; one row, stride 2; two rows][1, 2, 4 pieces] */
#if SIMD_ISA == 512
#define BY_PIECES(NAME) {NULL, NAME##_2, NAME##_4}
#else
#define BY_PIECES(NAME) {NAME##_1, NAME##_2, NAME##_4}
#endif
static const Slide8 SLIDE8[3][3] = {BY_PIECES(slide_1_1), BY_PIECES(slide_1_2), BY_PIECES(slide_2_1)};

#if SIMD_ISA == 256
SLIDE(slide_1_1_fewer, 1, SLIDE_1 - 1, 1, 1)
SLIDE(slide_1_2_fewer, 1, SLIDE_1 - 1, 1, 2)
SLIDE(slide_2_1_fewer, 2, SLIDE_2 - 1, 1, 1)
SLIDE_OF(slide_dilated, 2, SLIDE_2, 1, 1, 1)
SLIDE_OF(slide_dilated_fewer, 2, SLIDE_2 - 1, 1, 1, 1)
static const Slide8 FEWER8[3] = {slide_1_1_fewer, slide_1_2_fewer, slide_2_1_fewer}; /* one group less, of one piece */
static const Slide8 DILATED8[2] = {slide_dilated, slide_dilated_fewer}; /* two rows, stride 1, one piece */
#else
static const Slide8 FEWER8[3] = {NULL}, DILATED8[2] = {NULL};
#endif

#define SUM_GROUPS(NAME, R, X)                                                                                            \
  static void NAME(const Columns8 *s, ptrdiff_t group, ptrdiff_t y_group, uint8_t *y, ptrdiff_t n) {                      \
    sum_groups(R, X, s, group, y_group, y, n);                                                                            \
  }
SUM_GROUPS(sum_groups_1_1, 1, 1)
SUM_GROUPS(sum_groups_2_1, 2, 1)
SUM_GROUPS(sum_groups_1, 1, TOGETHER_1)
SUM_GROUPS(sum_groups_2, 2, TOGETHER_2)

/* The groups first, first + next, ... of an output row of `total` values. */
static void sum_every(const Columns8 *s, int rows, ptrdiff_t first, ptrdiff_t groups, uint8_t *y, ptrdiff_t total) {
  const int together = rows == 1 ? TOGETHER_1 : TOGETHER_2;
  const ptrdiff_t step = s->pieces == 0 ? VB : s->pieces * s->y_pixel;
  ptrdiff_t g = first;
  for (; g + (together - 1) * s->next < groups; g += together * s->next) {
    const ptrdiff_t n = total - (g + (together - 1) * s->next) * VB;
    (rows == 1 ? sum_groups_1 : sum_groups_2)(s, g, s->next * step, y + g * step, n);
  }
  for (; g < groups; g += s->next) {
    const ptrdiff_t n = total - g * VB;
    (rows == 1 ? sum_groups_1_1 : sum_groups_2_1)(s, g, s->next * step, y + g * step, n);
  }
}

/* `groups` groups, whose outputs are `step` bytes apart. Where they are not a multiple of those done together, some are done with one less, or the last
 * ones overlap those before. */
SIMD_INLINE void slide_row(const Columns8 *s, Slide8 slide, Slide8 fewer, ptrdiff_t together, ptrdiff_t groups, ptrdiff_t step, uint8_t *y,
                           ptrdiff_t total) {
  const ptrdiff_t last = fewer ? (together - groups % together) % together * (together - 1) : 0; /* groups for `fewer`, of one piece */
  ptrdiff_t g = 0;
  if (last > 0 && last <= groups) {
    for (; g < groups - last; g += together) slide(s, g, y + g * step, VB);
    for (; g < groups; g += together - 1) fewer(s, g, y + g * step, VB);
    return;
  }
  for (; g < groups; g += together) {
    if (g + together > groups) g = groups - together;
    slide(s, g, y + g * step, total - (g + together - 1) * VB);
  }
}

/* All groups of an output row of pixels. */
static void sum_pixels(const Columns8 *s, int rows, ptrdiff_t groups, uint8_t *y, ptrdiff_t total) {
  const ptrdiff_t together = rows == 1 ? SLIDE_1 : SLIDE_2;
  const ptrdiff_t step = s->pieces * s->y_pixel, dilation = s->column_step / (4 * VB / s->pieces);
  const int slides = s->columns == 3 && s->quads == 1 && s->stride <= 2 && (rows == 1 || s->stride == 1) && groups / dilation >= together &&
                     s->pieces >= FEWEST_PIECES;
  if (slides && dilation == 1) {
    const int which = rows == 2 ? 2 : (int)s->stride - 1;
    slide_row(s, SLIDE8[which][s->pieces / 2], s->pieces == 1 ? FEWER8[which] : NULL, together, groups, step, y, total);
  } else if (slides && rows == 2 && s->pieces == 1 && DILATED8[0]) {
    Columns8 lattice = *s;
    for (ptrdiff_t first = 0; first < dilation; first++, lattice.planes += 4 * VB)
      slide_row(&lattice, DILATED8[0], DILATED8[1], together, (groups - first + dilation - 1) / dilation, dilation * step, y + first * step,
                total);
  } else {
    sum_every(s, rows, 0, groups, y, total);
  }
}
#endif
