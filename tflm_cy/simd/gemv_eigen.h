/* Eigen's float32 products and functions (arithmetic/eigen.pxd) in vectors: every product and sum rounded, in that file's order. Which of several NaN an
 * output is is not said here: it is NaN, and the caller computes it again.
 *
 * A matrix times a vector has eight lanes per row of the matrix; four rows are computed together. A matrix times a matrix takes panels of sixteen rows, turned
 * so that a vector holds one column of them. */
#ifndef TFLM_CY_SIMD_GEMV_EIGEN_H
#define TFLM_CY_SIMD_GEMV_EIGEN_H

#include "simd.h"

enum { PANEL_ROWS = 16, PANEL_VECTORS = PANEL_ROWS / VL, PANEL_DEPTH = 1024, PANEL_TOGETHER = VL == 16 ? 8 : 4 };

typedef float Four32 __attribute__((vector_size(16)));

#if SIMD_ISA >= 256
typedef __m256 Eight32;
SIMD_INLINE Eight32 eight_load(const float *p) { return _mm256_loadu_ps(p); }
SIMD_INLINE Eight32 eight_add(Eight32 a, Eight32 b) { return _mm256_add_ps(a, b); }
SIMD_INLINE Eight32 eight_mul(Eight32 a, Eight32 b) { return _mm256_mul_ps(a, b); }
SIMD_INLINE Four32 eight_halves(Eight32 a) { return (Four32)_mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)); }
#else
typedef struct { Four32 low, high; } Eight32;
SIMD_INLINE Four32 four_load(const float *p) { Four32 a; memcpy(&a, p, 16); return a; }
SIMD_INLINE Eight32 eight_load(const float *p) { return (Eight32){four_load(p), four_load(p + 4)}; }
SIMD_INLINE Eight32 eight_add(Eight32 a, Eight32 b) { return (Eight32){a.low + b.low, a.high + b.high}; }
SIMD_INLINE Eight32 eight_mul(Eight32 a, Eight32 b) { return (Eight32){a.low * b.low, a.high * b.high}; }
SIMD_INLINE Four32 eight_halves(Eight32 a) { return a.low + a.high; }
#endif

/* y[r] = a[r] . v for `rows` rows, in row_f32's order without a wide tail. Eight rows together, while the next eight are on their way. */
static void multiply_vector_eigen(const float *a, ptrdiff_t rows, ptrdiff_t k, const float *v, float *y) {
  const ptrdiff_t whole = k - k % 8;
  const Eight32 zero = {0};
  for (ptrdiff_t r = 0; r < rows; r += 8) {
    const float *row[8];
    Eight32 sum[8];
    float total[8];
    const char *ahead = (const char *)(a + (r + 8 < rows ? r + 8 : 0) * k);
    _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) {
      row[j] = a + (r + j < rows ? r + j : rows - 1) * k;
      sum[j] = zero;
    }
    for (ptrdiff_t i = 0; i < whole; i += 8) {
      const Eight32 x = eight_load(v + i);
      _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) simd_prefetch(ahead + 64 * j);
      ahead += 256;
      _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) sum[j] = eight_add(sum[j], eight_mul(eight_load(row[j] + i), x));
    }
    _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) {
      const Four32 four = eight_halves(sum[j]);
      total[j] = (four[0] + four[2]) + (four[1] + four[3]);
    }
    for (ptrdiff_t i = whole; i < k; i++)
      _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) total[j] = total[j] + row[j][i] * v[i];
    for (int j = 0; j < 8 && r + j < rows; j++) y[r + j] = total[j];
  }
}

/* y[r] = start[r] + a[r] . v in four lanes, then the products of the tail one by one: hybrid.pxd's accumulate_dot_f32. Eight rows together. */
static void accumulate_rows_lanes(const float *a, ptrdiff_t rows, ptrdiff_t k, const float *v, const float *start, float *y) {
  const ptrdiff_t whole = k - k % 4;
  for (ptrdiff_t r = 0; r < rows; r += 8) {
    const float *row[8];
    Four32 sum[8];
    _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) {
      row[j] = a + (r + j < rows ? r + j : rows - 1) * k;
      sum[j] = (Four32){0, 0, 0, 0};
    }
    for (ptrdiff_t i = 0; i < whole; i += 4) {
      Four32 x;
      memcpy(&x, v + i, 16);
      _Pragma("GCC unroll 8") for (int j = 0; j < 8; j++) {
        Four32 w;
        memcpy(&w, row[j] + i, 16);
        sum[j] = sum[j] + w * x;
      }
    }
    for (int j = 0; j < 8 && r + j < rows; j++) {
      float total = start[r + j] + (((sum[j][0] + sum[j][1]) + sum[j][2]) + sum[j][3]);
      for (ptrdiff_t i = whole; i < k; i++) total = total + row[j][i] * v[i];
      y[r + j] = total;
    }
  }
}

