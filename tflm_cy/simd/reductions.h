/* The loops of reductions.pxi.
 *
 * A column's accumulator meets its values in their order, so lanes are columns. The largest value of a row is found in lanes in any order; only which
 * zero it is, and what a NaN does, depends on the order: then the row is walked again. */
#ifndef TFLM_CY_SIMD_REDUCTIONS_H
#define TFLM_CY_SIMD_REDUCTIONS_H

#include "float32.h"
#include "folds.h"

#define AT_MOST_VL(N) ((N) < 0 ? 0 : (N) < VL ? (N) : VL)
#define COLUMNS(NAME, STEP) /* STEP(a, v): the accumulator and a value */                                                    \
  SIMD_INLINE void NAME##_block(const float *x, int64_t rows, int64_t step, int64_t n, float *a) {                           \
    int64_t c = 0;                                                                                                           \
    for (; c + 4 * VL <= n; c += 4 * VL) {                                                                                   \
      const float *p = x + c;                                                                                                \
      vf a0 = vf_load(a + c), a1 = vf_load(a + c + VL), a2 = vf_load(a + c + 2 * VL), a3 = vf_load(a + c + 3 * VL);          \
      for (int64_t r = 0; r < rows; r++, p += step) {                                                                        \
        a0 = STEP(a0, vf_load(p));                                                                                           \
        a1 = STEP(a1, vf_load(p + VL));                                                                                      \
        a2 = STEP(a2, vf_load(p + 2 * VL));                                                                                  \
        a3 = STEP(a3, vf_load(p + 3 * VL));                                                                                  \
      }                                                                                                                      \
      vf_store(a + c, a0);                                                                                                   \
      vf_store(a + c + VL, a1);                                                                                              \
      vf_store(a + c + 2 * VL, a2);                                                                                          \
      vf_store(a + c + 3 * VL, a3);                                                                                          \
    }                                                                                                                        \
    if (n - c > 2 * VL) { /* three or four vectors in one run over the rows, the last one in part or not at all */           \
      const int64_t m2 = AT_MOST_VL(n - c - 2 * VL), m3 = AT_MOST_VL(n - c - 3 * VL);                                        \
      const float *p = x + c;                                                                                                \
      vf a0 = vf_load(a + c), a1 = vf_load(a + c + VL);                                                                      \
      vf a2 = vf_load_part(a + c + 2 * VL, m2), a3 = vf_load_part(a + c + 3 * VL, m3);                                       \
      for (int64_t r = 0; r < rows; r++, p += step) {                                                                        \
        a0 = STEP(a0, vf_load(p));                                                                                           \
        a1 = STEP(a1, vf_load(p + VL));                                                                                      \
        a2 = STEP(a2, vf_load_part(p + 2 * VL, m2));                                                                         \
        a3 = STEP(a3, vf_load_part(p + 3 * VL, m3));                                                                         \
      }                                                                                                                      \
      vf_store(a + c, a0);                                                                                                   \
      vf_store(a + c + VL, a1);                                                                                              \
      vf_store_part(a + c + 2 * VL, a2, m2);                                                                                 \
      vf_store_part(a + c + 3 * VL, a3, m3);                                                                                 \
    } else if (n - c > VL) {                                                                                                 \
      const int64_t m1 = n - c - VL;                                                                                         \
      const float *p = x + c;                                                                                                \
      vf a0 = vf_load(a + c), a1 = vf_load_part(a + c + VL, m1);                                                             \
      for (int64_t r = 0; r < rows; r++, p += step) {                                                                        \
        a0 = STEP(a0, vf_load(p));                                                                                           \
        a1 = STEP(a1, vf_load_part(p + VL, m1));                                                                             \
      }                                                                                                                      \
      vf_store(a + c, a0);                                                                                                   \
      vf_store_part(a + c + VL, a1, m1);                                                                                     \
    } else if (n > c) {                                                                                                      \
      const float *p = x + c;                                                                                                \
      vf a0 = vf_load_part(a + c, n - c);                                                                                    \
      for (int64_t r = 0; r < rows; r++, p += step) a0 = STEP(a0, vf_load_part(p, n - c));                                   \
      vf_store_part(a + c, a0, n - c);                                                                                       \
    }                                                                                                                        \
  }                                                                                                                          \
  static void NAME##_columns(const float *x, int64_t rows, int64_t step, int64_t n, float *a) {                              \
    const int64_t together = rows_together(rows, n * (int64_t)sizeof(float));                                                \
    for (; rows > 0; rows -= together, x += together * step) NAME##_block(x, rows < together ? rows : together, step, n, a); \
  }
