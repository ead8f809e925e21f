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
    if (sizeof(T) == sizeof(A)) memcpy(t, x, sizeof t); \
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
    memcpy(t, a, L * sizeof(A)); /* in one piece, which is read again as one */ \
    for (int64_t r = 0; r < rows; r++, x += n) FOLD_EACH(L) t[k] = STEP(t[k], (A)x[k]); \
  } \
  SIMD_INLINE void NAME##_strips_##BYTES(const T *restrict x, int64_t rows, int64_t n, A *restrict a) { \
    enum { L = (BYTES) / sizeof(T) }; \
    A last[L], t[L]; \
    NAME##_strip_##BYTES(x + n - L, rows, n, a + n - L, last); \
    for (int64_t c = 0; c + L < n; c += L) { \
      NAME##_strip_##BYTES(x + c, rows, n, a + c, t); \
      memcpy(a + c, t, sizeof t); \
    } \
    memcpy(a + n - L, last, sizeof last); \
  }

/* Rows of a few vectors: 16 bytes of accumulators of each of L rows, then two rows become one vector again and again. */
#if SIMD_ISA >= 256
#define FOLD_HALVES(WORD, SIZE) \
  case SIZE: low = _mm_unpacklo_##WORD(a, b), high = _mm_unpackhi_##WORD(a, b); break;
SIMD_INLINE void fold_halves(const int size, __m128i a, __m128i b, __m128i *halves) {
  __m128i low = a, high = b;
  switch (size) {
    FOLD_HALVES(epi8, 1)
    FOLD_HALVES(epi16, 2)
    FOLD_HALVES(epi32, 4)
    FOLD_HALVES(epi64, 8)
  }
  halves[0] = low;
  halves[1] = high;
}
#define FOLD_GREATEST_V(P, a, v) (((P)((v) > (a)) & (v)) | (~(P)((v) > (a)) & (a)))
#define FOLD_LEAST_V(P, a, v) (((P)((v) < (a)) & (v)) | (~(P)((v) < (a)) & (a)))
#define FOLD_SUM_V(P, a, v) ((a) + (v))
#define FOLD_PRODUCT_V(P, a, v) ((a) * (v))
#define FOLD_GROUPS(NAME, T, STEP, AGAIN, NEUTRAL) \
  typedef T NAME##_part __attribute__((vector_size(16))); \
  SIMD_INLINE int64_t NAME##_groups(const T *x, int64_t rows, int64_t n, T *a) { \
    enum { L = 16 / sizeof(T) }; \
    NAME##_part t[L], v, seen, fill; \
    T some[L], neutral[L]; \
    __m128i halves[2]; \
    int64_t r = 0; \
    for (int k = 0; k < L; k++) neutral[k] = (T)(NEUTRAL), some[k] = (T)(AGAIN || k >= L - n % L ? ~(T)0 : 0); \
    memcpy(&fill, neutral, 16); \
    memcpy(&seen, some, 16); \
    for (; r + L <= rows; r += L, x += L * n) { \
      for (int k = 0; k < L; k++) { \
        int64_t i = L; \
        memcpy(&t[k], x + k * n, 16); \
        for (; i + L <= n; i += L) { \
          memcpy(&v, x + k * n + i, 16); \
          t[k] = STEP##_V(NAME##_part, t[k], v); \
        } \
        if (i < n) { \
          memcpy(&v, x + k * n + n - L, 16); \
          if (!(AGAIN)) v = (v & seen) | (fill & ~seen); \
          t[k] = STEP##_V(NAME##_part, t[k], v); \
        } \
      } \
      _Pragma("GCC unroll 4") for (int h = L / 2; h > 0; h /= 2) { \
        _Pragma("GCC unroll 8") for (int k = 0; k < h; k++) { \
          fold_halves(sizeof(T), (__m128i)t[k], (__m128i)t[k + h], halves); \
          t[k] = STEP##_V(NAME##_part, (NAME##_part)halves[0], (NAME##_part)halves[1]); \
        } \
      } \
      memcpy(&v, a + r, 16); \
      v = STEP##_V(NAME##_part, v, t[0]); \
      memcpy(a + r, &v, 16); \
    } \
    return r; \
  }
#else
#define FOLD_GROUPS(NAME, T, STEP, AGAIN, NEUTRAL) \
  SIMD_INLINE int64_t NAME##_groups(const T *x, int64_t rows, int64_t n, T *a) { (void)x; (void)rows; (void)n; (void)a; return 0; }
#endif
enum { FOLD_FEW = 256 }; /* bytes of a row that has a few vectors */

#define FOLD_SHORT(NAME, A, STEP) \
  for (; r < rows; r++, x += n) { \
    A one = a[r]; \
    for (int64_t i = 0; i < n; i++) one = STEP(one, (A)x[i]); \
    a[r] = one; \
  }

#define FOLD_ROWS(NAME, T, STEP, AGAIN, NEUTRAL, MOST) \
  FOLD_LANES(NAME, T, T, STEP, AGAIN, NEUTRAL, MOST) \
  FOLD_GROUPS(NAME, T, STEP, AGAIN, NEUTRAL) \
  static void NAME##_rows(const void *at_x, int64_t rows, int64_t n, void *at_a) { \
    const T *restrict x = at_x; \
    T *restrict a = at_a; \
    const int64_t bytes = n * (int64_t)sizeof(T); \
    int64_t r = bytes >= 16 && bytes < FOLD_FEW ? NAME##_groups(x, rows, n, a) : 0; \
    x += r * n; \
    if (bytes >= MOST) { \
      for (; r < rows; r++, x += n) a[r] = NAME##_##MOST(a[r], x, n); \
    } else FOLD_SHORT(NAME, T, STEP) \
  }

