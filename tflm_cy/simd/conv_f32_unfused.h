/* The register tiles of conv_f32_unfused.pxi: R positions of a row of outputs times some columns; every product and every sum rounds.
 *
 * | kind | lanes of an accumulator | the sums |
 * | --- | --- | --- |
 * | ORDER | columns | in the order of k |
 * | PAIRS | columns, two each: even and odd k | even + odd, then what is left of a stretch in order |
 * | EIGHTS | positions, of eight accumulators: k mod 8 | ((0+2)+(4+6)) and ((1+3)+(5+7)), pairs of what is left to these two, their sum, the last one |
 *
 * A block of k starts from 0, and blocks are added. What is left is what a block of k has beyond a multiple of 8; only windows that are one
 * stretch may have it. */
#ifndef TFLM_CY_SIMD_ORDERED32_H
#define TFLM_CY_SIMD_ORDERED32_H

#include "simd.h"

enum { ORDER = 0, PAIRS = 1, EIGHTS = 2, ORDERED_ROWS = 8 };

typedef struct {
  const float *const *stretches; /* of the first position of the output row */
  ptrdiff_t length;              /* floats of a stretch */
  ptrdiff_t row;                 /* bytes from a position to the next */
  ptrdiff_t k, block;
  ptrdiff_t y_row;               /* floats from a position to the next */
  float low, high;
  int nan;                       /* a sum was NaN */
} Chains32;

#define UNROLL32O _Pragma("GCC unroll 16")