#define LARGEST_STEP(a, v) vf_max(v, a)
#define SMALLEST_STEP(a, v) vf_min(v, a)
COLUMNS(sum, vf_add_first)
COLUMNS(product, vf_mul_first)
COLUMNS(largest, LARGEST_STEP)
COLUMNS(smallest, SMALLEST_STEP)
COLUMNS(largest_last, vf_max)
COLUMNS(smallest_last, vf_min)

#if SIMD_ISA == 512
SIMD_INLINE unsigned vf_any_nan(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
SIMD_INLINE float vf_reduce_max(vf a) { return _mm512_reduce_max_ps(a); }
SIMD_INLINE float vf_reduce_min(vf a) { return _mm512_reduce_min_ps(a); }
#elif SIMD_ISA == 128
SIMD_INLINE unsigned vf_any_nan(vf a, vf b) {
  const uint32x4_t numbers = vandq_u32(vceqq_f32(simd_f32(a), simd_f32(a)), vceqq_f32(simd_f32(b), simd_f32(b)));
  return ~vminvq_u32(numbers);
}
SIMD_INLINE float vf_reduce_max(vf a) { return vmaxvq_f32(simd_f32(a)); }
SIMD_INLINE float vf_reduce_min(vf a) { return vminvq_f32(simd_f32(a)); }
#else
SIMD_INLINE unsigned vf_any_nan(vf a, vf b) { return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)); }
SIMD_INLINE float vf_reduce_max(vf a) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}
SIMD_INLINE float vf_reduce_min(vf a) {
  __m128 m = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  m = _mm_min_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_min_ss(m, _mm_shuffle_ps(m, m, 1)));
}
#endif

/* The first n values, then `fill`. */
SIMD_INLINE vf vf_load_filled(const float *p, int64_t n, float fill) {
#if SIMD_ISA == 512
  return _mm512_mask_loadu_ps(vf_set1(fill), SIMD_MASK16(n), p);
#elif SIMD_ISA == 128
  float v[VL] = {fill, fill, fill, fill};
  memcpy(v, p, (size_t)n * sizeof(float));
  return vf_load(v);
#else
  const __m256i some = simd_first(n);
  return _mm256_blendv_ps(vf_set1(fill), _mm256_maskload_ps(p, some), _mm256_castsi256_ps(some));
#endif
}

/* The extreme of n values; *nan: whether one is NaN. */
#define EXTREME(NAME, BEST, REDUCE, LAST)                                                              \
  SIMD_INLINE float NAME##_of(const float *x, int64_t n, unsigned *nan) {                              \
    vf a0 = n < VL ? vf_load_filled(x, n, LAST) : vf_load(x), a1 = a0;                                 \
    unsigned found = vf_any_nan(a0, a0);                                                               \
    int64_t i = VL;                                                                                    \
    for (; i + 2 * VL <= n; i += 2 * VL) {                                                             \
      const vf u = vf_load(x + i), v = vf_load(x + i + VL);                                            \
      found |= vf_any_nan(u, v);                                                                       \
      a0 = BEST(a0, u);                                                                                \
      a1 = BEST(a1, v);                                                                                \
    }                                                                                                  \
    for (; i < n; i += VL) { /* the last vector ends with the row */                                   \
      const vf u = vf_load(x + (i + VL <= n ? i : n - VL));                                            \
      found |= vf_any_nan(u, u);                                                                       \
      a0 = BEST(a0, u);                                                                                \
    }                                                                                                  \
    *nan = found;                                                                                      \
    return REDUCE(BEST(a0, a1));                                                                       \
  }
EXTREME(largest, vf_max, vf_reduce_max, -INFINITY)
EXTREME(smallest, vf_min, vf_reduce_min, INFINITY)

/* TAKES(a, v): whether value v replaces accumulator a; EQUAL: whether one of two zeros does. */
#define ROWS(NAME, EXTREME_OF, TAKES, EQUAL)                                                 \
  static void NAME##_rows(const float *x, int64_t rows, int64_t step, int64_t n, float *a) { \
    for (int64_t r = 0; r < rows; r++, x += step) {                                          \
      float best = a[r];                                                                     \
      unsigned nan;                                                                          \
      const float found = EXTREME_OF(x, n, &nan);                                            \
      if (!nan && TAKES(best, found)) {                                                      \
        best = found;                                                                        \
        if (found == 0) { /* of several zeros the first or the last */                       \
          int64_t i = EQUAL ? n - 1 : 0;                                                     \
          while (x[i] != 0) i += EQUAL ? -1 : 1;                                             \
          best = x[i];                                                                       \
        }                                                                                    \
      }                                                                                      \
      for (int64_t i = 0; nan && i < n; i++) best = TAKES(best, x[i]) ? x[i] : best;         \
      a[r] = best;                                                                           \
    }                                                                                        \
  }
