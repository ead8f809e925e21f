/* The loops of conv_i8.h for NEON: four steps of a run are loaded together, and each is multiplied from its lane. Part of conv_i8.h.
 *
 * With SDOT a step is one instruction for a position and a vector of columns. Without, products of bytes are words: those of two steps are added as
 * such (`pairs`: no weight is -128, so that none leaves their range), and then to dwords, of which a column has two. */
#ifndef TFLM_CY_SIMD_CONV_I8_NEON_H
#define TFLM_CY_SIMD_CONV_I8_NEON_H

#ifdef SIMD_DOTPROD
enum { HALVES8 = 1 }; /* dwords of a column's sum */
typedef struct { int32x4_t at[8][4][HALVES8]; } Running8;

/* Four steps, whose values are a vector: those of P positions behind `first`, every second step of those behind `second`. */
SIMD_INLINE void four_steps8(const int P, const int NC, const int8x16_t *x, const int8_t *w, const int first, const int second, Running8 *sums) {
#define STEP_OF_FOUR8(FIRST, LANE)                                                                                              \
  {                                                                                                                             \
    int8x16_t taps[4];                                                                                                          \
    SIMD_NO_LOADS_EARLIER;                                                                                                      \
    load_taps8(NC, w + LANE * NC * VB, taps);                                                                                   \
    UNROLL for (int p = 0; p < P; p++)                                                                                          \
      UNROLL for (int j = 0; j < NC; j++)                                                                                       \
        sums->at[FIRST + p][j][0] = vdotq_laneq_s32(sums->at[FIRST + p][j][0], taps[j], x[p], LANE);                            \
  }
  STEP_OF_FOUR8(first, 0) STEP_OF_FOUR8(second, 1) STEP_OF_FOUR8(first, 2) STEP_OF_FOUR8(second, 3)
}
SIMD_INLINE void add_step8(int32x4_t *sum, int8x16_t taps, int8x16_t x) { sum[0] = vdotq_s32(sum[0], taps, x); }
SIMD_INLINE int32x4_t joined8(const int32x4_t *sum) { return sum[0]; }
SIMD_INLINE int pairs_fit8(const uint8_t *w, ptrdiff_t n) { (void)w; (void)n; return 1; }
#else
enum { HALVES8 = 2 };
typedef struct { int32x4_t at[8][4][HALVES8]; } Running8;

/* Two steps of P positions, by some vectors of columns from `column` on. */
SIMD_INLINE void add_two_steps8(
    const int P, const int NC, const int some, const int column, const int8x16_t *x, const int8x16_t *next_x, const int8_t *w, const int first,
    Running8 *sums) {
  int8x16_t taps[4], next[4];
  SIMD_NO_LOADS_EARLIER;
  UNROLL for (int j = 0; j < some; j++) taps[j] = vld1q_s8(w + (column + j) * VB);
  UNROLL for (int j = 0; j < some; j++) next[j] = vld1q_s8(w + (NC + column + j) * VB);
  UNROLL for (int p = 0; p < P; p++)
    UNROLL for (int j = 0; j < some; j++) {
      const int16x8_t low = vmlal_s8(vmull_s8(vget_low_s8(x[p]), vget_low_s8(taps[j])), vget_low_s8(next_x[p]), vget_low_s8(next[j]));
      const int16x8_t high = vmlal_high_s8(vmull_high_s8(x[p], taps[j]), next_x[p], next[j]);
      int32x4_t *sum = sums->at[first + p][column + j];
      sum[0] = vpadalq_s16(sum[0], low);
      sum[1] = vpadalq_s16(sum[1], high);
    }
}

/* Two steps, whose values are the lanes of a vector from `lane` on. No more weights are loaded at once than there are registers for. */
SIMD_INLINE void two_of_four8(
    const int P, const int NC, const int8x16_t *x, const int lane, const int8_t *w, const int first, Running8 *sums) {
  const int some = P > 2 ? 1 : 2;
  int8x16_t these[8], next[8];
  UNROLL for (int p = 0; p < P; p++) {
    these[p] = (int8x16_t)vdupq_n_s32(((int32x4_t)x[p])[lane]);
    next[p] = (int8x16_t)vdupq_n_s32(((int32x4_t)x[p])[lane + 1]);
  }
  UNROLL for (int j = 0; j < NC; j += some) add_two_steps8(P, NC, NC - j < some ? NC - j : some, j, these, next, w, first, sums);
}

