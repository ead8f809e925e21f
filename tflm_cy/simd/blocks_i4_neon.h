/* Panels of blocks_i4.h for NEON. A block's sum is one integer here, so that only the floats have an order.
 *
 * | | a step's 16 bytes | a value's products |
 * | --- | --- | --- |
 * | NEON | one column: the low halves of bytes are 16 values, the high ones the next 16; greater by 8 | words, of which a column has eight in a step |
 * | SDOT | four columns: dwords of four values, the high halves the next four; signed | dwords, one for a column |
 * | SMMLA | four columns: eight values of the first two, the high halves those of the other two; signed | dwords, one for a row and a column |
 *
 * Signed halves are multiplied as they stand above four zeros: sums are 16 times greater until they become floats. */
#ifndef TFLM_CY_SIMD_BLOCKS_I4_NEON_H
#define TFLM_CY_SIMD_BLOCKS_I4_NEON_H

enum { X_BYTES4 = 1, SIGNED4 = 1, CHUNK4 = 0 };

#ifdef SIMD_DOTPROD
enum { COLUMNS4 = 8 };
#else
enum { COLUMNS4 = 4 };
#endif
enum { QUADS4 = COLUMNS4 / VL };

SIMD_INLINE void first_sums4(const Panel4 *t, const Row4 *row, vf *acc) {
  UNROLL4 for (int j = 0; j < QUADS4; j++) acc[j] = t->packed ? vf_set1(0) : vf_mul(vf_load(t->sums + j * VL), vf_set1(row->zero_point));
}

SIMD_INLINE void finish_row4(const Panel4 *t, const Row4 *row, const vf *acc, vf low, vf high, float *y) {
  const vf inverse = vf_set1(row->inverse), zero_point = vf_set1(row->zero_point);
  UNROLL4 for (int j = 0; j < QUADS4; j++) {
    const vf bias = vf_load(t->bias + j * VL);
    vf v;
    if (t->packed) v = vf_add(vf_mul(vf_fma(vf_load(t->sums + j * VL), zero_point, acc[j]), inverse), bias);
    else v = vf_fma(acc[j], inverse, bias);
    vf_store(y + j * VL, vf_max(low, vf_min(high, v))); /* NaN stays */
  }
}

#ifdef SIMD_DOTPROD
enum { STEP4 = 8, BLOCK4 = 4 * STEP4, START_BYTES4 = 0 };

SIMD_INLINE int8x16_t low_halves4(int8x16_t v) { return vshlq_n_s8(v, 4); }
SIMD_INLINE int8x16_t high_halves4(int8x16_t v) { return vandq_s8(v, vdupq_n_s8(-16)); }
/* All of a block's sums are in registers; the floats of that many rows are not. */
#define KEEP_IN_MEMORY4(acc) \
  if (P == TILE4) __asm__("" : "+m"(acc));
/* It goes on by itself: a compiler would add one index to several pointers, for which there are no registers. */
#define ONE_POINTER4(x) __asm__("" : "+r"(x))

SIMD_INLINE vf scaled4(int32x4_t sum, vf scale, vf acc) { return vf_fma((vf)vcvtq_n_f32_s32(sum, 4), scale, acc); }

#ifdef SIMD_I8MM
enum { PAIRED4 = 1 };

static void spread_row4(const uint8_t *q, ptrdiff_t k, ptrdiff_t values, uint8_t *x, uint8_t *starts) {
  (void)values;
  (void)starts;
  for (ptrdiff_t i = 0; i < k; i += 16) {
    const uint64x2_t v = vreinterpretq_u64_u8(vld1q_u8(q + i));
    vst1_u8(x + 2 * i, vreinterpret_u8_u64(vget_low_u64(v)));
    vst1_u8(x + 2 * i + 16, vreinterpret_u8_u64(vget_high_u64(v)));
  }
}
#else
enum { PAIRED4 = 0 };

static void spread_row4(const uint8_t *q, ptrdiff_t k, ptrdiff_t values, uint8_t *x, uint8_t *starts) { (void)q; (void)k; (void)values; (void)x; (void)starts; }
#endif

/* Eight values of a column, and of the one whose halves lie in the same bytes. */
static void pack_step4(const int8_t *w, ptrdiff_t row, ptrdiff_t columns, uint8_t *to) {
  for (ptrdiff_t c = 0; c < COLUMNS4; c++)
    for (int i = 0; i < 8; i++) {
      const int half = c < columns ? w[c * row + i] & 15 : 0;
#ifdef SIMD_I8MM
      uint8_t *at = to + c / VL * VB + c % 2 * 8 + i;
      const int high = c % VL / 2;
#else
      uint8_t *at = to + c * 4 + i % 4;
      const int high = i / 4;
#endif
      *at = (uint8_t)(high ? *at | half << 4 : half);
    }
}
#else
enum { PAIRED4 = 0, STEP4 = 32, BLOCK4 = STEP4, START_BYTES4 = 4 };

