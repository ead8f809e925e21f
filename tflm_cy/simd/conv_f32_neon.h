/* The tiles of conv_f32.h for NEON: four values of a position are loaded together, and each is multiplied from its lane. Part of conv_f32.h.
 *
 * Also the orders of XNNPACK's kernels for aarch64 that keep several sums (arithmetic/xnnpack/product_order.pxd): the value k of a stretch goes to the
 * sum k % SUMS, as many sums as a position and a vector of columns have. */
#ifndef TFLM_CY_SIMD_CONV_F32_NEON_H
#define TFLM_CY_SIMD_CONV_F32_NEON_H

enum { ONE_CHAIN32 = 0, TWO_CHAINS32 = 1, FOUR_LANES32 = 2, FOUR_CHAINS32 = 3 };
#define SUMS32(ORDER) ((ORDER) == ONE_CHAIN32 ? 1 : (ORDER) == TWO_CHAINS32 ? 2 : 4)

/* Behind the whole fours of a stretch. */
SIMD_INLINE void join_sums32(const int ORDER, const int R, const int NC, vf (*sum)[14][8]) {
  UNROLL32 for (int r = 0; r < R; r++) {
    UNROLL32 for (int j = 0; j < NC; j++) {
      if (ORDER == FOUR_LANES32) {
        sum[0][r][j] = vf_add_first(vf_add_first(sum[0][r][j], sum[1][r][j]), vf_add_first(sum[2][r][j], sum[3][r][j]));
      } else {
        sum[0][r][j] = vf_add_first(sum[0][r][j], sum[2][r][j]);
        sum[1][r][j] = vf_add_first(sum[1][r][j], sum[3][r][j]);
      }
    }
  }
}

/* One value of each position; it goes to the sum `at`. */
SIMD_INLINE void step32(const int R, const int NC, const int at, const char *const *q, ptrdiff_t row, const float *w, vf (*sum)[14][8]) {
  vf v[8];
  UNROLL32 for (int j = 0; j < NC; j++) v[j] = vf_load(w + j * VL);
  UNROLL32 for (int r = 0; r < R; r++) {
    const float *x = (const float *)(q[r / 3] + r % 3 * row);
    UNROLL32 for (int j = 0; j < NC; j++) sum[at][r][j] = vf_fma_first_at(v[j], x, sum[at][r][j]);
  }
}

SIMD_INLINE void tile32(const int ORDER, const int R, const int NC, const int FINISHES, const Window32 *t, ptrdiff_t first, const float *w, ptrdiff_t n, float *y) {
  const int SUMS = SUMS32(ORDER);
  const ptrdiff_t row = t->row;
  vf sum[4][14][8];
  UNROLL32 for (int j = 0; j < NC; j++) {
    const vf bias = vf_load(w + j * VL);
    UNROLL32 for (int r = 0; r < R; r++) {
      sum[0][r][j] = bias;
      UNROLL32 for (int i = 1; i < SUMS; i++) sum[i][r][j] = vf_set1(0);
    }
  }
  w += NC * VL;
  for (ptrdiff_t s = 0; s < t->count; s++) {
    const char *q[3];
    ptrdiff_t k = t->length;
    q[0] = (const char *)(t->stretches[s] + first);
    q[1] = q[0] + (R > 3 ? 3 * row : 0);
    q[2] = q[1] + (R > 6 ? 3 * row : 0);
    for (; k >= 4; k -= 4) {
      vf x[8];
      UNROLL32 for (int r = 0; r < R; r++) x[r] = vf_load((const float *)(q[r / 3] + r % 3 * row));
#define LANE32(LANE)                                                                                                        \
  {                                                                                                                         \
    vf v[8];                                                                                                                \
    SIMD_NO_LOADS_EARLIER;                                                                                                  \
    UNROLL32 for (int j = 0; j < NC; j++) v[j] = vf_load(w + (LANE * NC + j) * VL);                                          \
    UNROLL32 for (int r = 0; r < R; r++) {                                                                                  \
      UNROLL32 for (int j = 0; j < NC; j++) sum[LANE % SUMS][r][j] = vf_fma_lane(v[j], x[r], LANE, sum[LANE % SUMS][r][j]);  \
    }                                                                                                                       \
  }
      LANE32(0) LANE32(1) LANE32(2) LANE32(3)
#undef LANE32
      w += 4 * NC * VL;
      UNROLL32 for (int i = 0; i < 3; i++) q[i] += 16;
    }
    if (ORDER == FOUR_LANES32 || (ORDER == FOUR_CHAINS32 && t->length >= 4)) join_sums32(ORDER, R, NC, sum);
    for (int odd = 0; k > 0; k--, odd = !odd) {
      if (odd && (ORDER == TWO_CHAINS32 || ORDER == FOUR_CHAINS32)) step32(R, NC, 1, q, row, w, sum);
      else step32(R, NC, 0, q, row, w, sum);
      w += NC * VL;
      UNROLL32 for (int i = 0; i < 3; i++) q[i] += 4;
    }
  }
  if (ORDER == TWO_CHAINS32 || ORDER == FOUR_CHAINS32) {
    UNROLL32 for (int r = 0; r < R; r++)
      UNROLL32 for (int j = 0; j < NC; j++) sum[0][r][j] = vf_add_first(sum[0][r][j], sum[1][r][j]);
  }
  finish_tile32(R, NC, 0, FINISHES, t, sum[0], NULL, n, y);
}