/* Four steps, whose values are a vector: two of P positions behind `first`, two of those behind `second`. */
SIMD_INLINE void four_steps8(const int P, const int NC, const int8x16_t *x, const int8_t *w, const int first, const int second, Running8 *sums) {
  two_of_four8(P, NC, x, 0, w, first, sums);
  two_of_four8(P, NC, x, 2, w + 2 * NC * VB, second, sums);
}
SIMD_INLINE void add_step8(int32x4_t *sum, int8x16_t taps, int8x16_t x) {
  sum[0] = vpadalq_s16(sum[0], vmull_s8(vget_low_s8(x), vget_low_s8(taps)));
  sum[1] = vpadalq_s16(sum[1], vmull_high_s8(x, taps));
}
SIMD_INLINE int32x4_t joined8(const int32x4_t *sum) { return vpaddq_s32(sum[0], sum[1]); }

/* Is none of n weights, whole vectors, -128? */
static int pairs_fit8(const uint8_t *w, ptrdiff_t n) {
  vb least = vb_set1(127);
  for (ptrdiff_t i = 0; i < n; i += VB) least = vb_min_s(least, vb_load(w + i));
  return vminvq_s8(simd_i8(least)) > -128;
}
#endif

/* Steps of a run, which are four bytes from one to the next. */
SIMD_INLINE const int8_t *run_steps8(
    const int P, const int NC, const uint8_t *const *rows, ptrdiff_t at, ptrdiff_t steps, int pairs, const int8_t *w, Running8 *sums) {
  const ptrdiff_t fours = pairs ? steps >> 2 : 0;
  for (ptrdiff_t i = fours; i > 0; i--, at += 16, w += 4 * NC * VB) {
    int8x16_t x[8];
    UNROLL for (int p = 0; p < P; p++) x[p] = vld1q_s8((const int8_t *)rows[p] + at);
    four_steps8(P, NC, x, w, 0, 0, sums);
  }
  for (ptrdiff_t i = steps - 4 * fours; i > 0; i--, at += 4, w += NC * VB) {
    int8x16_t taps[4];
    load_taps8(NC, w, taps);
    UNROLL for (int p = 0; p < P; p++) {
      const int8x16_t x = simd_i8(vb_set1_32(rows[p] + at));
      UNROLL for (int j = 0; j < NC; j++) add_step8(sums->at[p][j], taps[j], x);
    }
  }
  return w;
}

/* All steps of a window, for P positions. */
SIMD_INLINE void multiply_steps8(const int P, const int NC, const Positions8 *t, const uint8_t *const *rows, const Panel8 *panel, Sums8 *sums) {
  const int32_t *offset = t->offsets, *const regular = offset + t->regular, *const end = offset + t->steps;
  const int8_t *w = panel->w;
  const int pairs = panel->pairs;
  const ptrdiff_t run = t->run;
  Running8 running;
  UNROLL for (int p = 0; p < P; p++)
    UNROLL for (int j = 0; j < NC; j++)
      UNROLL for (int i = 0; i < HALVES8; i++) running.at[p][j][i] = HALVES8 == 1 ? simd_i32(sums->whole[p][j]) : vdupq_n_s32(0);
  for (; offset < regular; offset += run) w = run_steps8(P, NC, rows, *offset, run, pairs, w, &running);
  for (; offset < end; offset++) w = run_steps8(P, NC, rows, *offset, 1, 0, w, &running);
  UNROLL for (int p = 0; p < P; p++)
    UNROLL for (int j = 0; j < NC; j++) {
      const vi sum = (vi)joined8(running.at[p][j]);
      sums->whole[p][j] = HALVES8 == 1 ? sum : vi_add(sums->whole[p][j], sum);
    }
}

/* One row whose steps lie together. Few vectors of columns have two sums each, which do not wait for each other. */
SIMD_INLINE void multiply_row8(const int NC, const Positions8 *t, const Panel8 *panel, Sums8 *sums) {
  const uint8_t *row = t->x + t->offsets[0];
  const int8_t *w = panel->w;
  const ptrdiff_t fours = panel->pairs ? t->steps >> 2 : 0;
  const int chains = NC * HALVES8 < 8 ? 2 : 1;
  Running8 running; /* as of so many positions */
  UNROLL for (int p = 0; p < chains; p++)
    UNROLL for (int j = 0; j < NC; j++)
      UNROLL for (int i = 0; i < HALVES8; i++) running.at[p][j][i] = vdupq_n_s32(0);
  for (ptrdiff_t i = fours; i > 0; i--, row += 16, w += 4 * NC * VB) {
    const int8x16_t x[1] = {vld1q_s8((const int8_t *)row)};
    four_steps8(1, NC, x, w, 0, chains - 1, &running);
  }
  run_steps8(1, NC, &row, 0, t->steps - 4 * fours, 0, w, &running);
  UNROLL for (int j = 0; j < NC; j++)
    UNROLL for (int p = 0; p < chains; p++) sums->whole[0][j] = vi_add(sums->whole[0][j], (vi)joined8(running.at[p][j]));
}
#endif
