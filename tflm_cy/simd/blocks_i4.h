/* Quantized rows times int4 weights that have a scale for each block of a row, in the order of arithmetic/xnnpack/blockwise.pxd that the CPU's
 * generation has: FOUR_SUMS with AVX2, ONE_SUM_VNNI with AVX-512. Weights are packed greater by 8, two in a byte; a step is eight values of each column.
 *
 * A panel's block: the columns' scales, then its steps. AVX2: lane l of a column's four sums has the values 2l and 2l + 1 of each step, whose products
 * VPMADDUBSW adds up. Column c's sums are half c / 4 of vector c % 4: of the low halves of bytes the even words are vector 0, the odd ones vector 1;
 * vectors 2 and 3 are of the high halves. AVX-512: dwords of four values, one for each column; the high halves are the other four values. NEON's steps
 * and orders are in blocks_i4_neon.h. */
#ifndef TFLM_CY_SIMD_BLOCKS_I4_H
#define TFLM_CY_SIMD_BLOCKS_I4_H

#include "simd.h"

#ifdef SIMD_DOTPROD
enum { TILE4 = 8, FEW4 = 4 }; /* rows of values that meet a panel at once; where there are not so many */
#else
enum { TILE4 = 4, FEW4 = 4 };
#endif
#define UNROLL4 _Pragma("GCC unroll 8")

typedef struct {
  const uint8_t *x;      /* signed; AVX2: each pair of values twice; AVX-512: values greater by 128 */
  const uint8_t *starts; /* of a chunk's sums: less what the weights are greater by */
  float zero_point, inverse;
} Row4;

typedef struct {
  ptrdiff_t blocks, chunks, steps; /* of a row; of a block; of a chunk, whose sums words hold */
  const float *sums, *bias;        /* of the panel */
  float low, high;
  ptrdiff_t n, y_row;              /* columns to store; floats of a row of y */
  int packed;                      /* the zero point's part comes last: PACKED_4, PACKED_8 */
} Panel4;

#if SIMD_ISA == 128
#include "blocks_i4_neon.h"
#else
enum { COLUMNS4 = VL, STEP4 = 8, BLOCK4 = 16 }; /* of a panel; values of a step; what the values of a block are a multiple of */

SIMD_INLINE vb low_halves4(vb v) { return vb_and(v, vb_set1(15)); }
SIMD_INLINE vb high_halves4(vb v) { return vb_and(SIMD_BOTH(srli_epi16, v, 4), vb_set1(15)); }

#if SIMD_ISA == 512
enum { X_BYTES4 = 1, SIGNED4 = 0, PAIRED4 = 0, CHUNK4 = 0, START_BYTES4 = 4 };

static void spread_row4(const uint8_t *q, ptrdiff_t k, ptrdiff_t values, uint8_t *x, uint8_t *starts) {
  (void)x;
  for (ptrdiff_t i = 0; i < k; i += values, starts += START_BYTES4) {
    int32_t sum = 0;
    for (ptrdiff_t j = 0; j < values; j++) sum -= 8 * q[i + j];
    memcpy(starts, &sum, 4);
  }
}

static void pack_step4(const int8_t *w, ptrdiff_t row, ptrdiff_t columns, uint8_t *to) {
  for (ptrdiff_t c = 0; c < COLUMNS4; c++, to += 4) {
    uint64_t eight = 0;
    uint32_t both;
    if (c < columns) memcpy(&eight, w + c * row, 8);
    eight = (eight & 0x0F0F0F0F0F0F0F0Full) ^ 0x0808080808080808ull;
    both = (uint32_t)eight | (uint32_t)(eight >> 32) << 4;
    memcpy(to, &both, 4);
  }
}