#define GREATER(a, v) ((v) > (a))
#define LESS(a, v) ((v) < (a))
#define NOT_GREATER(a, v) (!((a) > (v)))
#define NOT_LESS(a, v) (!((a) < (v)))
ROWS(largest, largest_of, GREATER, 0)
ROWS(smallest, smallest_of, LESS, 0)
ROWS(largest_last, largest_of, NOT_GREATER, 1)
ROWS(smallest_last, smallest_of, NOT_LESS, 1)

/* Of rows that lie `step` values apart, until one has a NaN, or zeros of both signs for its extreme: then the order decides. Returns how many. */
SIMD_INLINE int64_t extremes(const float *x, int64_t rows, int64_t step, int64_t n, const int largest, float *y) {
  for (int64_t r = 0; r < rows; r++, x += step) {
    unsigned nan = 0;
    y[r] = largest ? largest_of(x, n, &nan) : smallest_of(x, n, &nan);
    if (nan) return r;
    if (y[r] == 0) {
      int minus = 0, plus = 0;
      for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = ((const uint32_t *)x)[i];
        minus |= x[i] == 0 && bits >> 31; /* denormals are zeros, as they are for the sums */
        plus |= x[i] == 0 && !(bits >> 31);
      }
      if (minus && plus) return r;
      y[r] = minus ? -0.0f : 0.0f;
    }
  }
  return rows;
}
static int64_t extremes_of(const float *x, int64_t rows, int64_t step, int64_t n, int largest, float *y) {
  return largest ? extremes(x, rows, step, n, 1, y) : extremes(x, rows, step, n, 0, y);
}

#if SIMD_ISA >= 256
/* The lanes as arithmetic/xnnpack/reduction.pxd's tree_sum adds them, of sixteen first those eight apart. */
SIMD_INLINE float vf_tree_sum(vf a) {
#if SIMD_ISA == 512
  const __m256 lanes = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
#else
  const __m256 lanes = a;
#endif
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
#endif

enum { SUMS_ARE_WIDE = SIMD_ISA == 512 };
/* Sums of rows that lie `step` values apart, as arithmetic/xnnpack/reduction.pxd's sum_rows adds them up; which of several NaNs comes out may differ. */
#if SIMD_ISA == 512
static void scaled_sums_of(const float *x, int64_t rows, int64_t step, int64_t n, float scale, float *y) {
  for (int64_t r = 0; r < rows; r++, x += step) {
    vf a = vf_set1(0), b = a;
    int64_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) {
      a = vf_add(a, vf_load(x + i));
      b = vf_add(b, vf_load(x + i + VL));
    }
    if (i + VL <= n) {
      a = vf_add(a, vf_load(x + i));
      i += VL;
    }
    a = vf_add(b, a);
    if (i < n) a = vf_add(a, vf_load_part(x + i, n - i));
    y[r] = _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(vf_tree_sum(a)), _mm_set_ss(scale), _mm_set_ss(y[r])));
  }
}
#elif SIMD_ISA == 256
static void scaled_sums_of(const float *x, int64_t rows, int64_t step, int64_t n, float scale, float *y) {
  for (int64_t r = 0; r < rows; r++, x += step) {
    vf a = vf_set1(0), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
      a = vf_add(a, vf_load(x + i));
      b = vf_add(b, vf_load(x + i + VL));
      c = vf_add(c, vf_load(x + i + 2 * VL));
      d = vf_add(d, vf_load(x + i + 3 * VL));
    }
    if (i + VL <= n) a = vf_add(a, vf_load(x + i)), i += VL;
    if (i + VL <= n) b = vf_add(b, vf_load(x + i)), i += VL;
    if (i + VL <= n) c = vf_add(c, vf_load(x + i)), i += VL;
    a = vf_add(vf_add(b, d), vf_add(a, c));
    if (i < n) a = vf_add(a, vf_load_part(x + i, n - i));
    y[r] = vf_tree_sum(a) * scale + y[r];
  }
}
#else
static void (*const scaled_sums_of)(const float *, int64_t, int64_t, int64_t, float, float *) = NULL;
#endif

/* Where the first largest (smallest) value of a row is; 0: not found out, since the row has a NaN. In short rows all vectors are looked at: where the
 * value lies is a matter of chance, and nothing waits for a branch. */
SIMD_INLINE unsigned vf_equal_lanes(vf a, vf b) {
#if SIMD_ISA == 512
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
#elif SIMD_ISA == 128
  return vaddvq_u32(vandq_u32(vceqq_f32(simd_f32(a), simd_f32(b)), (uint32x4_t){1, 2, 4, 8}));
#else
  return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ));
#endif
}