#if SIMD_ISA == 512
SIMD_INLINE vf vf_set2(const float *p) { double x; memcpy(&x, p, 8); return _mm512_castpd_ps(_mm512_set1_pd(x)); }
SIMD_INLINE vf vf_set8(const float *p) { return _mm512_broadcast_f32x8(_mm256_loadu_ps(p)); }
SIMD_INLINE vf vf_strided(const void *p, vi at) { return _mm512_castsi512_ps(_mm512_i32gather_epi32(at, p, 1)); } /* `at`: bytes from p */
SIMD_INLINE vf vf_fold_pairs(vf a) { /* lane i: 2 i and 2 i + 1 */
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
  return _mm512_add_ps(_mm512_permutexvar_ps(even, a), _mm512_permutexvar_ps(_mm512_add_epi32(even, _mm512_set1_epi32(1)), a));
}
SIMD_INLINE int vf_nan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
SIMD_INLINE vf vf_quarters(vf a, vf b, const int odd) { /* 128-bit quarters 0, 2 (1, 3) of both */
  return odd ? _mm512_shuffle_f32x4(a, b, 0xDD) : _mm512_shuffle_f32x4(a, b, 0x88);
}
SIMD_INLINE vf vf_zip_low(vf a, vf b) { return _mm512_shuffle_ps(a, b, 0x44); }
SIMD_INLINE vf vf_zip_high(vf a, vf b) { return _mm512_shuffle_ps(a, b, 0xEE); }
SIMD_INLINE vf vf_zip_even(vf a, vf b) { return _mm512_shuffle_ps(a, b, 0x88); }
SIMD_INLINE vf vf_zip_odd(vf a, vf b) { return _mm512_shuffle_ps(a, b, 0xDD); }
#else
SIMD_INLINE vf vf_set2(const float *p) { double x; memcpy(&x, p, 8); return _mm256_castpd_ps(_mm256_set1_pd(x)); }
SIMD_INLINE vf vf_set8(const float *p) { return _mm256_loadu_ps(p); }
SIMD_INLINE vf vf_strided(const void *p, vi at) { return _mm256_i32gather_ps((const float *)p, at, 1); }
SIMD_INLINE vf vf_fold_pairs(vf a) {
  const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
  return _mm256_add_ps(_mm256_permutevar8x32_ps(a, even), _mm256_permutevar8x32_ps(a, _mm256_add_epi32(even, _mm256_set1_epi32(1))));
}
SIMD_INLINE int vf_nan(vf a) { return _mm256_movemask_ps(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
SIMD_INLINE vf vf_quarters(vf a, vf b, const int odd) { return odd ? _mm256_permute2f128_ps(a, b, 0x31) : _mm256_permute2f128_ps(a, b, 0x20); }
SIMD_INLINE vf vf_zip_low(vf a, vf b) { return _mm256_shuffle_ps(a, b, 0x44); }
SIMD_INLINE vf vf_zip_high(vf a, vf b) { return _mm256_shuffle_ps(a, b, 0xEE); }
SIMD_INLINE vf vf_zip_even(vf a, vf b) { return _mm256_shuffle_ps(a, b, 0x88); }
SIMD_INLINE vf vf_zip_odd(vf a, vf b) { return _mm256_shuffle_ps(a, b, 0xDD); }
#endif

SIMD_INLINE vf vf_broadcast(const int KIND, const char *p) {
  return KIND == ORDER ? vf_set1(*(const float *)p) : vf_set2((const float *)p);
}

/* acc += x * w over `steps` steps of k that lie together; returns the weights behind. w_panel: floats from a vector's weights to the next's. */
SIMD_INLINE const float *chain32(const int R, const int NC, const int KIND, const char *q, ptrdiff_t row, ptrdiff_t steps, const float *w,
                                 ptrdiff_t w_panel, vf acc[ORDERED_ROWS][8]) {
  const int size = KIND == ORDER ? 4 : 8;
  const char *q1 = q + (R > 3 ? 3 * row : 0), *q2 = q + (R > 6 ? 6 * row : 0);
  for (; steps > 0; steps--) {
    vf v[8];
    UNROLL32O for (int j = 0; j < NC; j++) v[j] = vf_load(w + j * w_panel);
    UNROLL32O for (int r = 0; r < R; r++) {
      const vf x = vf_broadcast(KIND, (r < 3 ? q : r < 6 ? q1 : q2) + r % 3 * row);
      UNROLL32O for (int j = 0; j < NC; j++) acc[r][j] = vf_add(acc[r][j], vf_mul(x, v[j]));
    }
    w += VL;
    q += size;
    q1 += size;
    q2 += size;
  }
  return w;
}

SIMD_INLINE void tile32o(const int R, const int NC, const int KIND, Chains32 *t, ptrdiff_t first, const float *w, ptrdiff_t w_panel,
                         const float *bias, ptrdiff_t n, float *y) {
  const ptrdiff_t row = t->row, length = t->length, unit = KIND == ORDER ? 1 : 2;
  const float *const *stretch = t->stretches;
  ptrdiff_t at = 0;
  vf sum[ORDERED_ROWS][8];
  int nan = 0;
  UNROLL32O for (int r = 0; r < R; r++)
    UNROLL32O for (int j = 0; j < NC; j++) sum[r][j] = vf_set1(0);
  for (ptrdiff_t done = 0; done < t->k;) {
    const ptrdiff_t block = t->block < t->k - done ? t->block : t->k - done;
    const ptrdiff_t main = KIND == ORDER ? block : block & ~(ptrdiff_t)7;
    vf acc[ORDERED_ROWS][8];
    UNROLL32O for (int r = 0; r < R; r++)
      UNROLL32O for (int j = 0; j < NC; j++) acc[r][j] = vf_set1(0);
    for (ptrdiff_t left = main; left > 0;) {
      const ptrdiff_t some = left < length - at ? left : length - at;
      w = chain32(R, NC, KIND, (const char *)(*stretch + first + at), row, some / unit, w, w_panel, acc);
      left -= some;
      at += some;
      if (at == length) {
        stretch++;
        at = 0;
      }
    }
    if (KIND == PAIRS) {
      UNROLL32O for (int r = 0; r < R; r++) acc[r][0] = vf_fold_pairs(acc[r][0]);
      if (block > main) {
        w = chain32(R, 1, ORDER, (const char *)(*stretch + first + at), row, block - main, w, w_panel, acc);
        at += block - main;
      }
    }
    UNROLL32O for (int r = 0; r < R; r++)
      UNROLL32O for (int j = 0; j < NC; j++) sum[r][j] = done == 0 ? acc[r][j] : vf_add(sum[r][j], acc[r][j]);
    done += block;
  }
  const vf low = vf_set1(t->low), high = vf_set1(t->high);
  const ptrdiff_t whole = KIND == PAIRS ? VL / 2 : VL;
  UNROLL32O for (int r = 0; r < R; r++) {
    float *out = y + r * t->y_row;
    UNROLL32O for (int j = 0; j < NC; j++) {
      nan |= vf_nan(sum[r][j]);
      const vf v = vf_min(high, vf_max(low, vf_add(sum[r][j], vf_load(bias + j * VL))));
      if (KIND == ORDER && n >= (j + 1) * whole) vf_store(out + j * VL, v);
      else vf_store_part(out + j * VL, v, n - j * VL < whole ? n - j * VL : whole);
    }
  }
  t->nan |= nan;
}

/* The end of a block in EIGHTS: the accumulators' sum, then the values and the weights of what is left. */
SIMD_INLINE vf end_of_eights32(const vf *a, const vf *x, const float *w, ptrdiff_t left) {
  vf low = vf_add(vf_add(a[0], a[2]), vf_add(a[4], a[6])), high = vf_add(vf_add(a[1], a[3]), vf_add(a[5], a[7]));
  ptrdiff_t i = 0;
  for (; i + 2 <= left; i += 2) {
    low = vf_add(low, vf_mul(x[i], vf_set1(w[i * (VL / 8)])));
    high = vf_add(high, vf_mul(x[i + 1], vf_set1(w[(i + 1) * (VL / 8)])));
  }
  low = vf_add(low, high);
  return i < left ? vf_add(low, vf_mul(x[i], vf_set1(w[i * (VL / 8)]))) : low;
}

/* At most VL positions and three columns in EIGHTS. The positions' values are gathered, some steps of k at a time; weights are broadcast. */
static void eights32(Chains32 *t, ptrdiff_t first, int positions, const float *w, ptrdiff_t w_panel, const float *bias, ptrdiff_t n, float *y) {
  enum { STEPS = 64, COLUMNS = 3, TOGETHER = VL / 8 };
  const float *const *stretch = t->stretches;
  int32_t places[VL];
  float out[VL];
  ptrdiff_t at = 0;
  vf x[STEPS], acc[COLUMNS][8], sum[COLUMNS];
  int nan = 0;
  for (int r = 0; r < VL; r++) places[r] = r < positions ? (int32_t)(r * t->row) : 0;
  const vi rows = vi_load(places);
  for (ptrdiff_t done = 0; done < t->k;) {
    const ptrdiff_t block = t->block < t->k - done ? t->block : t->k - done, left = block % 8;
    for (int c = 0; c < n; c++)
      UNROLL32O for (int l = 0; l < 8; l++) acc[c][l] = vf_set1(0);
    for (ptrdiff_t steps = block - left; steps > 0;) {
      ptrdiff_t some = steps < t->length - at ? steps : t->length - at;
      some = some < STEPS ? some : STEPS;
      for (ptrdiff_t i = 0; i < some; i++) x[i] = vf_strided(*stretch + first + at + i, rows);
      for (int c = 0; c < n; c++) {
        const float *v = w + c / TOGETHER * w_panel + c % TOGETHER * 8;
        vf a[8];
        UNROLL32O for (int l = 0; l < 8; l++) a[l] = acc[c][l];
        for (ptrdiff_t i = 0; i < some; i += 8, v += VL)
          UNROLL32O for (int l = 0; l < 8; l++) a[l] = vf_add(a[l], vf_mul(x[i + l], vf_set1(v[l])));
        UNROLL32O for (int l = 0; l < 8; l++) acc[c][l] = a[l];
      }
      w += some / 8 * VL;
      steps -= some;
      at += some;
      if (at == t->length) {
        stretch++;
        at = 0;
      }
    }
    for (ptrdiff_t i = 0; i < left; i++) x[i] = vf_strided(*stretch + first + at + i, rows);
    for (int c = 0; c < n; c++) {
      const vf total = end_of_eights32(acc[c], x, w + c / TOGETHER * w_panel + c % TOGETHER, left);
      sum[c] = done == 0 ? total : vf_add(sum[c], total);
    }
    w += left * TOGETHER;
    at += left;
    done += block;
  }
  for (int c = 0; c < n; c++) {
    nan |= vf_nan(sum[c]);
    vf_store(out, vf_min(vf_set1(t->high), vf_max(vf_set1(t->low), vf_add(sum[c], vf_set1(bias[c])))));
    for (int r = 0; r < positions; r++) y[r * t->y_row + c] = out[r];
  }
  t->nan |= nan;
}

typedef void (*Tile32o)(Chains32 *t, ptrdiff_t first, const float *w, ptrdiff_t w_panel, const float *bias, ptrdiff_t n, float *y);

#define TILE32O(NAME, R, NC, KIND) \
  static void NAME(Chains32 *t, ptrdiff_t first, const float *w, ptrdiff_t w_panel, const float *bias, ptrdiff_t n, float *y) { \
    tile32o(R, NC, KIND, t, first, w, w_panel, bias, n, y); \
  }
#define TILES32O(NAME, KIND) \
  TILE32O(NAME##_1, 1, 1, KIND) TILE32O(NAME##_2, 2, 1, KIND) TILE32O(NAME##_3, 3, 1, KIND) TILE32O(NAME##_4, 4, 1, KIND) \
  TILE32O(NAME##_5, 5, 1, KIND) TILE32O(NAME##_6, 6, 1, KIND) TILE32O(NAME##_7, 7, 1, KIND) TILE32O(NAME##_8, 8, 1, KIND)
TILES32O(order32, ORDER)
TILES32O(pairs32, PAIRS)
TILE32O(order32_1x8, 1, 8, ORDER)
TILE32O(order32_2x4, 2, 4, ORDER)
TILE32O(order32_3x2, 3, 2, ORDER)

#define NAMES32O(NAME) {0, NAME##_1, NAME##_2, NAME##_3, NAME##_4, NAME##_5, NAME##_6, NAME##_7, NAME##_8}
static const Tile32o tiles32o[2][ORDERED_ROWS + 1] = {NAMES32O(order32), NAMES32O(pairs32)};
/* Several vectors of columns at once where few positions would leave sums waiting for each other. */
static const Tile32o wide32o[4] = {0, order32_1x8, order32_2x4, order32_3x2};
static const int wide32o_vectors[4] = {0, 8, 4, 2};

/* `positions` of an output row from position `first` on, and n columns; vectors of columns are `w_panel` floats of weights. */
SIMD_INLINE void chains32(Chains32 *t, int kind, ptrdiff_t first, ptrdiff_t positions, const float *w, ptrdiff_t w_panel, const float *bias,
                          ptrdiff_t n, float *y) {
  const ptrdiff_t columns = kind == ORDER ? VL : VL / 2;
  const ptrdiff_t tiles = (positions + ORDERED_ROWS - 1) / ORDERED_ROWS;
  if (kind == EIGHTS) {
    for (ptrdiff_t i = 0; i < positions; i += VL) {
      const int now = (int)(positions - i < VL ? positions - i : VL);
      eights32(t, (first + i) * (t->row / (ptrdiff_t)sizeof(float)), now, w, w_panel, bias, n, y + (first + i) * t->y_row);
    }
    return;
  }
  for (ptrdiff_t i = 0; i < tiles; i++) {
    const int now = (int)(positions / tiles + (i < positions % tiles));
    const ptrdiff_t offset = first * (t->row / (ptrdiff_t)sizeof(float));
    ptrdiff_t c = 0;
    if (kind == ORDER && now < 4)
      for (; n - c > (wide32o_vectors[now] - 1) * VL; c += wide32o_vectors[now] * VL)
        wide32o[now](t, offset, w + c / VL * w_panel, w_panel, bias + c, n - c, y + first * t->y_row + c);
    for (; c < n; c += columns) tiles32o[kind][now](t, offset, w + c / columns * w_panel, w_panel, bias + c, n - c, y + first * t->y_row + c);
    first += now;
  }
}

/* Matrix times vector: VL rows of k values at a time, eight lanes each; row i in the lane i. Eight vectors per eight values: vector 2 i has the
 * row i and, with sixteen lanes, the row 4 + i; vector 2 i + 1 those that are VL / 2 rows behind. */
SIMD_INLINE int row_of_half32(int vector, int half) { return vector / 2 + 4 * half + vector % 2 * (VL / 2); }

SIMD_INLINE vf rows32(const float *w, ptrdiff_t k, const float *x) {
  enum { N = 8, AHEAD = 64 };
  vf acc[N], folded[4];
  UNROLL32O for (int i = 0; i < N; i++) acc[i] = vf_set1(0);
  for (ptrdiff_t t = 0; t + 8 <= k; t += 8) {
    const vf v = vf_set8(x + t);
    UNROLL32O for (int i = 0; i < N; i += 64 / (4 * VL)) _mm_prefetch((const char *)(w + (AHEAD + i) * VL), _MM_HINT_T0);
    UNROLL32O for (int i = 0; i < N; i++) acc[i] = vf_add(acc[i], vf_mul(vf_load(w + i * VL), v));
    w += N * VL;
  }
  UNROLL32O for (int i = 0; i < 4; i++) folded[i] = vf_add(vf_quarters(acc[2 * i], acc[2 * i + 1], 0), vf_quarters(acc[2 * i], acc[2 * i + 1], 1));
  vf a = vf_add(vf_zip_low(folded[0], folded[1]), vf_zip_high(folded[0], folded[1]));
  vf b = vf_add(vf_zip_low(folded[2], folded[3]), vf_zip_high(folded[2], folded[3]));
  return vf_add(vf_zip_even(a, b), vf_zip_odd(a, b));
}
#endif