SIMD_INLINE void tile4(const int P, const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) {
  const vf low = vf_set1(t->low), high = vf_set1(t->high), sums = vf_load_part(t->sums, t->n), bias = vf_load_part(t->bias, t->n);
  vf acc[TILE4];
  ptrdiff_t at = 0;
  UNROLL4 for (int p = 0; p < P; p++) acc[p] = vf_mul(sums, vf_set1(rows[p].zero_point));
  for (ptrdiff_t block = 0; block < t->blocks; block++) {
    const vf scale = vf_load((const float *)w);
    vi total[TILE4];
    w += 4 * VL;
    UNROLL4 for (int p = 0; p < P; p++) total[p] = vb_set1_32(rows[p].starts + START_BYTES4 * block);
    for (ptrdiff_t step = 0; step < t->steps; step++, w += VB, at += 8) {
      const vb v = vb_load(w), first = low_halves4(v), second = high_halves4(v);
      UNROLL4 for (int p = 0; p < P; p++) {
        total[p] = vi_dot4(total[p], vb_set1_32(rows[p].x + at), first);
        total[p] = vi_dot4(total[p], vb_set1_32(rows[p].x + at + 4), second);
      }
    }
    UNROLL4 for (int p = 0; p < P; p++) acc[p] = vf_fma(vf_from_vi(total[p]), scale, acc[p]);
  }
  UNROLL4 for (int p = 0; p < P; p++) {
    const vf v = vf_add(vf_mul(acc[p], vf_set1(rows[p].inverse)), bias);
    vf_store_part(y + p * t->y_row, vf_min(vf_max(v, low), high), t->n);
  }
}
#else
enum { X_BYTES4 = 2, SIGNED4 = 1, PAIRED4 = 0, CHUNK4 = 64, START_BYTES4 = 16 }; /* eight sums of two products fit a word */

static void spread_row4(const uint8_t *q, ptrdiff_t k, ptrdiff_t values, uint8_t *x, uint8_t *starts) {
  const __m128i twice = _mm_setr_epi8(0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7), ones = _mm_set1_epi8(1);
  for (ptrdiff_t i = 0; i < k; i += values, starts += START_BYTES4) {
    __m128i sum = _mm_setzero_si128();
    for (ptrdiff_t j = i; j < i + values; j += 8) {
      const __m128i pairs = _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)(q + j)), twice);
      _mm_storeu_si128((__m128i *)(x + 2 * j), pairs);
      sum = _mm_sub_epi16(sum, _mm_maddubs_epi16(ones, pairs));
    }
    _mm_storeu_si128((__m128i *)starts, _mm_slli_epi16(sum, 3));
  }
}

static void pack_step4(const int8_t *w, ptrdiff_t row, ptrdiff_t columns, uint8_t *to) {
  const __m128i above = _mm_set1_epi8(8);
  __m128i c[COLUMNS4];
  for (int i = 0; i < COLUMNS4; i++) c[i] = i < columns ? _mm_loadl_epi64((const __m128i *)(w + i * row)) : _mm_setzero_si128();
  for (int i = 0; i < COLUMNS4; i += 4) {
    const __m128i low = _mm_add_epi8(_mm_unpacklo_epi16(c[i], c[i + 1]), above), high = _mm_add_epi8(_mm_unpacklo_epi16(c[i + 2], c[i + 3]), above);
    _mm_storeu_si128((__m128i *)(to + 4 * i), _mm_or_si128(low, _mm_slli_epi16(high, 4)));
  }
}

/* In both halves of a vector their own element v, four times. */
#define SPREAD4(x, v) _mm256_permute_ps(x, (v) * 0x55)

