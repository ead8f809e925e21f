/* Rows of int16 values times int8 weights that are packed so that lanes are columns: no sum crosses lanes, and a value meets whole vectors. Exact
 * modulo 2^32. Then the rescaling of such sums to int16.
 *
 * Packed: for each block of VL columns, for each two positions of the depth, the two weights of each column side by side. A depth that is odd ends
 * with a zero. */
#ifndef TFLM_CY_SIMD_COLUMNS_I16_H
#define TFLM_CY_SIMD_COLUMNS_I16_H

#include "gemv_i16.h"

enum { TILE_ROWS16 = SIMD_ISA == 512 ? 8 : 4 };

static void pack_columns16(const int8_t *w, ptrdiff_t w_step, ptrdiff_t k_step, ptrdiff_t columns, ptrdiff_t depth, int8_t *packed) {
  for (ptrdiff_t first = 0; first < columns; first += VL)
    for (ptrdiff_t k = 0; k < depth; k += 2)
      for (ptrdiff_t c = first; c < first + VL; c++) {
        *packed++ = c < columns ? w[c * w_step + k * k_step] : 0;
        *packed++ = c < columns && k + 1 < depth ? w[c * w_step + (k + 1) * k_step] : 0;
      }
}

SIMD_INLINE vb pair16(const int16_t *x) {
  int32_t both;
  memcpy(&both, x, 4);
  return (vb)vi_set1(both);
}

/* The products of `n` positions with two blocks of columns, or one. */
SIMD_INLINE void tile_columns16(const int ROWS, const int BLOCKS, const int16_t *const *x, ptrdiff_t start, ptrdiff_t n, const int8_t *packed,
                                ptrdiff_t block, int32_t *const *y) {
  vi acc[TILE_ROWS16][2];
  const int8_t *w = packed + start * VL;
  _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++)
    _Pragma("GCC unroll 2") for (int b = 0; b < BLOCKS; b++) acc[r][b] = vi_set1(0);
  ptrdiff_t k = start;
  for (; k + 2 <= start + n; k += 2, w += 2 * VL) {
    vb weights[2];
    _Pragma("GCC unroll 2") for (int b = 0; b < BLOCKS; b++) weights[b] = weights16(w + b * block);
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {
      const vb values = pair16(x[r] + k);
      _Pragma("GCC unroll 2") for (int b = 0; b < BLOCKS; b++) acc[r][b] = dot16(acc[r][b], values, weights[b]);
    }
  }
  if (k < start + n) /* the value of an odd depth, whose neighbour is not read */
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {
      const vb values = (vb)vi_set1(x[r][k] & 0xFFFF);
      _Pragma("GCC unroll 2") for (int b = 0; b < BLOCKS; b++) acc[r][b] = dot16(acc[r][b], values, weights16(w + b * block));
    }
  _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++)
    _Pragma("GCC unroll 2") for (int b = 0; b < BLOCKS; b++) vi_store(y[r] + b * VL, acc[r][b]);
}

SIMD_INLINE void tiles_columns16(const int ROWS, const int16_t *const *x, ptrdiff_t start, ptrdiff_t n, const int8_t *packed, ptrdiff_t block,
                                 ptrdiff_t columns, int32_t **y) {
  for (; columns > VL; columns -= 2 * VL, packed += 2 * block) {
    tile_columns16(ROWS, 2, x, start, n, packed, block, (int32_t *const *)y);
    for (int r = 0; r < ROWS; r++) y[r] += 2 * VL;
  }
  if (columns > 0) tile_columns16(ROWS, 1, x, start, n, packed, block, (int32_t *const *)y);
}

/* sums[j * sum_step + c] = x[j][start .. start + n] . w[c]; start is even, and n but at the end. Whole vectors of sums are written. */
static void multiply_columns16(const int16_t *const *x, ptrdiff_t count, const int8_t *packed, ptrdiff_t columns, ptrdiff_t depth, ptrdiff_t start,
                               ptrdiff_t n, int32_t *sums, ptrdiff_t sum_step) {
  const ptrdiff_t block = (depth + 1) / 2 * 2 * VL;
  for (ptrdiff_t j = 0; j < count; j += TILE_ROWS16) {
    const int16_t *rows[TILE_ROWS16];
    int32_t *to[TILE_ROWS16];
    if (count - j == 1) {
      to[0] = sums + j * sum_step;
      tiles_columns16(1, x + j, start, n, packed, block, columns, to);
      return;
    }
    for (int r = 0; r < TILE_ROWS16; r++) { /* behind the last: the last again */
      const ptrdiff_t row = j + r < count ? j + r : count - 1;
      rows[r] = x[row];
      to[r] = sums + row * sum_step;
    }
    tiles_columns16(TILE_ROWS16, rows, start, n, packed, block, columns, to);
  }
}