SIMD_INLINE int8x16_t low_halves4(uint8x16_t v) { return (int8x16_t)vandq_u8(v, vdupq_n_u8(15)); }
SIMD_INLINE int8x16_t high_halves4(uint8x16_t v) { return (int8x16_t)vshrq_n_u8(v, 4); }

static void spread_row4(const uint8_t *q, ptrdiff_t k, ptrdiff_t values, uint8_t *x, uint8_t *starts) {
  (void)x;
  for (ptrdiff_t i = 0; i < k; i += values, starts += START_BYTES4) {
    int32x4_t sums = vdupq_n_s32(0);
    for (ptrdiff_t j = i; j < i + values; j += 16) sums = vpadalq_s16(sums, vpaddlq_s8(vld1q_s8((const int8_t *)q + j)));
    const int32_t sum = -8 * vaddvq_s32(sums);
    memcpy(starts, &sum, 4);
  }
}

static void pack_step4(const int8_t *w, ptrdiff_t row, ptrdiff_t columns, uint8_t *to) {
  const int8x16_t above = vdupq_n_s8(8);
  for (ptrdiff_t c = 0; c < COLUMNS4; c++, to += 16) {
    const int8_t *at = w + c * row;
    const int8x16_t low = c < columns ? vaddq_s8(vld1q_s8(at), above) : above, high = c < columns ? vaddq_s8(vld1q_s8(at + 16), above) : above;
    vst1q_u8(to, vsliq_n_u8((uint8x16_t)low, (uint8x16_t)high, 4));
  }
}

/* A column's products with 32 values. With four of them, at most 15 * 128 each, a word has room for four times more. */
SIMD_INLINE int16x8_t products4(const int8x16_t *x, const uint8_t *w) {
  const uint8x16_t v = vld1q_u8(w);
  const int8x16_t low = low_halves4(v), high = high_halves4(v);
  int16x8_t sum = vmull_s8(vget_low_s8(x[0]), vget_low_s8(low));
  sum = vmlal_high_s8(sum, x[0], low);
  sum = vmlal_s8(sum, vget_low_s8(x[1]), vget_low_s8(high));
  return vmlal_high_s8(sum, x[1], high);
}

SIMD_INLINE void tile4(const int P, const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) {
  const vf low = vf_set1(t->low), high = vf_set1(t->high);
  vf acc[TILE4][1];
  ptrdiff_t at = 0;
  UNROLL4 for (int p = 0; p < P; p++) first_sums4(t, rows + p, acc[p]);
  for (ptrdiff_t block = 0; block < t->blocks; block++) {
    const vf scale = vf_load((const float *)w);
    int32x4_t total[TILE4];
    w += 4 * COLUMNS4;
    UNROLL4 for (int p = 0; p < P; p++) total[p] = vld1q_dup_s32((const int32_t *)(rows[p].starts + START_BYTES4 * block));
    ptrdiff_t steps = t->steps;
    do {
      int8x16_t x[TILE4][2];
      int16x8_t first[TILE4];
      UNROLL4 for (int p = 0; p < P; p++) {
        x[p][0] = vld1q_s8((const int8_t *)rows[p].x + at);
        x[p][1] = vld1q_s8((const int8_t *)rows[p].x + at + 16);
      }
      UNROLL4 for (int p = 0; p < P; p++) first[p] = vpaddq_s16(products4(x[p], w), products4(x[p], w + VB));
      if (P > 1) SIMD_NO_LOADS_EARLIER;
      UNROLL4 for (int p = 0; p < P; p++) {
        const int16x8_t second = vpaddq_s16(products4(x[p], w + 2 * VB), products4(x[p], w + 3 * VB));
        total[p] = vpadalq_s16(total[p], vpaddq_s16(first[p], second));
      }
      w += 4 * VB;
      at += STEP4;
    } while (--steps != 0);
    UNROLL4 for (int p = 0; p < P; p++) acc[p][0] = vf_fma((vf)vcvtq_f32_s32(total[p]), scale, acc[p][0]);
  }
  UNROLL4 for (int p = 0; p < P; p++) finish_row4(t, rows + p, acc[p], low, high, y + p * t->y_row);
}
#endif