static int find_extreme(const float *x, int64_t n, int largest, int64_t *at) {
  unsigned found = 1;
  const float best = largest ? largest_of(x, n, &found) : smallest_of(x, n, &found);
  if (found) return 0;
  const vf wanted = vf_set1(best);
  int64_t i = 0;
  if (n < VL) {
    *at = __builtin_ctz(vf_equal_lanes(vf_load_filled(x, n, best), wanted));
  } else if (n <= 64) {
    uint64_t lanes = (uint64_t)vf_equal_lanes(vf_load(x + n - VL), wanted) << (n - VL);
    for (; i + VL <= n; i += VL) lanes |= (uint64_t)vf_equal_lanes(vf_load(x + i), wanted) << i;
    *at = __builtin_ctzll(lanes);
  } else {
    while (i + VL <= n && (found = vf_equal_lanes(vf_load(x + i), wanted)) == 0) i += VL;
    if (!found) found = vf_equal_lanes(vf_load(x + (i = n - VL)), wanted);
    *at = i + __builtin_ctz(found);
  }
  return 1;
}

#if SIMD_ISA >= 256
/* 2^n of a whole n in the lowest bits; v where x is not below the least, else 0. */
#if SIMD_ISA == 512
SIMD_INLINE vf vf_power_of(vf n) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(n), 23)); }
SIMD_INLINE vf vf_from_least(vf x, vf least, vf v) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ), v); }
#else
SIMD_INLINE vf vf_power_of(vf n) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(n), 23)); }
SIMD_INLINE vf vf_from_least(vf x, vf least, vf v) { return _mm256_and_ps(_mm256_cmp_ps(x, least, _CMP_NLT_UQ), v); }
#endif

/* exp_minus8: e^x for x <= 0. */
SIMD_INLINE vf exp_minus(vf x) {
  const vf magic = vf_set1(0x1.8000FEp23f), whole = vf_fma(x, vf_set1(0x1.715476p0f), magic);
  const vf scale = vf_power_of(whole), n = vf_sub(whole, magic);
  const vf t = vf_fma(n, vf_set1(-0x1.7F7D1Cp-20f), vf_fma(n, vf_set1(-0x1.62E400p-1f), x));
  vf p = vf_fma(vf_set1(0x1.0F9F9Cp-7f), t, vf_set1(0x1.573A1Ap-5f));
  p = vf_fma(p, t, vf_set1(0x1.555A80p-3f));
  p = vf_fma(p, t, vf_set1(0x1.FFFDC6p-2f));
  p = vf_fma(p, t, vf_set1(0x1.FFFFF6p-1f));
  return vf_from_least(x, vf_set1(-0x1.5D589Ep6f), vf_fma(vf_mul(t, scale), p, scale));
}

/* Rows of n values as arithmetic/xnnpack/softmax.pxd's softmax_row, until one has a NaN or its largest value is infinite; returns how many. */
static int64_t softmax_rows_of(const float *x, int64_t rows, int64_t n, float *y) {
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    unsigned nan = 0;
    const float largest = largest_of(x, n, &nan);
    if (nan || !(largest > -INFINITY && largest < INFINITY)) return r;
    const vf m = vf_set1(largest);
    vf a = vf_set1(0), b = a;
    int64_t i = 0;
    for (; i + 4 * VL <= n; i += 4 * VL) {
      const vf e0 = exp_minus(vf_sub(vf_load(x + i), m)), e1 = exp_minus(vf_sub(vf_load(x + i + VL), m));
      const vf e2 = exp_minus(vf_sub(vf_load(x + i + 2 * VL), m)), e3 = exp_minus(vf_sub(vf_load(x + i + 3 * VL), m));
      vf_store(y + i, e0);
      vf_store(y + i + VL, e1);
      vf_store(y + i + 2 * VL, e2);
      vf_store(y + i + 3 * VL, e3);
      a = vf_add(vf_add(a, e0), e2);
      b = vf_add(vf_add(b, e1), e3);
    }
    a = vf_add(b, a);
    for (; i + VL <= n; i += VL) {
      const vf e = exp_minus(vf_sub(vf_load(x + i), m));
      vf_store(y + i, e);
      a = vf_add(a, e);
    }
    vf last = vf_set1(0); /* is multiplied in its register: it would be read before it is written */
    if (i < n) {
      last = exp_minus(vf_sub(vf_load_filled(x + i, n - i, -INFINITY), m));
      a = vf_add(a, last);
    }
    const vf scale = vf_set1(1 / vf_tree_sum(a));
    if (i < n) vf_store_part(y + i, vf_mul(scale, last), n - i);
    for (i = 0; i + VL <= n; i += VL) vf_store(y + i, vf_mul(scale, vf_load(y + i)));
  }
  return rows;
}
#else
static int64_t (*const softmax_rows_of)(const float *, int64_t, int64_t, float *) = NULL;
#endif

#endif