#define TILE32_OF(KIND, ORDER, R, NC, FINISHES) \
  static void KIND##_##R##x##NC(const Window32 *t, ptrdiff_t first, const float *w, ptrdiff_t n, float *y) { \
    tile32(ORDER, R, NC, FINISHES, t, first, w, n, y); \
  }
#define ROWS32_1(F, K, O, NC, E) F(K, O, 1, NC, E)
#define ROWS32_2(F, K, O, NC, E) ROWS32_1(F, K, O, NC, E) F(K, O, 2, NC, E)
#define ROWS32_4(F, K, O, NC, E) ROWS32_2(F, K, O, NC, E) F(K, O, 3, NC, E) F(K, O, 4, NC, E)
#define ROWS32_6(F, K, O, NC, E) ROWS32_4(F, K, O, NC, E) F(K, O, 5, NC, E) F(K, O, 6, NC, E)
#define ROWS32_8(F, K, O, NC, E) ROWS32_6(F, K, O, NC, E) F(K, O, 7, NC, E) F(K, O, 8, NC, E)
#define NAME32_OF(KIND, ORDER, R, NC, FINISHES) KIND##_##R##x##NC,
#define WIDE32(F, K, O, E) F(K, O, 1, 5, E) F(K, O, 1, 6, E) F(K, O, 1, 7, E) F(K, O, 1, 8, E)

/* With one sum 24 accumulators at most, with more 16. A single position meets up to eight vectors of columns, with four sums four. */
#define ONE_CHAIN_OF(F, K, E) \
  ROWS32_8(F, K, ONE_CHAIN32, 1, E) ROWS32_8(F, K, ONE_CHAIN32, 2, E) ROWS32_6(F, K, ONE_CHAIN32, 3, E) ROWS32_4(F, K, ONE_CHAIN32, 4, E) WIDE32(F, K, ONE_CHAIN32, E)
#define TWO_CHAINS_OF(F, K, E) \
  ROWS32_6(F, K, TWO_CHAINS32, 1, E) ROWS32_4(F, K, TWO_CHAINS32, 2, E) ROWS32_2(F, K, TWO_CHAINS32, 3, E) ROWS32_2(F, K, TWO_CHAINS32, 4, E) WIDE32(F, K, TWO_CHAINS32, E)
#define FOUR_OF(F, K, O, E) ROWS32_4(F, K, O, 1, E) ROWS32_2(F, K, O, 2, E) ROWS32_1(F, K, O, 3, E) ROWS32_1(F, K, O, 4, E)
ONE_CHAIN_OF(TILE32_OF, one32, 0)
ONE_CHAIN_OF(TILE32_OF, one_finish32, 1)
TWO_CHAINS_OF(TILE32_OF, two32, 0)
FOUR_OF(TILE32_OF, lanes32, FOUR_LANES32, 0)
FOUR_OF(TILE32_OF, four32, FOUR_CHAINS32, 0)

#define BY_ROWS32(N, K, NC) {0, ROWS32_##N(NAME32_OF, K, 0, NC, 0)}
#define WIDE_NAMES32(K) {0, K##_1x5}, {0, K##_1x6}, {0, K##_1x7}, {0, K##_1x8}
#define ONE_NAMES32(K) {{0}, BY_ROWS32(8, K, 1), BY_ROWS32(8, K, 2), BY_ROWS32(6, K, 3), BY_ROWS32(4, K, 4), WIDE_NAMES32(K)}
#define TWO_NAMES32(K) {{0}, BY_ROWS32(6, K, 1), BY_ROWS32(4, K, 2), BY_ROWS32(2, K, 3), BY_ROWS32(2, K, 4), WIDE_NAMES32(K)}
#define FOUR_NAMES32(K) {{0}, BY_ROWS32(4, K, 1), BY_ROWS32(2, K, 2), BY_ROWS32(1, K, 3), BY_ROWS32(1, K, 4)}
/* [order][finishes][vectors][positions]; what follows a product is computed with one sum only: gemm_f32.pxd fuses no other */
static const Tile32 tiles32[4][2][WIDE_PANEL32 + 1][9] = {
  {ONE_NAMES32(one32), ONE_NAMES32(one_finish32)},
  {TWO_NAMES32(two32)},
  {FOUR_NAMES32(lanes32)},
  {FOUR_NAMES32(four32)},
};
static const int most_rows32[4][WIDE_PANEL32 + 1] = {
  {0, 8, 8, 6, 4, 1, 1, 1, 1}, {0, 6, 4, 2, 2, 1, 1, 1, 1}, {0, 4, 2, 1, 1}, {0, 4, 2, 1, 1}}; /* positions of a tile, by order and vectors */

SIMD_INLINE int most_positions32(int order, int vectors) { return most_rows32[order][vectors]; }
SIMD_INLINE const Tile32 *tiles_of32(int order, int finishes, int vectors, ptrdiff_t n) { (void)n; return tiles32[order][finishes][vectors]; }
SIMD_INLINE int widest_panel32(int order) { return SUMS32(order) == 4 ? PANEL32 : WIDE_PANEL32; }
SIMD_INLINE int has_order32(int order) { return order >= ONE_CHAIN32 && order <= FOUR_CHAINS32; }
#endif