/* The values of neighbouring columns in two rows: those of a column side by side. */
SIMD_INLINE vb zip16(const int16_t *a, const int16_t *b) {
#if SIMD_ISA == 512
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)a)), high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)b));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
#elif SIMD_ISA == 256
  const __m128i low = _mm_loadu_si128((const __m128i *)a), high = _mm_loadu_si128((const __m128i *)b);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi16(low, high)), _mm_unpackhi_epi16(low, high), 1);
#elif SIMD_ISA == 128
  const int16x4_t low = vld1_s16(a), high = vld1_s16(b);
  return (vb)vcombine_s16(vzip1_s16(low, high), vzip2_s16(low, high));
#elif defined(__SSE2__)
  return (vb)_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)a), _mm_loadl_epi64((const __m128i *)b));
#else
  simd_s16 both;
  SIMD_LANES(i) both[2 * i] = a[i], both[2 * i + 1] = b[i];
  return (vb)both;
#endif
}

/* sums[c] = x[0][c] * w[c][0] + x[1][c] * w[c][1] ..: each column has values of its own. Whole vectors are read and written. */
static void multiply_taps16(const int16_t *const *x, ptrdiff_t taps, const int8_t *packed, ptrdiff_t columns, int32_t *sums) {
  for (ptrdiff_t c = 0; c < columns; c += VL) {
    vi acc = vi_set1(0);
    ptrdiff_t t = 0;
    for (; t + 2 <= taps; t += 2, packed += 2 * VL) acc = dot16(acc, zip16(x[t] + c, x[t + 1] + c), weights16(packed));
    if (t < taps) {
      acc = dot16(acc, zip16(x[t] + c, x[t] + c), weights16(packed));
      packed += 2 * VL;
    }
    vi_store(sums + c, acc);
  }
}

/* One value of each per column, of whole vectors, in the order of row_kernels.pxd's RescaleConstants:
 * y = ((sum + bias) * value + added) >> shift, the sum in 64 bits; or, not wide,
 * ((sum + bias << left) * value + added - (lost where the product is negative)) >> shift, what is multiplied in 32 bits. */
typedef struct {
  const int64_t *value, *added, *shift, *bias, *left, *lost;
  int32_t low, high;
} Constants16;

SIMD_INLINE int16_t rescaled16(const int WIDE, const Constants16 *k, int32_t sum, ptrdiff_t c) {
  int64_t p;
  if (WIDE) p = (int64_t)((uint64_t)(sum + k->bias[c]) * (uint64_t)k->value[c]);
  else p = (int64_t)(int32_t)(((uint32_t)sum + (uint32_t)k->bias[c]) << k->left[c]) * k->value[c];
  const int64_t q = (int64_t)((uint64_t)p + (uint64_t)k->added[c] - (uint64_t)(!WIDE && p < 0 ? k->lost[c] : 0));
  const int32_t v = (int32_t)(uint32_t)(uint64_t)(q >> k->shift[c]), low = v < k->low ? k->low : v;
  return (int16_t)(low > k->high ? k->high : low);
}

#if SIMD_ISA == 512
SIMD_INLINE __m256i rescaled16_half(const int WIDE, const Constants16 *k, __m256i sum, ptrdiff_t c) {
  const __m512i value = _mm512_loadu_si512(k->value + c), added = _mm512_loadu_si512(k->added + c), bias = _mm512_loadu_si512(k->bias + c);
  __m512i q;
  if (WIDE) {
    q = _mm512_add_epi64(_mm512_mullo_epi64(_mm512_add_epi64(_mm512_cvtepi32_epi64(sum), bias), value), added);
  } else {
    const __m512i s = _mm512_add_epi64(_mm512_cvtepi32_epi64(sum), bias); /* of which the lower halves count */
    const __m512i p = _mm512_mul_epi32(_mm512_sllv_epi32(s, _mm512_loadu_si512(k->left + c)), value);
    q = _mm512_add_epi64(p, added);
    q = _mm512_mask_sub_epi64(q, _mm512_movepi64_mask(p), q, _mm512_loadu_si512(k->lost + c));
  }
  return _mm512_cvtepi64_epi32(_mm512_srav_epi64(q, _mm512_loadu_si512(k->shift + c)));
}