/* A stretch of `length` columns of at most 16 rows, the others as zeros: panel[k][row]. */
static void turn_panel(const float *w, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t length, float *panel) {
  ptrdiff_t i = 0;
  if (rows < PANEL_ROWS) memset(panel, 0, (size_t)length * PANEL_ROWS * sizeof(float));
#if defined(__SSE__)
  for (; i + 4 <= length; i += 4) {
    ptrdiff_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      __m128 a = _mm_loadu_ps(w + r * step + i), b = _mm_loadu_ps(w + (r + 1) * step + i);
      __m128 c = _mm_loadu_ps(w + (r + 2) * step + i), d = _mm_loadu_ps(w + (r + 3) * step + i);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      _mm_storeu_ps(panel + i * PANEL_ROWS + r, a);
      _mm_storeu_ps(panel + (i + 1) * PANEL_ROWS + r, b);
      _mm_storeu_ps(panel + (i + 2) * PANEL_ROWS + r, c);
      _mm_storeu_ps(panel + (i + 3) * PANEL_ROWS + r, d);
    }
    for (; r < rows; r++)
      for (int t = 0; t < 4; t++) panel[(i + t) * PANEL_ROWS + r] = w[r * step + i + t];
  }
#endif
  for (; i < length; i++)
    for (ptrdiff_t r = 0; r < rows; r++) panel[i * PANEL_ROWS + r] = w[r * step + i];
}

/* `count` rows of x with the panel, added up in the order of k, or (even_odd) even and odd k of whole blocks of eight apart; y += the sums of the first n rows. */
SIMD_INLINE void panel_tile(const float *panel, ptrdiff_t length, const float *x, ptrdiff_t x_step, const int count, const int even_odd, float *y,
                            ptrdiff_t y_step, ptrdiff_t n) {
  const ptrdiff_t whole = even_odd ? length - length % 8 : length;
  vf sum[PANEL_TOGETHER][PANEL_VECTORS], odd[PANEL_TOGETHER][PANEL_VECTORS];
  ptrdiff_t k = 0;
  _Pragma("GCC unroll 8") for (int j = 0; j < count; j++)
    _Pragma("GCC unroll 4") for (int c = 0; c < PANEL_VECTORS; c++) sum[j][c] = odd[j][c] = vf_set1(0);
  for (; k < whole; k += even_odd ? 2 : 1) {
    vf w[PANEL_VECTORS];
    _Pragma("GCC unroll 4") for (int c = 0; c < PANEL_VECTORS; c++) w[c] = vf_load(panel + k * PANEL_ROWS + c * VL);
    _Pragma("GCC unroll 8") for (int j = 0; j < count; j++) {
      const vf v = vf_set1(x[j * x_step + k]);
      _Pragma("GCC unroll 4") for (int c = 0; c < PANEL_VECTORS; c++) sum[j][c] = vf_add(sum[j][c], vf_mul(w[c], v));
    }
    if (even_odd) {
      _Pragma("GCC unroll 4") for (int c = 0; c < PANEL_VECTORS; c++) w[c] = vf_load(panel + (k + 1) * PANEL_ROWS + c * VL);
      _Pragma("GCC unroll 8") for (int j = 0; j < count; j++) {
        const vf v = vf_set1(x[j * x_step + k + 1]);
        _Pragma("GCC unroll 4") for (int c = 0; c < PANEL_VECTORS; c++) odd[j][c] = vf_add(odd[j][c], vf_mul(w[c], v));
      }
    }
  }
  if (even_odd) {
    _Pragma("GCC unroll 8") for (int j = 0; j < count; j++)
      _Pragma("GCC unroll 4") for (int c = 0; c < PANEL_VECTORS; c++) sum[j][c] = vf_add(sum[j][c], odd[j][c]);
    for (; k < length; k++) {
      _Pragma("GCC unroll 8") for (int j = 0; j < count; j++) {
        const vf v = vf_set1(x[j * x_step + k]);
        _Pragma("GCC unroll 4") for (int c = 0; c < PANEL_VECTORS; c++)
          sum[j][c] = vf_add(sum[j][c], vf_mul(vf_load(panel + k * PANEL_ROWS + c * VL), v));
      }
    }
  }
  _Pragma("GCC unroll 8") for (int j = 0; j < count; j++) {
    _Pragma("GCC unroll 4") for (int c = 0; c < PANEL_VECTORS; c++) {
      const ptrdiff_t some = n - c * VL < VL ? n - c * VL : VL;
      float *to = y + j * y_step + c * VL;
      if (some == VL) vf_store(to, vf_add(vf_load(to), sum[j][c]));
      else if (some > 0) vf_store_part(to, vf_add(vf_load_part(to, some), sum[j][c]), some);
    }
  }
}

