/* Rows of int16 values times rows of int8 weights that lie in memory as they are, exact modulo 2^32: the sums of arithmetic/product_s16.pxd.
 *
 * A tile is some rows of values and four rows of weights, whose sums are added up across the lanes together. What is left of a row is its last whole vector
 * once more, with zeros for the values that have been counted; rows shorter than a vector are loaded in part.
 *
 * `minimum`: a weight of -128 counts as 128 where the value is negative, but for the last n % 16 columns (arithmetic/hybrid.pxd). */
#ifndef TFLM_CY_SIMD_GEMV_I16_H
#define TFLM_CY_SIMD_GEMV_I16_H

#include "simd.h"

enum { VALUES16 = 2 * VL, MOST_VALUES16 = VL == 16 ? 4 : 2 };

/* Rows of weights lie one behind the other: a step of a tile prefetches as many bytes of the next four rows as it reads of these. */
SIMD_INLINE void prefetch_next16(const int8_t *w, ptrdiff_t n, ptrdiff_t i) {
  _Pragma("GCC unroll 2") for (int at = 0; at < 4 * VALUES16; at += 64) simd_prefetch(w + 4 * n + 4 * i + at);
}

#if SIMD_ISA == 512
SIMD_INLINE vb weights16(const int8_t *w) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)w)); }
SIMD_INLINE vb few_weights16(const int8_t *w, ptrdiff_t n) { return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(_bzhi_u32(~0u, (unsigned)n), w)); }
SIMD_INLINE vi dot16(vi acc, vb x, vb w) { return _mm512_dpwssd_epi32(acc, x, w); }
SIMD_INLINE vb turn_minimum16(vb w, vb negative) {
  const __mmask32 hit = _mm512_mask_cmpeq_epi16_mask(_mm512_movepi16_mask(negative), w, _mm512_set1_epi16(-128));
  return _mm512_mask_sub_epi16(w, hit, _mm512_setzero_si512(), w);
}
SIMD_INLINE __m128i sum_four16(vi a, vi b, vi c, vi d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  const __m512i s = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(s), _mm512_extracti64x4_epi64(s, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}
SIMD_INLINE void store_sums16(int32_t *y, vi a, vi b, vi c, vi d) { _mm_storeu_si128((__m128i *)y, sum_four16(a, b, c, d)); }
#elif SIMD_ISA == 256
SIMD_INLINE vb weights16(const int8_t *w) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w)); }
SIMD_INLINE vb few_weights16(const int8_t *w, ptrdiff_t n) { return _mm256_cvtepi8_epi16(simd_load_few((const uint8_t *)w, n)); }
SIMD_INLINE vi dot16(vi acc, vb x, vb w) { return _mm256_add_epi32(acc, _mm256_madd_epi16(x, w)); }
SIMD_INLINE vb turn_minimum16(vb w, vb negative) {
  const __m256i hit = _mm256_and_si256(negative, _mm256_cmpeq_epi16(w, _mm256_set1_epi16(-128)));
  return _mm256_sub_epi16(_mm256_xor_si256(w, hit), hit);
}
SIMD_INLINE void store_sums16(int32_t *y, vi a, vi b, vi c, vi d) {
  const __m256i s = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
  _mm_storeu_si128((__m128i *)y, _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1)));
}
#elif SIMD_ISA == 128
SIMD_INLINE vb weights16(const int8_t *w) { return (vb)vmovl_s8(vld1_s8(w)); }
SIMD_INLINE vb few_weights16(const int8_t *w, ptrdiff_t n) { return (vb)vmovl_s8(vget_low_s8(simd_i8(simd_load_few((const uint8_t *)w, n)))); }
SIMD_INLINE vi dot16(vi acc, vb x, vb w) {
  const int16x8_t a = (int16x8_t)x, b = (int16x8_t)w;
  return (vi)vaddq_s32(simd_i32(acc), vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
}
SIMD_INLINE vb turn_minimum16(vb w, vb negative) {
  const int16x8_t hit = vandq_s16((int16x8_t)negative, (int16x8_t)vceqq_s16((int16x8_t)w, vdupq_n_s16(-128)));
  return (vb)vsubq_s16(veorq_s16((int16x8_t)w, hit), hit);
}
SIMD_INLINE void store_sums16(int32_t *y, vi a, vi b, vi c, vi d) {
  vst1q_s32(y, vpaddq_s32(vpaddq_s32(simd_i32(a), simd_i32(b)), vpaddq_s32(simd_i32(c), simd_i32(d))));
}
#else
SIMD_INLINE vb weights16(const int8_t *w) {
#if defined(__SSE2__)
  const __m128i few = _mm_loadl_epi64((const __m128i *)w);
  return (vb)_mm_srai_epi16(_mm_unpacklo_epi8(few, few), 8);
#else
  typedef int8_t Few __attribute__((vector_size(8)));
  Few few;
  memcpy(&few, w, 8);
  return (vb)__builtin_convertvector(few, simd_s16);
#endif
}
SIMD_INLINE vb few_weights16(const int8_t *w, ptrdiff_t n) {
  int8_t some[8] = {0};
  memcpy(some, w, (size_t)n);
  return weights16(some);
}
SIMD_INLINE vi dot16(vi acc, vb x, vb w) {
#if defined(__SSE2__)
  return vi_add(acc, (vi)_mm_madd_epi16((__m128i)x, (__m128i)w));
#else
  const simd_s16 a = (simd_s16)x, b = (simd_s16)w;
  vi r;
  SIMD_LANES(i) r[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)(a[2 * i] * b[2 * i]) + (uint32_t)(a[2 * i + 1] * b[2 * i + 1]));
  return r;
#endif
}
SIMD_INLINE vb turn_minimum16(vb w, vb negative) {
  const simd_s16 hit = (simd_s16)negative & ((simd_s16)w == -128);
  return (vb)(((simd_s16)w ^ hit) - hit);
}
SIMD_INLINE void store_sums16(int32_t *y, vi a, vi b, vi c, vi d) {
  y[0] = vi_sum(a);
  y[1] = vi_sum(b);
  y[2] = vi_sum(c);
  y[3] = vi_sum(d);
}
#endif