/* Accumulators that are wider than values. */
#define FOLD_WIDE_ROWS(NAME, T, A, STEP, NEUTRAL, MOST) \
  FOLD_LANES(NAME, T, A, STEP, 0, NEUTRAL, MOST) \
  FOLD_LANES(NAME, T, A, STEP, 0, NEUTRAL, 16) \
  static void NAME##_rows(const void *at_x, int64_t rows, int64_t n, void *at_a) { \
    const T *restrict x = at_x; \
    A *restrict a = at_a; \
    const int64_t bytes = n * (int64_t)sizeof(T); \
    int64_t r = 0; \
    if (bytes >= MOST) { \
      for (; r < rows; r++, x += n) a[r] = NAME##_##MOST(a[r], x, n); \
    } else if (bytes >= 16) { \
      for (; r < rows; r++, x += n) a[r] = NAME##_16(a[r], x, n); \
    } else FOLD_SHORT(NAME, A, STEP) \
  }

/* Rows whose strips are folded before those of the next ones: they are read from memory once, one after the other. */
SIMD_INLINE int64_t rows_together(int64_t rows, int64_t bytes) {
  enum { BLOCK = 1 << 14, LEAST = 16 };
  if (bytes <= 4 * VB) return rows; /* a single strip */
  const int64_t together = bytes > BLOCK / LEAST ? LEAST : BLOCK / bytes;
  return together < rows ? together : rows;
}

enum { FEW_ROWS = 4 };
#define FOLD_COLUMNS(NAME, T, A, STEP, MOST, MORE) \
  FOLD_STRIPS(NAME, T, A, STEP, MOST) \
  FOLD_STRIPS(NAME, T, A, STEP, MORE) \
  FOLD_STRIPS(NAME, T, A, STEP, 16) \
  SIMD_INLINE void NAME##_block(const T *restrict x, int64_t rows, int64_t n, A *restrict a) { \
    const int64_t bytes = n * (int64_t)sizeof(T); \
    if (sizeof(T) == sizeof(A) && rows < FEW_ROWS && bytes >= 16 * MOST) { /* one after the other: strips would take longer to begin and to end */ \
      enum { L = MOST / sizeof(T) }; \
      int64_t c = 0; \
      for (; c + L <= n; c += L) \
        for (int64_t r = 0; r < rows; r++) FOLD_EACH(L) a[c + k] = STEP(a[c + k], (A)x[r * n + c + k]); \
      for (; c < n; c++) \
        for (int64_t r = 0; r < rows; r++) { \
          __asm__ volatile("" : : : "memory"); /* few values: no vectors */ \
          a[c] = STEP(a[c], (A)x[r * n + c]); \
        } \
    } else if (bytes >= MOST) { \
      NAME##_strips_##MOST(x, rows, n, a); \
    } else if (bytes >= MORE) { \
      NAME##_strips_##MORE(x, rows, n, a); \
    } else if (bytes >= 16) { \
      NAME##_strips_16(x, rows, n, a); \
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
  FOLD_ROWS(NAME, T, STEP, AGAIN, NEUTRAL, VB) \
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
FOLD_WIDE_ROWS(wide_sum_s32, int32_t, uint64_t, FOLD_SUM, 0, VB)
FOLD_COLUMNS(wide_sum_s32, int32_t, uint64_t, FOLD_SUM, VB, 32)
FOLD_WIDE_ROWS(wide_sum_s16, int16_t, uint32_t, FOLD_SUM, 0, VB)
FOLD_COLUMNS(wide_sum_s16, int16_t, uint32_t, FOLD_SUM, VB, 32)

/* `steps` times 64 bytes in 32 lanes of 16 bits, which overflow: arithmetic/xnnpack/quantized_reduction.pxd's sum_lanes. */
static int32_t sum_lanes_s8(const int8_t *x, int64_t steps) {
#if SIMD_ISA >= 256
  const __m256i ones = _mm256_set1_epi8(1), wide_ones = _mm256_set1_epi16(1);
  __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
  int32_t sums[8], total = 0;
  for (int64_t i = 0; i < steps; i++, x += 64) {
    low = _mm256_add_epi16(low, _mm256_maddubs_epi16(ones, _mm256_loadu_si256((const __m256i *)x)));
    high = _mm256_add_epi16(high, _mm256_maddubs_epi16(ones, _mm256_loadu_si256((const __m256i *)(x + 32))));
  }
  _mm256_storeu_si256((__m256i *)sums, _mm256_add_epi32(_mm256_madd_epi16(low, wide_ones), _mm256_madd_epi16(high, wide_ones)));
  for (int j = 0; j < 8; j++) total += sums[j];
  return total;
#else
  uint16_t lanes[32] = {0};
  int32_t total = 0;
  for (int64_t i = 0; i < steps; i++, x += 64)
    for (int j = 0; j < 32; j++) lanes[j] = (uint16_t)(lanes[j] + x[2 * j] + x[2 * j + 1]);
  for (int j = 0; j < 32; j++) total += (int16_t)lanes[j];
  return total;
#endif
}

#endif