static void panel_most(const float *panel, ptrdiff_t length, const float *x, ptrdiff_t x_step, float *y, ptrdiff_t y_step, ptrdiff_t n) {
  panel_tile(panel, length, x, x_step, PANEL_TOGETHER, 0, y, y_step, n);
}
static void panel_one(const float *panel, ptrdiff_t length, const float *x, float *y, ptrdiff_t n) { panel_tile(panel, length, x, 0, 1, 0, y, 0, n); }
static void panel_even_odd(const float *panel, ptrdiff_t length, const float *x, float *y, ptrdiff_t n) { panel_tile(panel, length, x, 0, 1, 1, y, 0, n); }
static void panel_even_odd_two(const float *panel, ptrdiff_t length, const float *x, ptrdiff_t x_step, float *y, ptrdiff_t y_step, ptrdiff_t n) {
  panel_tile(panel, length, x, x_step, 2, 1, y, y_step, n);
}

/* Outputs 0 .. n - 1 of rows first .. end - 1 of x in the order of k. */
static void panel_in_order(const float *panel, ptrdiff_t length, const float *x, ptrdiff_t k, ptrdiff_t first, ptrdiff_t end, float *y, ptrdiff_t y_step,
                           ptrdiff_t n) {
  ptrdiff_t j = first;
  for (; j + PANEL_TOGETHER <= end; j += PANEL_TOGETHER) panel_most(panel, length, x + j * k, k, y + j * y_step, y_step, n);
  for (; j < end; j++) panel_one(panel, length, x + j * k, y + j * y_step, n);
}

#if SIMD_ISA == 512
SIMD_INLINE vf vf_pieces(const float *const *row, ptrdiff_t at) { /* four values of each fourth row */
  __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(row[0] + at));
  v = _mm512_insertf32x4(v, _mm_loadu_ps(row[4] + at), 1);
  v = _mm512_insertf32x4(v, _mm_loadu_ps(row[8] + at), 2);
  return _mm512_insertf32x4(v, _mm_loadu_ps(row[12] + at), 3);
}
#define SHUFFLE_ROWS(NAME, ...) _mm512_##NAME##_ps(__VA_ARGS__)
#elif SIMD_ISA == 256
SIMD_INLINE vf vf_pieces(const float *const *row, ptrdiff_t at) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row[0] + at)), _mm_loadu_ps(row[4] + at), 1);
}
#define SHUFFLE_ROWS(NAME, ...) _mm256_##NAME##_ps(__VA_ARGS__)
#endif
#ifdef SHUFFLE_ROWS
enum { FEW_TOGETHER = 4, MOST_FEW = 8 };

/* Four columns of VL rows. */
SIMD_INLINE void turn_four(const float *const *row, ptrdiff_t at, vf *turned) {
  const vf a = vf_pieces(row, at), b = vf_pieces(row + 1, at), c = vf_pieces(row + 2, at), d = vf_pieces(row + 3, at);
  const vf low = SHUFFLE_ROWS(unpacklo, a, b), high = SHUFFLE_ROWS(unpackhi, a, b), low2 = SHUFFLE_ROWS(unpacklo, c, d), high2 = SHUFFLE_ROWS(unpackhi, c, d);
  turned[0] = SHUFFLE_ROWS(shuffle, low, low2, 0x44);
  turned[1] = SHUFFLE_ROWS(shuffle, low, low2, 0xEE);
  turned[2] = SHUFFLE_ROWS(shuffle, high, high2, 0x44);
  turned[3] = SHUFFLE_ROWS(shuffle, high, high2, 0xEE);
}

/* y[j][r] += w[r] . x[j] in the order of k, for `count` rows of x and at most VL rows of w: weights that are met once are turned in registers, four columns at a
 * time. */