#ifdef SIMD_I8MM
/* Eight values of each two rows. */
SIMD_INLINE void add_pairs4(const int P, const int8x16_t *x, const uint8_t *w, int32x4_t (*total)[QUADS4][2]) {
  UNROLL4 for (int j = 0; j < QUADS4; j++) {
    const int8x16_t v = vld1q_s8((const int8_t *)w + j * VB), first = low_halves4(v), second = high_halves4(v);
    UNROLL4 for (int q = 0; q < P / 2; q++) {
      total[q][j][0] = vmmlaq_s32(total[q][j][0], x[q], first);
      total[q][j][1] = vmmlaq_s32(total[q][j][1], x[q], second);
    }
  }
}

/* Two rows, whose values lie eight by eight in turn, for each two columns: both columns of the first row, then those of the second. */
SIMD_INLINE void tile4_pairs(const int P, const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) {
  vf acc[TILE4 / 2][QUADS4][2];
  const int8_t *x[TILE4 / 2];
  UNROLL4 for (int q = 0; q < P / 2; q++) {
    vf a[QUADS4], b[QUADS4];
    x[q] = (const int8_t *)rows[2 * q].x;
    first_sums4(t, rows + 2 * q, a);
    first_sums4(t, rows + 2 * q + 1, b);
    UNROLL4 for (int j = 0; j < QUADS4; j++) {
      acc[q][j][0] = (vf)vb_zip64_low((vb)a[j], (vb)b[j]);
      acc[q][j][1] = (vf)vb_zip64_high((vb)a[j], (vb)b[j]);
    }
  }
  for (ptrdiff_t block = 0; block < t->blocks; block++) {
    KEEP_IN_MEMORY4(acc)
    const uint8_t *scales = w;
    int32x4_t total[TILE4 / 2][QUADS4][2];
    w += 4 * COLUMNS4;
    UNROLL4 for (int q = 0; q < P / 2; q++)
      UNROLL4 for (int j = 0; j < QUADS4; j++) total[q][j][0] = total[q][j][1] = vdupq_n_s32(0);
    ptrdiff_t twos = t->steps / 2;
    do {
      int8x16_t first[TILE4 / 2], second[TILE4 / 2];
      UNROLL4 for (int q = 0; q < P / 2; q++) {
        first[q] = vld1q_s8(x[q]);
        second[q] = vld1q_s8(x[q] + VB);
        x[q] += 2 * VB;
        ONE_POINTER4(x[q]);
      }
      add_pairs4(P, first, w, total);
      add_pairs4(P, second, w + QUADS4 * VB, total);
      w += 2 * QUADS4 * VB;
    } while (--twos != 0);
    UNROLL4 for (int j = 0; j < QUADS4; j++) {
      const vb scale = vb_load(scales + j * VB);
      UNROLL4 for (int q = 0; q < P / 2; q++) {
        acc[q][j][0] = scaled4(total[q][j][0], (vf)vb_zip64_low(scale, scale), acc[q][j][0]);
        acc[q][j][1] = scaled4(total[q][j][1], (vf)vb_zip64_high(scale, scale), acc[q][j][1]);
      }
    }
  }
  const vf low = vf_set1(t->low), high = vf_set1(t->high);
  UNROLL4 for (int q = 0; q < P / 2; q++) {
    vf a[QUADS4], b[QUADS4];
    UNROLL4 for (int j = 0; j < QUADS4; j++) {
      a[j] = (vf)vb_zip64_low((vb)acc[q][j][0], (vb)acc[q][j][1]);
      b[j] = (vf)vb_zip64_high((vb)acc[q][j][0], (vb)acc[q][j][1]);
    }
    finish_row4(t, rows + 2 * q, a, low, high, y + 2 * q * t->y_row);
    finish_row4(t, rows + 2 * q + 1, b, low, high, y + (2 * q + 1) * t->y_row);
  }
}

/* Eight values of one row, beside zeros: of two columns' sums every other one counts. */
SIMD_INLINE void add_eight4(const int8_t *x, const uint8_t *w, int32x4_t (*total)[2]) {
  const int8x16_t eight = vcombine_s8(vld1_s8(x), vdup_n_s8(0));
  UNROLL4 for (int j = 0; j < QUADS4; j++) {
    const int8x16_t v = vld1q_s8((const int8_t *)w + j * VB);
    total[j][0] = vmmlaq_s32(total[j][0], low_halves4(v), eight);
    total[j][1] = vmmlaq_s32(total[j][1], high_halves4(v), eight);
  }
}

