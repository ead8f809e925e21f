/* The loops of folds.pxi: integers, whose folds have no order. The compiler makes vectors of them.
 *
 * What is left over behind whole vectors is covered by one more that ends with the row and overlaps. Columns that are computed twice get the same values;
 * a row's accumulators may meet a value twice (AGAIN), or do not see it. */
#ifndef TFLM_CY_SIMD_FOLDS_H
#define TFLM_CY_SIMD_FOLDS_H

#include "simd.h"

#define FOLD_EACH(L) _Pragma("GCC unroll 1") for (int k = 0; k < (L); k++)
#define FOLD_GREATEST(a, v) ((v) > (a) ? (v) : (a))
#define FOLD_LEAST(a, v) ((v) < (a) ? (v) : (a))
#define FOLD_SUM(a, v) ((a) + (v))
#define FOLD_PRODUCT(a, v) ((a) * (v))

/* T: a value; A: an accumulator. BYTES of values of a row side by side, of which it has as many; then they are folded into one. */
#define FOLD_LANES(NAME, T, A, STEP, AGAIN, NEUTRAL, BYTES) \
  SIMD_INLINE A NAME##_##BYTES(A one, const T *x, int64_t n) { \
    enum { L = (BYTES) / sizeof(T) }; \
    A t[L]; \
    int64_t i = L; \
    if (sizeof(T) == sizeof(A)) memcpy(t, x, sizeof t); /* in one piece, which is read again as one */ \
    else FOLD_EACH(L) t[k] = (A)x[k]; \
    for (; i + L <= n; i += L) FOLD_EACH(L) t[k] = STEP(t[k], (A)x[i + k]); \
    if (L <= 8) { \
      for (; i < n; i++) one = STEP(one, (A)x[i]); \
    } else if (i < n) { \
      const T *last = x + n - L; \
      const A seen = (A)(i - (n - L)); \
      FOLD_EACH(L) { \
        const A v = AGAIN || (A)k >= seen ? (A)last[k] : (A)(NEUTRAL); \
        t[k] = STEP(t[k], v); \
      } \
    } \
    FOLD_EACH(L) one = STEP(one, t[k]); \
    return one; \
  }

/* BYTES of columns of all rows, into t. */
#define FOLD_STRIPS(NAME, T, A, STEP, BYTES) \
  SIMD_INLINE void NAME##_strip_##BYTES(const T *x, int64_t rows, int64_t n, const A *a, A *t) { \
    enum { L = (BYTES) / sizeof(T) }; \
    FOLD_EACH(L) t[k] = a[k]; \
    for (int64_t r = 0; r < rows; r++, x += n) FOLD_EACH(L) t[k] = STEP(t[k], (A)x[k]); \
  } \
  SIMD_INLINE void NAME##_strips_##BYTES(const T *restrict x, int64_t rows, int64_t n, A *restrict a) { \
    enum { L = (BYTES) / sizeof(T) }; \
    A last[L], t[L]; \
    NAME##_strip_##BYTES(x + n - L, rows, n, a + n - L, last); \
    for (int64_t c = 0; c + L < n; c += L) { \
      NAME##_strip_##BYTES(x + c, rows, n, a + c, t); \
      FOLD_EACH(L) a[c + k] = t[k]; \
    } \
    FOLD_EACH(L) a[n - L + k] = last[k]; \
  }

#define FOLD_ROWS(NAME, T, A, STEP, AGAIN, NEUTRAL, MOST) \
  FOLD_LANES(NAME, T, A, STEP, AGAIN, NEUTRAL, MOST) \
  FOLD_LANES(NAME, T, A, STEP, AGAIN, NEUTRAL, 16) \
  FOLD_LANES(NAME, T, A, STEP, AGAIN, NEUTRAL, 8) \
  static void NAME##_rows(const void *at_x, int64_t rows, int64_t n, void *at_a) { \
    const T *restrict x = at_x; \
    A *restrict a = at_a; \
    const int64_t bytes = n * (int64_t)sizeof(T); \
    if (bytes >= MOST) { \
      for (int64_t r = 0; r < rows; r++, x += n) a[r] = NAME##_##MOST(a[r], x, n); \
    } else if (bytes >= 16) { \
      for (int64_t r = 0; r < rows; r++, x += n) a[r] = NAME##_16(a[r], x, n); \
    } else if (sizeof(T) == 1 && bytes >= 8) { \
      for (int64_t r = 0; r < rows; r++, x += n) a[r] = NAME##_8(a[r], x, n); \
    } else { \
      for (int64_t r = 0; r < rows; r++, x += n) { \
        A one = a[r]; \
        for (int64_t i = 0; i < n; i++) one = STEP(one, (A)x[i]); \
        a[r] = one; \
      } \
    } \
  }