SIMD_INLINE void few_tile(const float *w, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t length, const float *x, ptrdiff_t x_step, const int count, float *y,
                          ptrdiff_t y_step) {
  const ptrdiff_t whole = length - length % 4;
  const float *row[VL];
  float last[VL][4] = {{0}};
  vf sum[FEW_TOGETHER], turned[4];
  _Pragma("GCC unroll 8") for (int j = 0; j < count; j++) sum[j] = vf_set1(0);
  _Pragma("GCC unroll 16") for (int r = 0; r < VL; r++) row[r] = w + (r < rows ? r : rows - 1) * step;
  for (ptrdiff_t k = 0; k < whole; k += 4) {
    turn_four(row, k, turned);
    _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++)
      _Pragma("GCC unroll 8") for (int j = 0; j < count; j++) sum[j] = vf_add(sum[j], vf_mul(turned[t], vf_set1(x[j * x_step + k + t])));
  }
  if (whole < length) {
    for (int r = 0; r < VL; r++) {
      memcpy(last[r], row[r] + whole, (size_t)(length - whole) * sizeof(float));
      row[r] = last[r];
    }
    turn_four(row, 0, turned);
    for (ptrdiff_t k = whole; k < length; k++)
      _Pragma("GCC unroll 8") for (int j = 0; j < count; j++) sum[j] = vf_add(sum[j], vf_mul(turned[k - whole], vf_set1(x[j * x_step + k])));
  }
  _Pragma("GCC unroll 8") for (int j = 0; j < count; j++) {
    float *to = y + j * y_step;
    if (rows >= VL) vf_store(to, vf_add(vf_load(to), sum[j]));
    else vf_store_part(to, vf_add(vf_load_part(to, rows), sum[j]), rows);
  }
}

typedef void (*FewTile)(const float *w, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t length, const float *x, ptrdiff_t x_step, float *y, ptrdiff_t y_step);
#define FEW_TILE(COUNT) \
  static void few_tile_##COUNT(const float *w, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t length, const float *x, ptrdiff_t x_step, float *y, ptrdiff_t y_step) { \
    few_tile(w, step, rows, length, x, x_step, COUNT, y, y_step); \
  }
FEW_TILE(1) FEW_TILE(2) FEW_TILE(3) FEW_TILE(4)
static const FewTile few_tiles[FEW_TOGETHER + 1] = {0, few_tile_1, few_tile_2, few_tile_3, few_tile_4};

/* Outputs 0 .. n - 1 of rows first .. end - 1 of x in the order of k. */
static void few_in_order(const float *w, const float *x, float *y, ptrdiff_t n, ptrdiff_t k, ptrdiff_t first, ptrdiff_t end, ptrdiff_t block, ptrdiff_t y_step) {
  for (ptrdiff_t i = 0; i < n; i += VL)
    for (ptrdiff_t start = 0; start < k; start += block)
      for (ptrdiff_t j = first; j < end; j += FEW_TOGETHER)
        few_tiles[end - j < FEW_TOGETHER ? end - j : FEW_TOGETHER](
            w + i * k + start, k, n - i, k - start < block ? k - start : block, x + j * k + start, k, y + j * y_step + i, y_step);
}
#endif

/* All but the last n % 4 columns of the first m - m % 4 rows of matrix_product_f32's panels: y[j][i] = w[i] . x[j]. False where a stretch is too long. */
static int multiply_panels_eigen(const float *w, const float *x, float *y, ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, ptrdiff_t block) {
  float panel[PANEL_DEPTH * PANEL_ROWS] __attribute__((aligned(64)));
  const ptrdiff_t m4 = m - m % 4, n4 = n - n % 4;
  if (block > PANEL_DEPTH) return 0;
  memset(y, 0, (size_t)(n * m) * sizeof(float));
  ptrdiff_t i = 0;
#ifdef SHUFFLE_ROWS
  if (m <= MOST_FEW) {
    i = m4 > 0 ? n - n % PANEL_ROWS : n;
    few_in_order(w, x, y, i, k, 0, m, block, n);
  }
#endif
  for (; i < n; i += PANEL_ROWS) {
    const ptrdiff_t rows = n - i < PANEL_ROWS ? n - i : PANEL_ROWS;
    for (ptrdiff_t start = 0; start < k; start += block) {
      const ptrdiff_t length = k - start < block ? k - start : block;
      turn_panel(w + i * k + start, k, rows, length, panel);
      if (rows == PANEL_ROWS) {
        panel_in_order(panel, length, x + start, k, 0, m, y + i, n, rows);
        continue;
      }
      panel_in_order(panel, length, x + start, k, m4, m, y + i, n, rows);
      for (ptrdiff_t j = 0; j < m4 && n4 > i; j += 2) panel_even_odd_two(panel, length, x + start + j * k, k, y + i + j * n, n, n4 - i);
    }
  }
  return 1;
}
#endif