SIMD_INLINE void tile4_alone(const Panel4 *t, const Row4 *row, const uint8_t *w, float *y) {
  const int8_t *x = (const int8_t *)row->x;
  vf acc[QUADS4];
  first_sums4(t, row, acc);
  for (ptrdiff_t block = 0; block < t->blocks; block++) {
    const float *scales = (const float *)w;
    ptrdiff_t fours = t->steps >> 2;
    int32x4_t total[QUADS4][2];
    w += 4 * COLUMNS4;
    UNROLL4 for (int j = 0; j < QUADS4; j++) total[j][0] = total[j][1] = vdupq_n_s32(0);
    do {
      UNROLL4 for (int s = 0; s < 4; s++) add_eight4(x + 2 * s * STEP4, w + s * QUADS4 * VB, total);
      x += 8 * STEP4;
      w += 4 * QUADS4 * VB;
    } while (--fours != 0);
    UNROLL4 for (int j = 0; j < QUADS4; j++) acc[j] = scaled4(vuzp1q_s32(total[j][0], total[j][1]), vf_load(scales + j * VL), acc[j]);
  }
  finish_row4(t, row, acc, vf_set1(t->low), vf_set1(t->high), y);
}

SIMD_INLINE void tile4(const int P, const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) {
  if (P > 1) tile4_pairs(P, t, rows, w, y);
  else tile4_alone(t, rows, w, y);
}
#elif defined(SIMD_DOTPROD)
/* Sixteen values of each row, lane by lane. */
#define ADD_LANES4(LANE)                                                                                    \
  UNROLL4 for (int j = 0; j < QUADS4; j++, w += VB) {                                                       \
    const int8x16_t v = vld1q_s8((const int8_t *)w), first = low_halves4(v), second = high_halves4(v);      \
    UNROLL4 for (int p = 0; p < P; p++) {                                                                   \
      total[p][j] = vdotq_laneq_s32(total[p][j], first, x[p], LANE);                                        \
      total[p][j] = vdotq_laneq_s32(total[p][j], second, x[p], LANE + 1);                                   \
    }                                                                                                       \
  }

SIMD_INLINE void add_sixteen4(const int P, const Row4 *rows, ptrdiff_t at, const uint8_t *w, int32x4_t (*total)[QUADS4]) {
  int8x16_t x[TILE4];
  UNROLL4 for (int p = 0; p < P; p++) x[p] = vld1q_s8((const int8_t *)rows[p].x + at);
  ADD_LANES4(0)
  ADD_LANES4(2)
}

SIMD_INLINE void tile4(const int P, const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) {
  enum { VALUES = 2 * STEP4, BYTES = VALUES * COLUMNS4 / 2 };
  const vf low = vf_set1(t->low), high = vf_set1(t->high);
  vf acc[TILE4][QUADS4];
  ptrdiff_t at = 0;
  UNROLL4 for (int p = 0; p < P; p++) first_sums4(t, rows + p, acc[p]);
  for (ptrdiff_t block = 0; block < t->blocks; block++) {
    KEEP_IN_MEMORY4(acc)
    const float *scales = (const float *)w;
    int32x4_t total[TILE4][QUADS4];
    w += 4 * COLUMNS4;
    UNROLL4 for (int p = 0; p < P; p++)
      UNROLL4 for (int j = 0; j < QUADS4; j++) total[p][j] = vdupq_n_s32(0);
    if (P == 1) { /* no product waits for the one before */
      ptrdiff_t fours = t->steps >> 2;
      int32x4_t others[1][QUADS4];
      UNROLL4 for (int j = 0; j < QUADS4; j++) others[0][j] = vdupq_n_s32(0);
      do {
        add_sixteen4(1, rows, at, w, total);
        add_sixteen4(1, rows, at + VALUES, w + BYTES, others);
        at += 2 * VALUES;
        w += 2 * BYTES;
      } while (--fours != 0);
      UNROLL4 for (int j = 0; j < QUADS4; j++) total[0][j] = vaddq_s32(total[0][j], others[0][j]);
    } else {
      ptrdiff_t steps = t->steps;
      do {
        add_sixteen4(P, rows, at, w, total);
        at += VALUES;
        w += BYTES;
      } while ((steps -= 2) > 0);
    }
    UNROLL4 for (int p = 0; p < P; p++)
      UNROLL4 for (int j = 0; j < QUADS4; j++) acc[p][j] = scaled4(total[p][j], vf_load(scales + j * VL), acc[p][j]);
  }
  UNROLL4 for (int p = 0; p < P; p++) finish_row4(t, rows + p, acc[p], low, high, y + p * t->y_row);
}
#endif
#endif