typedef struct {
  const int16_t *x;
  int16_t tail[VALUES16];          /* the values of the last vector that are not counted yet */
  int16_t negative[VALUES16];      /* of those in full blocks of 16: all bits where a value is below 0 */
} Values16;

static void end_values16(Values16 *v, const int16_t *x, ptrdiff_t n) {
  const ptrdiff_t rest = n % VALUES16, shift = n >= VALUES16 ? VALUES16 - rest : 0, blocks = n - n % 16;
  v->x = x;
  memset(v->tail, 0, sizeof v->tail);
  memset(v->negative, 0, sizeof v->negative);
  for (ptrdiff_t i = 0; i < rest; i++) {
    v->tail[shift + i] = x[n - rest + i];
    v->negative[shift + i] = n - rest + i < blocks && x[n - rest + i] < 0 ? -1 : 0;
  }
}

SIMD_INLINE vb negative16(vb x) {
#if SIMD_ISA == 512
  return x; /* the sign bits are what counts */
#elif SIMD_ISA == 256
  return _mm256_srai_epi16(x, 15);
#else
  return (vb)((simd_s16)x >> 15);
#endif
}

/* `count` rows of values with `rows` rows of weights, at most 4: the others are the last one again. */
SIMD_INLINE void tile16(const Values16 *v, const int count, const int8_t *const *w, ptrdiff_t n, const int minimum, int32_t *sums) {
  vi acc[MOST_VALUES16][4];
  ptrdiff_t i = 0;
  _Pragma("GCC unroll 4") for (int j = 0; j < count; j++)
    _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) acc[j][r] = vi_set1(0);
  for (; i + VALUES16 <= n; i += VALUES16) {
    vb weights[4];
    prefetch_next16(w[0], n, i);
    _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) weights[r] = weights16(w[r] + i);
    _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) {
      const vb x = vb_load(v[j].x + i);
      _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
        acc[j][r] = dot16(acc[j][r], x, minimum && (VALUES16 >= 16 || i < n - n % 16) ? turn_minimum16(weights[r], negative16(x)) : weights[r]);
      }
    }
  }
  if (i < n) {
    vb weights[4];
    _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) weights[r] = i > 0 ? weights16(w[r] + n - VALUES16) : few_weights16(w[r], n);
    _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) {
      const vb x = vb_load(v[j].tail);
      _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
        acc[j][r] = dot16(acc[j][r], x, minimum ? turn_minimum16(weights[r], vb_load(v[j].negative)) : weights[r]);
      }
    }
  }
  _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) store_sums16(sums + 4 * j, acc[j][0], acc[j][1], acc[j][2], acc[j][3]);
}

