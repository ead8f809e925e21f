/* The loops of conv_i8.h for NEON with SMMLA, whose instruction multiplies eight taps of two columns with eight values of two positions. Part of
 * conv_i8.h.
 *
 * `pair_taps8` lays two steps of a vector of columns so: eight taps of the first two columns, then those of the other two. The last of an odd number of
 * steps of a run stays as it is. A single row meets the same weights by SDOT. */
#ifndef TFLM_CY_SIMD_CONV_I8_MMLA_H
#define TFLM_CY_SIMD_CONV_I8_MMLA_H

/* Of two positions and four columns: the first two columns of the one and of the other, and the last two. */
typedef struct { int32x4_t at[4][4][2]; } Running8;

SIMD_INLINE int pairs_fit8(const uint8_t *w, ptrdiff_t n) { (void)w; (void)n; return 1; }

/* `segments` runs of `run` steps, each of `vectors` vectors. */
static void pair_taps8(uint8_t *w, ptrdiff_t vectors, ptrdiff_t run, ptrdiff_t segments) {
  for (; segments > 0; segments--, w += run * vectors * VB)
    for (ptrdiff_t s = 0; s + 2 <= run; s += 2)
      for (ptrdiff_t j = 0; j < vectors; j++) {
        uint8_t *one = w + (s * vectors + j) * VB, *other = one + vectors * VB;
        const vb a = vb_load(one), b = vb_load(other);
        vb_store(one, vb_zip32_low(a, b));
        vb_store(other, vb_zip32_high(a, b));
      }
}

/* Two steps of P positions, which `x` has in pairs. */
SIMD_INLINE void add_pair8(const int P, const int NC, const int8x16_t *x, const int8_t *w, Running8 *sums) {
  SIMD_NO_LOADS_EARLIER;
  UNROLL for (int j = 0; j < NC; j++) {
    const int8x16_t low = vld1q_s8(w + j * VB), high = vld1q_s8(w + (NC + j) * VB);
    UNROLL for (int q = 0; q < P / 2; q++) {
      sums->at[q][j][0] = vmmlaq_s32(sums->at[q][j][0], x[q], low);
      sums->at[q][j][1] = vmmlaq_s32(sums->at[q][j][1], x[q], high);
    }
  }
}

SIMD_INLINE int8x8_t four_values8(const uint8_t *p) {
  int32_t four;
  memcpy(&four, p, 4);
  return vreinterpret_s8_s32(vset_lane_s32(four, vdup_n_s32(0), 0));
}

/* Steps of a run, which are four bytes from one to the next. */
SIMD_INLINE const int8_t *run_steps8(const int P, const int NC, const uint8_t *const *rows, ptrdiff_t at, ptrdiff_t steps, const int8_t *w, Running8 *sums) {
  int8x16_t x[4], next[4];
  for (; steps >= 4; steps -= 4, at += 16, w += 4 * NC * VB) {
    UNROLL for (int q = 0; q < P / 2; q++) {
      const vb a = vb_load(rows[2 * q] + at), b = vb_load(rows[2 * q + 1] + at);
      x[q] = simd_i8(vb_zip64_low(a, b));
      next[q] = simd_i8(vb_zip64_high(a, b));
    }
    add_pair8(P, NC, x, w, sums);
    add_pair8(P, NC, next, w + 2 * NC * VB, sums);
  }
  if (steps >= 2) {
    UNROLL for (int q = 0; q < P / 2; q++)
      x[q] = vcombine_s8(vld1_s8((const int8_t *)rows[2 * q] + at), vld1_s8((const int8_t *)rows[2 * q + 1] + at));
    add_pair8(P, NC, x, w, sums);
    steps -= 2;
    at += 8;
    w += 2 * NC * VB;
  }
  if (steps > 0) {
    UNROLL for (int q = 0; q < P / 2; q++) x[q] = vcombine_s8(four_values8(rows[2 * q] + at), four_values8(rows[2 * q + 1] + at));
    UNROLL for (int j = 0; j < NC; j++) {
      const vb taps = vb_load(w + j * VB), none = vb_set1(0);
      UNROLL for (int q = 0; q < P / 2; q++) {
        sums->at[q][j][0] = vmmlaq_s32(sums->at[q][j][0], x[q], simd_i8(vb_zip32_low(taps, none)));
        sums->at[q][j][1] = vmmlaq_s32(sums->at[q][j][1], x[q], simd_i8(vb_zip32_high(taps, none)));
      }
    }
    w += NC * VB;
  }
  return w;
}