SIMD_INLINE void rescale16_vector(const int WIDE, const Constants16 *k, const int32_t *sums, ptrdiff_t c, int16_t *y) {
  const __m256i a = rescaled16_half(WIDE, k, _mm256_loadu_si256((const __m256i *)sums), c);
  const __m256i b = rescaled16_half(WIDE, k, _mm256_loadu_si256((const __m256i *)(sums + 8)), c + 8);
  const vi v = vi_min(vi_max(_mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1), vi_set1(k->low)), vi_set1(k->high));
  _mm256_storeu_si256((__m256i *)y, _mm512_cvtepi32_epi16(v));
}
#elif SIMD_ISA == 256
SIMD_INLINE __m256i mul64(__m256i a, __m256i b) {
  const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b), _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
  return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

SIMD_INLINE __m128i rescaled16_half(const int WIDE, const Constants16 *k, __m128i sum, ptrdiff_t c) {
  const __m256i value = vi_load((const int32_t *)(k->value + c)), shift = vi_load((const int32_t *)(k->shift + c));
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN), s = _mm256_add_epi64(_mm256_cvtepi32_epi64(sum), vi_load((const int32_t *)(k->bias + c)));
  __m256i q = WIDE ? mul64(s, value) : _mm256_mul_epi32(_mm256_sllv_epi32(s, vi_load((const int32_t *)(k->left + c))), value);
  const __m256i lost = WIDE ? s : _mm256_and_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), q), vi_load((const int32_t *)(k->lost + c)));
  q = _mm256_add_epi64(q, vi_load((const int32_t *)(k->added + c)));
  if (!WIDE) q = _mm256_sub_epi64(q, lost);
  q = _mm256_sub_epi64(_mm256_srlv_epi64(_mm256_xor_si256(q, sign), shift), _mm256_srlv_epi64(sign, shift)); /* a shift that knows the sign */
  return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(q, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
}

SIMD_INLINE void rescale16_vector(const int WIDE, const Constants16 *k, const int32_t *sums, ptrdiff_t c, int16_t *y) {
  const __m128i a = rescaled16_half(WIDE, k, _mm_loadu_si128((const __m128i *)sums), c);
  const __m128i b = rescaled16_half(WIDE, k, _mm_loadu_si128((const __m128i *)(sums + 4)), c + 4);
  const __m128i low = _mm_set1_epi32(k->low), high = _mm_set1_epi32(k->high);
  _mm_storeu_si128((__m128i *)y, _mm_packs_epi32(_mm_min_epi32(_mm_max_epi32(a, low), high), _mm_min_epi32(_mm_max_epi32(b, low), high)));
}
#else
SIMD_INLINE void rescale16_vector(const int WIDE, const Constants16 *k, const int32_t *sums, ptrdiff_t c, int16_t *y) {
  for (int i = 0; i < VL; i++) y[i] = rescaled16(WIDE, k, sums[i], c + i);
}
#endif

SIMD_INLINE void rescale16(const int WIDE, const Constants16 *k, const int32_t *sums, ptrdiff_t n, int16_t *y) {
  ptrdiff_t c = 0;
  for (; c + VL <= n; c += VL) rescale16_vector(WIDE, k, sums + c, c, y + c);
  if (c < n) { /* sums and constants are whole vectors */
    int16_t rest[VL];
    rescale16_vector(WIDE, k, sums + c, c, rest);
    memcpy(y + c, rest, (size_t)(n - c) * 2);
  }
}

/* constants: value, added, shift, bias, left, lost, each `step` from the one before. */
static void rescale_columns16(const int64_t *constants, ptrdiff_t step, int wide, int32_t low, int32_t high, const int32_t *sums, ptrdiff_t n, int16_t *y) {
  const Constants16 k = {constants, constants + step, constants + 2 * step, constants + 3 * step, constants + 4 * step, constants + 5 * step, low, high};
  if (wide) rescale16(1, &k, sums, n, y);
  else rescale16(0, &k, sums, n, y);
}
#endif
