/* The inner loops of depthwise_i8.pxi: planes of interleaved rows, and sums over them.
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
#ifndef TFLM_CY_SIMD_DEPTHWISE_I8_H
#define TFLM_CY_SIMD_DEPTHWISE_I8_H

#include "requantize8.h"
#include "step8.h"

#if SIMD_ISA == 512
enum { TOGETHER_1 = 4, TOGETHER_2 = 2 }; /* groups at once, with one row of output and two */
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
  int magic_bias;             /* the sums are (requantize8.h) */
  int32_t *sums;          /* not NULL: where the sums go, in the order of the outputs, whose first one `y0` stands for */
  const uint8_t *y0;
} Columns8;

/* The channel, of VB, whose dword is number `lane` of a group. */
SIMD_INLINE int whole_channel(int lane) { return lane % VL / 4 * 16 + lane / VL * 4 + lane % 4; }

typedef struct {              /* for windows that roll along them (depthwise_i8_roll.h) */
  const uint8_t *const *rows; /* of pixel 0, at the first channel: four for two rows of output, else three */
  ptrdiff_t pixel;            /* bytes from one to the next */
  ptrdiff_t width;            /* pixels of a row */
  ptrdiff_t first;            /* the one below the first column of the first window */
  ptrdiff_t dilation;         /* pixels from a column to the next */
  ptrdiff_t count;            /* windows */
  int flip;                   /* the bits of a byte to change */
  int outside;                /* what a byte is then where there is no pixel */
} Rows8;

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
SIMD_INLINE vi dword_dot8(vi acc, Dwords8 x, DwordTaps8 taps) { return vi_dot4_small(acc, x, taps); }
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

/* X groups of R rows as bytes. whole: their dwords are in the order of whole_channel. y: of the first group; n: values of the last group. */
SIMD_INLINE void finish_bytes(const int R, const int X, const int pieces, const int whole, const int magic_bias, const Columns8 *s, vi acc[2][4][4],
                              ptrdiff_t y_group, uint8_t *y, ptrdiff_t n) {
  vf scales[4];
  const vb zero = s->zero, low = s->low, high = s->high;
  const int is_signed = s->is_signed;
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) scales[i] = vf_load(s->scales + i * VL);
  _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) {
    if (r >= s->rows) break;
    _Pragma("GCC unroll 4") for (int g = 0; g < X; g++) {
      uint8_t *to = y + r * s->y_row + g * y_group;
      vi q[4];
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) q[i] = scaled8(magic_bias, is_signed, acc[r][g][i], scales[i]);
      vb out = bytes8(magic_bias, is_signed, q[0], q[1], q[2], q[3], zero, low, high);
      if (!whole) out = vb_unlane(out);
      if (pieces == 0) {
        if (g + 1 < X || n >= VB) vb_store(to, out);
        else vb_store_part(to, out, n);
      } else {
        vb_scatter(to, s->y_pixel, out, pieces, g + 1 < X ? pieces : n / (VB / pieces));
      }
    }
  }
}

/* Raised sums or not. */
SIMD_INLINE void finish_either(const int R, const int X, const int pieces, const int whole, const Columns8 *s, vi acc[2][4][4], ptrdiff_t y_group,
                               uint8_t *y, ptrdiff_t n) {
  if (RAISES8 && s->magic_bias) finish_bytes(R, X, pieces, whole, 1, s, acc, y_group, y, n);
  else finish_bytes(R, X, pieces, whole, 0, s, acc, y_group, y, n);
}

SIMD_INLINE void finish_groups(const int R, const int X, const int pieces, const Columns8 *s, vi acc[2][4][4], ptrdiff_t y_group, uint8_t *y,
                               ptrdiff_t n) {
  if (s->sums) finish_sums(R, X, pieces, s, acc, y_group, y - s->y0, n);
  else finish_either(R, X, pieces, pieces == 1, s, acc, y_group, y, n);
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
SIMD_INLINE void gather_position(const int whole, const uint8_t *const *rows, ptrdiff_t at, ptrdiff_t n, vb change, vb *x) {
  vb r[4];
  _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) r[j] = n >= VB ? vb_load(rows[j] + at) : vb_load_part(rows[j] + at, n);
  interleave(4, whole, r, change, x);
}

SIMD_INLINE void sum_below(const int whole, const Columns8 *s, const uint8_t *const *rows, ptrdiff_t at, ptrdiff_t n, int flip, uint8_t *y) {
  const vb change = vb_set1(flip);
  vi acc[2][4][4];
  vb x[4];
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) acc[0][0][i] = vi_load(s->bias + i * VL);
  for (ptrdiff_t k = 0; k < s->columns * s->quads; k++) {
    gather_position(whole, rows + 4 * k, at, n, change, x);
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
      acc[0][0][i] = dword_dot8(acc[0][0][i], dwords8(&x[i]), dword_taps8(s->taps + (4 * k + i) * DWORD_TAPS8));
  }
  if (s->extra) {
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
      for (int32_t e = s->extra[i]; e < s->extra[i + 1]; e++) {
        gather_position(whole, rows + 4 * s->extra_at[e], at, n, change, x);
        acc[0][0][i] = dword_dot8(acc[0][0][i], dwords8(&x[i]), dword_taps8(s->extra_taps + e * DWORD_TAPS8));
      }
    }
  }
  if (!whole) finish_sums(1, 1, 0, s, acc, 0, y - s->y0, n);
  else finish_either(1, 1, 0, 1, s, acc, 0, y, n);
}

/* n values of a single position, from `at` of the pixels below the filter: rows[4 * (column * quads + quad) + j]. Bytes are whole, sums are not. */
static void sum_position(const Columns8 *s, const uint8_t *const *rows, ptrdiff_t at, ptrdiff_t n, int flip, uint8_t *y) {
  if (s->sums) sum_below(0, s, rows, at, n, flip, y);
  else sum_below(1, s, rows, at, n, flip, y);
}

/* By rows of output and stride (one row; one row, stride 2; two rows), and 1, 2, 4 pieces. */
#define BY_PIECES(NAME) {NAME##_1, NAME##_2, NAME##_4}

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

#if SIMD_ISA == 512
#include "depthwise_i8_roll.h"
static void sum_pixels(const Columns8 *s, int rows, ptrdiff_t groups, uint8_t *y, ptrdiff_t total) { sum_every(s, rows, 0, groups, y, total); }
#else
#include "depthwise_i8_slide.h"
static int rolls(int rows, int pieces, ptrdiff_t columns, ptrdiff_t taps, ptrdiff_t stride, ptrdiff_t dilation) {
  (void)rows; (void)pieces; (void)columns; (void)taps; (void)stride; (void)dilation;
  return 0;
}
static void roll_rows(const Columns8 *s, int rows, const Rows8 *x, uint8_t *y) { (void)s; (void)rows; (void)x; (void)y; }
#endif
#endif