/* Rows whose strips are folded before those of the next ones: they are read from memory once, one after the other. */
SIMD_INLINE int64_t rows_together(int64_t rows, int64_t bytes) {
  enum { BLOCK = 1 << 14, LEAST = 16 };
  if (bytes <= 4 * VB) return rows; /* a single strip */
  const int64_t together = bytes > BLOCK / LEAST ? LEAST : BLOCK / bytes;
  return together < rows ? together : rows;
}

#define FOLD_COLUMNS(NAME, T, A, STEP, MOST, MORE) \
  FOLD_STRIPS(NAME, T, A, STEP, MOST) \
  FOLD_STRIPS(NAME, T, A, STEP, MORE) \
  FOLD_STRIPS(NAME, T, A, STEP, 16) \
  FOLD_STRIPS(NAME, T, A, STEP, 8) \
  SIMD_INLINE void NAME##_block(const T *restrict x, int64_t rows, int64_t n, A *restrict a) { \
    const int64_t bytes = n * (int64_t)sizeof(T); \
    if (bytes >= MOST) { \
      NAME##_strips_##MOST(x, rows, n, a); \
    } else if (bytes >= MORE) { \
      NAME##_strips_##MORE(x, rows, n, a); \
    } else if (bytes >= 16) { \
      NAME##_strips_16(x, rows, n, a); \
    } else if (sizeof(T) == 1 && bytes >= 8) { \
      NAME##_strips_8(x, rows, n, a); \
    } else { \
      for (int64_t c = 0; c < n; c++) { \
        A one = a[c]; \
        for (int64_t r = 0; r < rows; r++) one = STEP(one, (A)x[r * n + c]); \
        a[c] = one; \
      } \
    } \
  } \
  static void NAME##_columns(const void *at_x, int64_t rows, int64_t n, void *at_a) { \
    const T *x = at_x; \
    const int64_t together = rows_together(rows, n * (int64_t)sizeof(T)); \
    for (; rows > 0; rows -= together, x += together * n) NAME##_block(x, rows < together ? rows : together, n, at_a); \
  }

enum { STRIP = 4 * VB };
#define FOLD(NAME, T, STEP, AGAIN, NEUTRAL) \
  FOLD_ROWS(NAME, T, T, STEP, AGAIN, NEUTRAL, VB) \
  FOLD_COLUMNS(NAME, T, T, STEP, STRIP, VB)
#define EXTREMES(T, END) \
  FOLD(greatest_##END, T, FOLD_GREATEST, 1, 0) \
  FOLD(least_##END, T, FOLD_LEAST, 1, 0)
EXTREMES(int8_t, s8)
EXTREMES(uint8_t, u8)
EXTREMES(int16_t, s16)
EXTREMES(int32_t, s32)
EXTREMES(int64_t, s64)
FOLD(sum_s32, uint32_t, FOLD_SUM, 0, 0)
FOLD(sum_s64, uint64_t, FOLD_SUM, 0, 0)
FOLD(product_s32, uint32_t, FOLD_PRODUCT, 0, 1)

/* Sums in int64 of int32, in int32 of int16. Those of bytes are elementwise_i8's, which has instructions for them. */
FOLD_ROWS(wide_sum_s32, int32_t, uint64_t, FOLD_SUM, 0, 0, VB)
FOLD_COLUMNS(wide_sum_s32, int32_t, uint64_t, FOLD_SUM, VB, 32)
FOLD_ROWS(wide_sum_s16, int16_t, uint32_t, FOLD_SUM, 0, 0, VB)
FOLD_COLUMNS(wide_sum_s16, int16_t, uint32_t, FOLD_SUM, VB, 32)

#endif