SIMD_INLINE void tile4(const int P, const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) {
  vf acc[TILE4][4];
  ptrdiff_t at = 0, chunk = 0;
  const vf sums = vf_load_part(t->sums, t->n), none = vf_set1(0);
  UNROLL4 for (int p = 0; p < P; p++) {
    const vf zero_point = vf_set1(rows[p].zero_point);
    acc[p][0] = vf_mul(_mm256_blend_ps(none, SPREAD4(sums, 0), 0x11), zero_point);
    acc[p][1] = vf_mul(_mm256_blend_ps(none, SPREAD4(sums, 1), 0x11), zero_point);
    acc[p][2] = vf_mul(_mm256_blend_ps(none, SPREAD4(sums, 2), 0x11), zero_point);
    acc[p][3] = vf_mul(_mm256_blend_ps(none, SPREAD4(sums, 3), 0x11), zero_point);
  }
  for (ptrdiff_t block = 0; block < t->blocks; block++) {
    const vf scales = vf_load((const float *)w);
    const vf scale[4] = {SPREAD4(scales, 0), SPREAD4(scales, 1), SPREAD4(scales, 2), SPREAD4(scales, 3)};
    vi total[TILE4][4];
    w += 4 * VL;
    UNROLL4 for (int p = 0; p < P; p++) total[p][0] = total[p][1] = total[p][2] = total[p][3] = vi_set1(0);
    for (const ptrdiff_t last = chunk + t->chunks; chunk < last; chunk++) {
      vb few[TILE4][2];
      UNROLL4 for (int p = 0; p < P; p++)
        few[p][0] = few[p][1] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(rows[p].starts + START_BYTES4 * chunk)));
      for (const uint8_t *const end = w + t->steps * VB; w < end; w += VB, at += 16) {
        const vb v = vb_load(w), even = low_halves4(v), odd = high_halves4(v);
        UNROLL4 for (int p = 0; p < P; p++) {
          const vb x = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(rows[p].x + at)));
          few[p][0] = _mm256_add_epi16(few[p][0], _mm256_maddubs_epi16(even, x));
          few[p][1] = _mm256_add_epi16(few[p][1], _mm256_maddubs_epi16(odd, x));
        }
      }
      UNROLL4 for (int p = 0; p < P; p++) {
        _Pragma("GCC unroll 2") for (int j = 0; j < 2; j++) {
          total[p][2 * j] = vi_add(total[p][2 * j], _mm256_srai_epi32(_mm256_slli_epi32(few[p][j], 16), 16));
          total[p][2 * j + 1] = vi_add(total[p][2 * j + 1], _mm256_srai_epi32(few[p][j], 16));
        }
      }
    }
    UNROLL4 for (int p = 0; p < P; p++)
      UNROLL4 for (int j = 0; j < 4; j++) acc[p][j] = vf_fma(vf_from_vi(total[p][j]), scale[j], acc[p][j]);
  }
  const vf low = vf_set1(t->low), high = vf_set1(t->high), bias = vf_load_part(t->bias, t->n);
  UNROLL4 for (int p = 0; p < P; p++) {
    const vf v = _mm256_hadd_ps(_mm256_hadd_ps(acc[p][0], acc[p][1]), _mm256_hadd_ps(acc[p][2], acc[p][3]));
    vf_store_part(y + p * t->y_row, vf_min(vf_max(vf_fma(v, vf_set1(rows[p].inverse), bias), low), high), t->n);
  }
}
#endif
#endif

static __attribute__((noinline)) void tile4_rows(const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) { tile4(TILE4, t, rows, w, y); }
static __attribute__((noinline)) void tile4_few(const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) { tile4(FEW4, t, rows, w, y); }
static __attribute__((noinline)) void tile4_row(const Panel4 *t, const Row4 *rows, const uint8_t *w, float *y) { tile4(1, t, rows, w, y); }

SIMD_INLINE void multiply_rows4(const Panel4 *t, const Row4 *rows, ptrdiff_t count, const uint8_t *w, float *y) {
  ptrdiff_t r = 0;
  for (; r + TILE4 <= count; r += TILE4) tile4_rows(t, rows + r, w, y + r * t->y_row);
  if (FEW4 < TILE4 && r + FEW4 <= count) {
    tile4_few(t, rows + r, w, y + r * t->y_row);
    r += FEW4;
  }
  for (; r < count; r++) tile4_row(t, rows + r, w, y + r * t->y_row);
}

/* All rows with the columns of a panel. */
static void multiply_panel4(const Panel4 *t, const Row4 *rows, ptrdiff_t count, const uint8_t *w, float *y) {
#if SIMD_ISA == 128 /* whose tiles have all columns */
  float sums[COLUMNS4] = {0}, bias[COLUMNS4] = {0}, some[TILE4 * COLUMNS4];
  const size_t bytes = (size_t)t->n * sizeof(float);
  Panel4 whole = *t;
  if (t->n < COLUMNS4) {
    whole.sums = memcpy(sums, t->sums, bytes);
    whole.bias = memcpy(bias, t->bias, bytes);
    whole.y_row = COLUMNS4;
    for (ptrdiff_t r = 0; r < count; r += TILE4) {
      const ptrdiff_t few = count - r < TILE4 ? count - r : TILE4;
      multiply_rows4(&whole, rows + r, few, w, some);
      for (ptrdiff_t p = 0; p < few; p++) memcpy(y + (r + p) * t->y_row, some + p * COLUMNS4, bytes);
    }
    return;
  }
#endif
  multiply_rows4(t, rows, count, w, y);
}
#endif
