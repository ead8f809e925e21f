/* The inner loops of depthwise8.pxi: planes of interleaved rows, and sums over them.
 *
 * A plane holds, for each byte of a row (all pixels, all channels), that byte and those of the three rows below it in one dword. A dword times
 * four weights is four taps of a column of the filter; the next column is the dword one pixel further. */
#ifndef TFLM_CY_SIMD_DEPTHWISE8_H
#define TFLM_CY_SIMD_DEPTHWISE8_H

#if SIMD_ISA == 512
enum { TOGETHER_1 = 4, TOGETHER_2 = 2 }; /* groups at once, with one row of output and with two */
#else
enum { TOGETHER_1 = 1, TOGETHER_2 = 1 };
#endif

typedef struct {
  const uint8_t *planes;
  ptrdiff_t plane_bytes;
  ptrdiff_t quads;
  ptrdiff_t columns;      /* of the filter */
  ptrdiff_t column_step;  /* bytes of a plane from one to the next */
  const int8_t *taps;     /* per column, quad, quarter, row: a vector */
  const int32_t *factors; /* per quad and row; NULL: none */
  const int32_t *bias;
  const float *scales;
  const int32_t *sources; /* four per group */
  ptrdiff_t next;         /* groups from one to the next of those done together */
  int is_signed;
  int rows;               /* to store */
  ptrdiff_t y_row;
  ptrdiff_t y_group;      /* bytes of y from one group to the next */
  vb zero, low, high;
} Columns8;

/* VB bytes of `count` rows (4; or 3, the third standing for the fourth, whose weights are 0). */
SIMD_INLINE void interleave(const int count, const vb *rows, vb change, uint8_t *plane) {
  vb r[4];
  _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) r[j] = vb_xor(vb_lane(rows[j]), change);
  if (count == 3) r[3] = r[2];
  const vb low01 = vb_zip8_low(r[0], r[1]), high01 = vb_zip8_high(r[0], r[1]);
  const vb low23 = vb_zip8_low(r[2], r[3]), high23 = vb_zip8_high(r[2], r[3]);
  vb_store(plane, vb_zip16_low(low01, low23));
  vb_store(plane + VB, vb_zip16_high(low01, low23));
  vb_store(plane + 2 * VB, vb_zip16_low(high01, high23));
  vb_store(plane + 3 * VB, vb_zip16_high(high01, high23));
}

/* n bytes of each row in stretches of VB that are `step` bytes apart; writes whole vectors. flip: the bits of each byte to change. */
SIMD_INLINE void interleave_some(const int count, const uint8_t *const *rows, ptrdiff_t n, ptrdiff_t step, int flip, uint8_t *plane) {
  const vb change = vb_set1(flip);
  ptrdiff_t at = 0;
  for (; n >= VB; n -= VB, at += step, plane += 4 * VB) {
    vb r[4];
    _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) r[j] = vb_load(rows[j] + at);
    interleave(count, r, change, plane);
  }
  if (n > 0) {
    vb r[4];
    _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) r[j] = vb_load_part(rows[j] + at, n);
    interleave(count, r, change, plane);
  }
}

static void interleave_rows(const uint8_t *const *rows, int count, ptrdiff_t n, ptrdiff_t step, int flip, uint8_t *plane) {
  if (count == 3) interleave_some(3, rows, n, step, flip, plane);
  else interleave_some(4, rows, n, step, flip, plane);
}

/* X groups of R rows. y: of the first group; n: values of the last group. */
SIMD_INLINE void sum_groups(const int R, const int X, const int factored, const Columns8 *s, ptrdiff_t group, uint8_t *y, ptrdiff_t n) {
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
      vb factors[2];
      if (factored)
        _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) factors[r] = vb_set1_32(s->factors + q * R + r);
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        vb w[2];
        _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) {
          w[r] = vb_load(taps + r * VB);
          SIMD_KEEP(w[r]);
        }
        taps += R * VB;
        _Pragma("GCC unroll 4") for (int g = 0; g < X; g++) {
          const vb x = vb_load(plane + from[g][i]);
          _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) {
            acc[r][g][i] = vi_dot4(acc[r][g][i], x, w[r]);
            if (factored) acc[r][g][i] = vi_dot4(acc[r][g][i], x, factors[r]);
          }
        }
      }
    }
  }
  vf scales[4];
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) scales[i] = vf_load(s->scales + i * VL);
  _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) {
    if (r >= s->rows) break;
    _Pragma("GCC unroll 4") for (int g = 0; g < X; g++) {
      vi q[4];
      vb out;
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) q[i] = vi_from_vf(vf_mul(vf_from_vi(acc[r][g][i]), scales[i]));
      if (s->is_signed) out = vb_min_s(vb_max_s(vb_pack_s(q[0], q[1], q[2], q[3], s->zero), s->low), s->high);
      else out = vb_min_u(vb_max_u(vb_pack_u(q[0], q[1], q[2], q[3], s->zero), s->low), s->high);
      uint8_t *to = y + r * s->y_row + g * s->next * s->y_group;
      if (g + 1 < X || n >= VB) vb_store(to, vb_unlane(out));
      else vb_store_part(to, vb_unlane(out), n);
    }
  }
}

#define SUM_GROUPS(NAME, R, X)                                                                                      \
  static void NAME(const Columns8 *s, ptrdiff_t group, uint8_t *y, ptrdiff_t n) { sum_groups(R, X, 0, s, group, y, n); } \
  static void NAME##_factored(const Columns8 *s, ptrdiff_t group, uint8_t *y, ptrdiff_t n) { sum_groups(R, X, 1, s, group, y, n); }
SUM_GROUPS(sum_groups_1_1, 1, 1)
SUM_GROUPS(sum_groups_2_1, 2, 1)
SUM_GROUPS(sum_groups_1, 1, TOGETHER_1)
SUM_GROUPS(sum_groups_2, 2, TOGETHER_2)

/* The groups first, first + next, ... of an output row of `total` values. */
static void sum_every(const Columns8 *s, int rows, ptrdiff_t first, ptrdiff_t groups, uint8_t *y, ptrdiff_t total) {
  const int together = rows == 1 ? TOGETHER_1 : TOGETHER_2;
  const int factored = s->factors != NULL;
  ptrdiff_t g = first;
  for (; g + (together - 1) * s->next < groups; g += together * s->next) {
    const ptrdiff_t n = total - (g + (together - 1) * s->next) * VB;
    if (rows == 1) (factored ? sum_groups_1_factored : sum_groups_1)(s, g, y + g * s->y_group, n);
    else (factored ? sum_groups_2_factored : sum_groups_2)(s, g, y + g * s->y_group, n);
  }
  for (; g < groups; g += s->next) {
    const ptrdiff_t n = total - g * VB;
    if (rows == 1) (factored ? sum_groups_1_1_factored : sum_groups_1_1)(s, g, y + g * s->y_group, n);
    else (factored ? sum_groups_2_1_factored : sum_groups_2_1)(s, g, y + g * s->y_group, n);
  }
}
#endif