/* All steps of a window, for P positions, an even number. */
SIMD_INLINE void multiply_steps8(const int P, const int NC, const Positions8 *t, const uint8_t *const *rows, const Panel8 *panel, Sums8 *sums) {
  const int32_t *offset = t->offsets, *const regular = offset + t->regular, *const end = offset + t->steps;
  const int8_t *w = panel->w;
  Running8 running;
  UNROLL for (int q = 0; q < P / 2; q++)
    UNROLL for (int j = 0; j < NC; j++) {
      const vb a = (vb)sums->whole[2 * q][j], b = (vb)sums->whole[2 * q + 1][j];
      running.at[q][j][0] = (int32x4_t)vb_zip64_low(a, b);
      running.at[q][j][1] = (int32x4_t)vb_zip64_high(a, b);
    }
  for (; offset < regular; offset += t->run) w = run_steps8(P, NC, rows, *offset, t->run, w, &running);
  for (; offset < end; offset++) w = run_steps8(P, NC, rows, *offset, 1, w, &running);
  UNROLL for (int q = 0; q < P / 2; q++)
    UNROLL for (int j = 0; j < NC; j++) {
      const vb low = (vb)running.at[q][j][0], high = (vb)running.at[q][j][1];
      sums->whole[2 * q][j] = (vi)vb_zip64_low(low, high);
      sums->whole[2 * q + 1][j] = (vi)vb_zip64_high(low, high);
    }
}

/* Two steps of one row: sums of the first and of the second are side by side. */
SIMD_INLINE void add_row_pair8(const int NC, int8x16_t x, const int8_t *w, int32x4_t sums[4][2]) {
  UNROLL for (int step = 0; step < 2; step++) {
    int8x16_t taps[4];
    SIMD_NO_LOADS_EARLIER;
    load_taps8(NC, w + step * NC * VB, taps);
    UNROLL for (int j = 0; j < NC; j++) sums[j][step] = vdotq_s32(sums[j][step], taps[j], x);
  }
}

/* One row whose steps lie together: two sums of a column, which do not wait for each other. */
SIMD_INLINE void multiply_row8(const int NC, const Positions8 *t, const Panel8 *panel, Sums8 *sums) {
  const int8_t *row = (const int8_t *)t->x + t->offsets[0], *w = panel->w;
  ptrdiff_t steps = t->steps;
  int32x4_t running[4][2];
  UNROLL for (int j = 0; j < NC; j++) running[j][0] = running[j][1] = vdupq_n_s32(0);
  for (; steps >= 4; steps -= 4, row += 16, w += 4 * NC * VB) {
    const int64x2_t x = (int64x2_t)vld1q_s8(row);
    add_row_pair8(NC, (int8x16_t)vdupq_laneq_s64(x, 0), w, running);
    add_row_pair8(NC, (int8x16_t)vdupq_laneq_s64(x, 1), w + 2 * NC * VB, running);
  }
  if (steps >= 2) {
    const int8x8_t x = vld1_s8(row);
    add_row_pair8(NC, vcombine_s8(x, x), w, running);
    steps -= 2;
    row += 8;
    w += 2 * NC * VB;
  }
  UNROLL for (int j = 0; j < NC; j++) {
    if (steps > 0) sums->whole[0][j] = (vi)vdotq_s32(simd_i32(sums->whole[0][j]), vld1q_s8(w + j * VB), simd_i8(vb_set1_32(row)));
    sums->whole[0][j] = vi_add(sums->whole[0][j], (vi)vpaddq_s32(running[j][0], running[j][1]));
  }
}
#endif