static void tile16_one(const Values16 *v, const int8_t *const *w, ptrdiff_t n, int32_t *sums) { tile16(v, 1, w, n, 0, sums); }
static void tile16_minimum(const Values16 *v, const int8_t *const *w, ptrdiff_t n, int32_t *sums) { tile16(v, 1, w, n, 1, sums); }
static void tile16_most(const Values16 *v, const int8_t *const *w, ptrdiff_t n, int32_t *sums) { tile16(v, MOST_VALUES16, w, n, 0, sums); }

/* sums[j * sum_step + r] = x[j] . w[r] */
static void multiply_rows16(const int16_t *x, ptrdiff_t x_step, ptrdiff_t count, const int8_t *w, ptrdiff_t w_step, ptrdiff_t rows, ptrdiff_t n,
                            int minimum, int32_t *sums, ptrdiff_t sum_step) {
  Values16 v[MOST_VALUES16];
  int32_t found[4 * MOST_VALUES16];
  ptrdiff_t j = 0;
  while (j < count) {
    const int many = !minimum && count - j >= MOST_VALUES16 ? MOST_VALUES16 : 1;
    for (int i = 0; i < many; i++) end_values16(&v[i], x + (j + i) * x_step, n);
    for (ptrdiff_t r = 0; r < rows; r += 4) {
      const int8_t *four[4];
      for (int i = 0; i < 4; i++) four[i] = w + (r + i < rows ? r + i : rows - 1) * w_step;
      if (many > 1) tile16_most(v, four, n, found);
      else if (minimum) tile16_minimum(v, four, n, found);
      else tile16_one(v, four, n, found);
      for (int i = 0; i < many; i++) memcpy(sums + (j + i) * sum_step + r, found + 4 * i, (size_t)(rows - r < 4 ? rows - r : 4) * 4);
    }
    j += many;
  }
}

/* sums[c] += ((x[k] - zero_point) * w[k][c] * scales[c]) * scale, k after k: arithmetic/transpose_conv.pxd's add_scaled_products. A vector of columns after the
 * other; rows of w are `step` bytes apart. */
static void add_scaled_products16(const int16_t *x, int32_t zero_point, ptrdiff_t n, const int8_t *w, ptrdiff_t step, const float *scales, float scale,
                                  float *sums, ptrdiff_t columns) {
  const vf all = vf_set1(scale);
  for (ptrdiff_t c = 0; c < columns; c += VL) {
    const ptrdiff_t some = columns - c < VL ? columns - c : VL;
    const vf own = vf_load_part(scales + c, some);
    const int8_t *row = w + c;
    vf sum = vf_load_part(sums + c, some);
    for (ptrdiff_t k = 0; k < n; k++, row += step) {
      const vf product = vf_mul(vf_set1((float)(x[k] - zero_point)), vf_from_vi(vi_from_s8(row)));
      sum = vf_add(sum, vf_mul(vf_mul(product, own), all));
    }
    vf_store_part(sums + c, sum, some);
  }
}
#endif
