/* The loops of elementwise_i8.pxd. Rests shorter than a vector go through a buffer. */
#ifndef TFLM_CY_SIMD_ELEMENTWISE8_H
#define TFLM_CY_SIMD_ELEMENTWISE8_H

#include "folds.h"
#include "requantize8.h"
#include "step8.h"

/* As in arithmetic/xnnpack/quantized_elementwise.pxd, field by field. */
typedef struct { int32_t constant, a_multiplier, b_multiplier, shift, zero_point, low, high; } struct_sum8;
typedef struct { int32_t a_zero_point, b_zero_point; float scale, low, high; int32_t zero_point; } struct_product8;
typedef struct { float inverse, low, high; int32_t zero_point; } struct_quantize8;
typedef struct { float scale; int32_t zero_point; } struct_dequantize8;
typedef struct { int64_t above, below; int32_t x_zero_point, y_zero_point; } struct_rescale8;

SIMD_INLINE vi widen8(const uint8_t *p, const int is_signed) { return is_signed ? vi_from_s8(p) : vi_from_u8(p); }

SIMD_INLINE vb narrow8(const vi *v, vb zero, vb low, vb high, const int is_signed) {
  if (is_signed) return vb_unlane(vb_min_s(vb_max_s(vb_pack_s(v[0], v[1], v[2], v[3], zero), low), high));
  return vb_unlane(vb_min_u(vb_max_u(vb_pack_u(v[0], v[1], v[2], v[3], zero), low), high));
}

#define FOUR _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++)

/* BODY makes VB bytes at y + i from those at i of the operands. */
#define OVER_PAIRS(BODY)                                        \
  for (; i + VB <= n; i += VB) { BODY(a + i, b + i, y + i); }   \
  if (i < n) {                                                  \
    uint8_t pa[VB], pb[VB], py[VB];                             \
    vb_store(pa, vb_load_part(a + i, n - i));                   \
    vb_store(pb, vb_load_part(b + i, n - i));                   \
    BODY(pa, pb, py);                                           \
    vb_store_part(y + i, vb_load(py), n - i);                   \
  }

#if SIMD_ISA == 512
/* Of each value x two words, so that nothing is shifted afterwards: as a signed byte times 256, for a multiplier's upper part, and as an unsigned
 * byte, for its lower eight bits; one of the two is 128 away from x, which is part of the constant. So is a zero point that cannot lead to an
 * overflow. The pairs a, b are added by the products of words. */
enum { MOST_MULTIPLIER = (1 << 23) - 256 };

SIMD_INLINE int adds_pairs8(const struct_sum8 *s) {
  const int64_t a = s->a_multiplier < 0 ? -(int64_t)s->a_multiplier : s->a_multiplier;
  const int64_t b = s->b_multiplier < 0 ? -(int64_t)s->b_multiplier : s->b_multiplier;
  const int64_t constant = s->constant < 0 ? -(int64_t)s->constant : s->constant;
  return a < MOST_MULTIPLIER && b < MOST_MULTIPLIER && s->shift >= 0 && s->shift < 24 &&
         constant + 255 * (a + b) + ((int64_t)255 << s->shift) < 0x7FFFFFFF;
}

SIMD_INLINE void add8_pairs(const struct_sum8 *s, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n, const int is_signed) {
  const int32_t upper_a = (s->a_multiplier + 128) >> 8, upper_b = (s->b_multiplier + 128) >> 8;
  const int32_t lower_a = s->a_multiplier - upper_a * 256, lower_b = s->b_multiplier - upper_b * 256;
  const uint32_t away = is_signed ? -128u * (uint32_t)(lower_a + lower_b) : 32768u * (uint32_t)(upper_a + upper_b);
  const vi upper = _mm512_unpacklo_epi16(vb_set1_16(upper_a), vb_set1_16(upper_b));
  const vi lower = _mm512_unpacklo_epi16(vb_set1_16(lower_a), vb_set1_16(lower_b));
  const vi constant = vi_set1((int32_t)((uint32_t)(s->constant + s->zero_point * (1 << s->shift)) + away)), shift = vi_set1(s->shift);
  const vb low = vb_set1(s->low), high = vb_set1(s->high), half = vb_set1(128), none = _mm512_setzero_si512();
  int64_t i = 0;
#define PRODUCTS(ZIP, BYTES, UNSIGNED)                                                                                              \
  _mm512_srav_epi32(_mm512_dpwssd_epi32(_mm512_dpwssd_epi32(constant, ZIP(none, BYTES), upper), ZIP(UNSIGNED, none), lower), shift)
#define WORDS(PAIRS, OTHERS)                                                                                                        \
  _mm512_packs_epi32(PRODUCTS(vb_zip8_low, is_signed ? PAIRS : OTHERS, is_signed ? OTHERS : PAIRS),                                 \
                     PRODUCTS(vb_zip8_high, is_signed ? PAIRS : OTHERS, is_signed ? OTHERS : PAIRS))
#define BODY(A, B, Y)                                                                                                               \
  const vb va = vb_load(A), vc = vb_load(B);                                                                                        \
  const vb near = vb_zip8_low(va, vc), far = vb_zip8_high(va, vc);                                                                  \
  const vb first = WORDS(near, vb_xor(near, half)), second = WORDS(far, vb_xor(far, half));                                         \
  if (is_signed) vb_store(Y, vb_min_s(vb_max_s(_mm512_packs_epi16(first, second), low), high));                                     \
  else vb_store(Y, vb_min_u(vb_max_u(_mm512_packus_epi16(first, second), low), high))
  OVER_PAIRS(BODY)
#undef BODY
#undef WORDS
#undef PRODUCTS
}
#endif

SIMD_INLINE void add8(const struct_sum8 *s, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n, const int is_signed) {
#if SIMD_ISA == 512
  if (adds_pairs8(s)) {
    add8_pairs(s, a, b, y, n, is_signed);
    return;
  }
#endif
  const vi constant = vi_set1(s->constant), ma = vi_set1(s->a_multiplier), mb = vi_set1(s->b_multiplier);
  const vb zero = vb_set1_16(s->zero_point), low = vb_set1(s->low), high = vb_set1(s->high);
  const int shift = s->shift;
  int64_t i = 0;
#define BODY(A, B, Y)                                                                                                       \
  vi v[4];                                                                                                                  \
  FOUR v[j] = vi_sra(vi_add(vi_add(constant, vi_mul(widen8(A + j * VL, is_signed), ma)), vi_mul(widen8(B + j * VL, is_signed), mb)), shift); \
  vb_store(Y, narrow8(v, zero, low, high, is_signed))
  OVER_PAIRS(BODY)
#undef BODY
}

#if SIMD_ISA == 512
/* The products as int32, 32 at a time, interleaved as the packing takes them apart again. Nothing saturates wrongly below 2^31. */
SIMD_INLINE vb multiply8_half(const uint8_t *a, const uint8_t *b, vi za, vi zb, vf scale, vb zero, const int is_signed) {
  const __m256i ca = _mm256_loadu_si256((const __m256i *)a), cb = _mm256_loadu_si256((const __m256i *)b);
  const __m512i wa = _mm512_sub_epi16(is_signed ? _mm512_cvtepi8_epi16(ca) : _mm512_cvtepu8_epi16(ca), za);
  const __m512i wb = _mm512_sub_epi16(is_signed ? _mm512_cvtepi8_epi16(cb) : _mm512_cvtepu8_epi16(cb), zb);
  const __m512i low = _mm512_mullo_epi16(wa, wb), high = _mm512_mulhi_epi16(wa, wb);
  const vi first = vi_from_vf(vf_mul(vf_from_vi(_mm512_unpacklo_epi16(low, high)), scale));
  const vi second = vi_from_vf(vf_mul(vf_from_vi(_mm512_unpackhi_epi16(low, high)), scale));
  return _mm512_adds_epi16(_mm512_packs_epi32(first, second), zero);
}

SIMD_INLINE void multiply8_bounded(const struct_product8 *p, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n, const int is_signed) {
  const vb za = vb_set1_16(p->a_zero_point), zb = vb_set1_16(p->b_zero_point), zero = vb_set1_16(p->zero_point);
  const vf scale = vf_set1(p->scale);
  const vb least = vb_set1((int)p->low + p->zero_point), most = vb_set1((int)p->high + p->zero_point);
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  int64_t i = 0;
#define BODY(A, B, Y)                                                                                                                   \
  const vb first = multiply8_half(A, B, za, zb, scale, zero, is_signed), second = multiply8_half(A + 32, B + 32, za, zb, scale, zero, is_signed); \
  const vb out = _mm512_permutexvar_epi64(order, is_signed ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second));   \
  vb_store(Y, is_signed ? vb_min_s(vb_max_s(out, least), most) : vb_min_u(vb_max_u(out, least), most))
  OVER_PAIRS(BODY)
#undef BODY
}
#endif

#ifdef __aarch64__
SIMD_INLINE vi scaled_product8(vi a, vi b, vf scale, vf most, vf least) {
  return vi_max(vi_min(scaled_half_up8(vi_mul(a, b), scale), vi_from_vf(most)), vi_from_vf(least));
}
#else
/* Products of two differences stay below 2^24: exact as floats. */
SIMD_INLINE vi scaled_product8(vi a, vi b, vf scale, vf most, vf least) {
  return vi_from_vf(vf_max(vf_min(vf_mul(vf_mul(vf_from_vi(a), vf_from_vi(b)), scale), most), least));
}
#endif

SIMD_INLINE void multiply8(const struct_product8 *p, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n, const int is_signed) {
  const vi za = vi_set1(p->a_zero_point), zb = vi_set1(p->b_zero_point);
  const vf scale = vf_set1(p->scale), most = vf_set1(p->high), least = vf_set1(p->low);
  const vb zero = vb_set1_16(p->zero_point), low = vb_set1(-128), high = vb_set1(127), low_u = vb_set1(0), high_u = vb_set1(255);
  int64_t i = 0;
#define BODY(A, B, Y)                                                                                                       \
  vi v[4];                                                                                                                  \
  FOUR v[j] = scaled_product8(vi_sub(widen8(A + j * VL, is_signed), za), vi_sub(widen8(B + j * VL, is_signed), zb), scale, most, least); \
  vb_store(Y, narrow8(v, zero, is_signed ? low : low_u, is_signed ? high : high_u, is_signed))
  OVER_PAIRS(BODY)
#undef BODY
}

#ifdef __aarch64__
SIMD_INLINE vf number8(vf a) { return (vf)((vi)a & (vi)(a == a)); } /* NaN is 0 */
#else
SIMD_INLINE vf number8(vf a) { return a; }
#endif

/* The limits are those of the type. Of x86-64's conversions what lies below int32 becomes its lowest value, and then the type's. */
SIMD_INLINE vb quantized8(const float *x, vf inverse, vf most, vf least, vb zero, const int is_signed) {
  vi v[4];
  FOUR {
    const vf below = vf_min(number8(vf_mul(vf_load(x + j * VL), inverse)), most);
    v[j] = vi_from_vf(SIMD_ISA >= 256 ? below : vf_max(below, least));
  }
  return vb_unlane(is_signed ? vb_pack_s(v[0], v[1], v[2], v[3], zero) : vb_pack_u(v[0], v[1], v[2], v[3], zero));
}

SIMD_INLINE void quantize8(const struct_quantize8 *q, const float *x, uint8_t *y, int64_t n, const int is_signed) {
  const vf inverse = vf_set1(q->inverse), most = vf_set1(q->high), least = vf_set1(q->low);
  const vb zero = vb_set1_16(q->zero_point);
  int64_t i = 0;
  for (; i + VB <= n; i += VB) vb_store(y + i, quantized8(x + i, inverse, most, least, zero, is_signed));
  if (i < n) {
    float some[VB] = {0};
    uint8_t out[VB];
    memcpy(some, x + i, (size_t)(n - i) * 4);
    vb_store(out, quantized8(some, inverse, most, least, zero, is_signed));
    memcpy(y + i, out, (size_t)(n - i));
  }
}

#if SIMD_ISA >= 256
/* Multipliers of 16 bits: (difference * 2^7 * multiplier + 2^14) >> 15. Where they are equal, `bent` is 0. */
SIMD_INLINE vb rescaled_half8(const uint8_t *x, vb x_zero, vb y_zero, vb above, vb below, const int bent, const int is_signed) {
#if SIMD_ISA == 512
  const __m256i from = _mm256_loadu_si256((const __m256i *)x);
  const vb d = _mm512_sub_epi16(is_signed ? _mm512_cvtepi8_epi16(from) : _mm512_cvtepu8_epi16(from), x_zero);
  const vb m = bent ? _mm512_mask_mov_epi16(below, _mm512_cmpgt_epi16_mask(d, _mm512_setzero_si512()), above) : above;
#else
  const __m128i from = _mm_loadu_si128((const __m128i *)x);
  const vb d = _mm256_sub_epi16(is_signed ? _mm256_cvtepi8_epi16(from) : _mm256_cvtepu8_epi16(from), x_zero);
  const vb m = bent ? _mm256_blendv_epi8(below, above, _mm256_cmpgt_epi16(d, _mm256_setzero_si256())) : above;
#endif
  return SIMD_BOTH(adds_epi16, SIMD_BOTH(mulhrs_epi16, SIMD_BOTH(slli_epi16, d, 7), m), y_zero);
}

SIMD_INLINE void rescaled8(const uint8_t *x, uint8_t *y, vb x_zero, vb y_zero, vb above, vb below, const int bent, const int is_signed) {
  const vb first = rescaled_half8(x, x_zero, y_zero, above, below, bent, is_signed);
  const vb second = rescaled_half8(x + VB / 2, x_zero, y_zero, above, below, bent, is_signed);
  const vb out = is_signed ? SIMD_BOTH(packs_epi16, first, second) : SIMD_BOTH(packus_epi16, first, second);
#if SIMD_ISA == 512
  vb_store(y, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), out));
#else
  vb_store(y, _mm256_permute4x64_epi64(out, 0xD8));
#endif
}

SIMD_INLINE void rescale8(const struct_rescale8 *r, const uint8_t *x, uint8_t *y, int64_t n, const int bent, const int is_signed) {
  const vb x_zero = vb_set1_16(r->x_zero_point), y_zero = vb_set1_16(r->y_zero_point);
  const vb above = vb_set1_16((int)r->above), below = vb_set1_16((int)r->below);
  int64_t i = 0;
  for (; i + VB <= n; i += VB) rescaled8(x + i, y + i, x_zero, y_zero, above, below, bent, is_signed);
  if (i < n) {
    uint8_t some[VB];
    vb_store(some, vb_load_part(x + i, n - i));
    rescaled8(some, some, x_zero, y_zero, above, below, bent, is_signed);
    vb_store_part(y + i, vb_load(some), n - i);
  }
}

static void rescale_s8(const void *params, const void *x, void *y, int64_t n) {
  const struct_rescale8 *r = (const struct_rescale8 *)params;
  if (r->above == r->below) rescale8(r, x, y, n, 0, 1);
  else rescale8(r, x, y, n, 1, 1);
}
static void rescale_u8(const void *params, const void *x, void *y, int64_t n) {
  const struct_rescale8 *r = (const struct_rescale8 *)params;
  if (r->above == r->below) rescale8(r, x, y, n, 0, 0);
  else rescale8(r, x, y, n, 1, 0);
}
#else
#define rescale_s8 NULL /* tables are as good */
#define rescale_u8 NULL
#endif

SIMD_INLINE void dequantize8(const struct_dequantize8 *d, const uint8_t *x, float *y, int64_t n, const int is_signed) {
  const vi zero = vi_set1(d->zero_point);
  const vf scale = vf_set1(d->scale);
  int64_t i = 0;
  for (; i + VL <= n; i += VL) vf_store(y + i, vf_mul(vf_from_vi(vi_sub(widen8(x + i, is_signed), zero)), scale));
  if (i < n) {
    uint8_t some[VL] = {0};
    memcpy(some, x + i, (size_t)(n - i));
    vf_store_part(y + i, vf_mul(vf_from_vi(vi_sub(widen8(some, is_signed), zero)), scale), n - i);
  }
}

static void add_s8(const void *params, const void *a, const void *b, void *y, int64_t n) { add8(params, a, b, y, n, 1); }
static void add_u8(const void *params, const void *a, const void *b, void *y, int64_t n) { add8(params, a, b, y, n, 0); }
#if SIMD_ISA == 512
SIMD_INLINE int product_bounded(const struct_product8 *p) { return p->scale < 32768.0f; } /* products are at most 255 * 255 */
#else
SIMD_INLINE int product_bounded(const struct_product8 *p) { (void)p; return 0; }
#define multiply8_bounded multiply8
#endif
static void multiply_s8(const void *params, const void *a, const void *b, void *y, int64_t n) {
  if (product_bounded(params)) multiply8_bounded(params, a, b, y, n, 1);
  else multiply8(params, a, b, y, n, 1);
}
static void multiply_u8(const void *params, const void *a, const void *b, void *y, int64_t n) {
  if (product_bounded(params)) multiply8_bounded(params, a, b, y, n, 0);
  else multiply8(params, a, b, y, n, 0);
}
static void quantize_s8(const void *params, const void *x, void *y, int64_t n) { quantize8(params, x, y, n, 1); }
static void quantize_u8(const void *params, const void *x, void *y, int64_t n) { quantize8(params, x, y, n, 0); }
static void dequantize_s8(const void *params, const void *x, void *y, int64_t n) { dequantize8(params, x, y, n, 1); }
static void dequantize_u8(const void *params, const void *x, void *y, int64_t n) { dequantize8(params, x, y, n, 0); }

#if SIMD_ISA == 512
/* NV times 32 columns, the last ones in part; sums of up to 256 rows fit 16 bits once the bytes are signed. */
SIMD_INLINE void sum_strip8(const int NV, const uint8_t *x, int64_t rows, int64_t row, vb flip, int32_t offset, __mmask32 last, int32_t *sums) {
  const __m256i change = _mm512_castsi512_si256(flip);
  for (int64_t r = 0; r < rows;) {
    const int64_t end = rows - r > 256 ? r + 256 : rows;
    __m512i short_sums[4];
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) short_sums[j] = _mm512_setzero_si512();
    for (; r < end; r++)
#pragma GCC unroll 4
      for (int j = 0; j < NV; j++) {
        const uint8_t *at = x + r * row + 32 * j;
        const __m256i v = j < NV - 1 ? _mm256_loadu_si256((const __m256i *)at) : _mm256_maskz_loadu_epi8(last, at);
        short_sums[j] = _mm512_add_epi16(short_sums[j], _mm512_cvtepi8_epi16(_mm256_xor_si256(v, change)));
      }
    const vi more = vi_set1(end == rows ? offset : 0);
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) {
      const __mmask32 some = j < NV - 1 ? ~0u : last;
      int32_t *to = sums + 32 * j;
      const vi low = vi_add(_mm512_maskz_loadu_epi32((__mmask16)some, to), more);
      const vi high = vi_add(_mm512_maskz_loadu_epi32((__mmask16)(some >> 16), to + 16), more);
      _mm512_mask_storeu_epi32(to, (__mmask16)some, vi_add(low, _mm512_cvtepi16_epi32(_mm512_castsi512_si256(short_sums[j]))));
      _mm512_mask_storeu_epi32(to + 16, (__mmask16)(some >> 16), vi_add(high, _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(short_sums[j], 1))));
    }
  }
}

static void sum_rows8(const uint8_t *x, int64_t rows, int64_t columns, int is_signed, int32_t *sums) {
  const vb flip = vb_set1(is_signed ? 0 : -128);
  const int64_t together = rows_together(rows, columns);
  for (; rows > 0; rows -= together, x += together * columns) {
    const int64_t n = rows < together ? rows : together;
    const int32_t offset = is_signed ? 0 : (int32_t)(128u * (uint32_t)n);
    for (int64_t c = 0; c < columns; c += 128) {
      const int64_t left = columns - c < 128 ? columns - c : 128;
      const __mmask32 last = _bzhi_u32(~0u, (unsigned)((left - 1) % 32 + 1));
      if (left > 96) sum_strip8(4, x + c, n, columns, flip, offset, last, sums + c);
      else if (left > 64) sum_strip8(3, x + c, n, columns, flip, offset, last, sums + c);
      else if (left > 32) sum_strip8(2, x + c, n, columns, flip, offset, last, sums + c);
      else sum_strip8(1, x + c, n, columns, flip, offset, last, sums + c);
    }
  }
}
#else
FOLD_COLUMNS(wide_sum_s8, int8_t, uint32_t, FOLD_SUM, VB, 32)
FOLD_COLUMNS(wide_sum_u8, uint8_t, uint32_t, FOLD_SUM, VB, 32)
#if SIMD_ISA == 256
/* t = sums and VB columns of at most 128 rows: two rows side by side become sums of 16 bits. */
SIMD_INLINE void sum_strip8(const uint8_t *x, int64_t rows, int64_t step, const int is_signed, const int32_t *sums, int32_t *t) {
  const __m256i ones = _mm256_set1_epi8(1), none = _mm256_setzero_si256();
  __m256i low = none, high = none;
  for (int64_t r = 0; r < rows; r += 2) {
    const __m256i a = vb_load(x + r * step), b = r + 1 < rows ? vb_load(x + (r + 1) * step) : none;
    const __m256i left = _mm256_unpacklo_epi8(a, b), right = _mm256_unpackhi_epi8(a, b);
    low = _mm256_add_epi16(low, is_signed ? _mm256_maddubs_epi16(ones, left) : _mm256_maddubs_epi16(left, ones));
    high = _mm256_add_epi16(high, is_signed ? _mm256_maddubs_epi16(ones, right) : _mm256_maddubs_epi16(right, ones));
  }
  vi_store(t, vi_add(vi_load(sums), _mm256_cvtepi16_epi32(_mm256_castsi256_si128(low))));
  vi_store(t + 8, vi_add(vi_load(sums + 8), _mm256_cvtepi16_epi32(_mm256_castsi256_si128(high))));
  vi_store(t + 16, vi_add(vi_load(sums + 16), _mm256_cvtepi16_epi32(_mm256_extracti128_si256(low, 1))));
  vi_store(t + 24, vi_add(vi_load(sums + 24), _mm256_cvtepi16_epi32(_mm256_extracti128_si256(high, 1))));
}
SIMD_INLINE void sum_strips8(const uint8_t *x, int64_t rows, int64_t columns, const int is_signed, int32_t *sums) {
  int32_t last[VB];
  sum_strip8(x + columns - VB, rows, columns, is_signed, sums + columns - VB, last);
  for (int64_t c = 0; c + VB < columns; c += VB) sum_strip8(x + c, rows, columns, is_signed, sums + c, sums + c);
  memcpy(sums + columns - VB, last, sizeof last);
}
#endif
static void sum_rows8(const uint8_t *x, int64_t rows, int64_t columns, int is_signed, int32_t *sums) {
#if SIMD_ISA == 256
  const int64_t together = columns > 4 * VB ? rows_together(rows, columns) : 128;
  for (; columns >= VB && rows > 0; rows -= together, x += together * columns) {
    const int64_t n = rows < together ? rows : together;
    if (is_signed) sum_strips8(x, n, columns, 1, sums);
    else sum_strips8(x, n, columns, 0, sums);
  }
  if (rows <= 0) return;
#endif
  (is_signed ? wide_sum_s8_columns : wide_sum_u8_columns)(x, rows, columns, sums);
}
#endif

/* From VB - n on, n bytes are set and then VB - n are not; from VB + n on, n bytes that are not set come first and n set ones behind them. */
static const uint8_t sum_masks8[3 * VB] = {[0 ... VB - 1] = 255, [2 * VB ... 3 * VB - 1] = 255};

/* a + the sums of some bytes without a sign, in lanes of 32 bits that add up to the sum of all. */
#if SIMD_ISA == 256
SIMD_INLINE vi vi_add_bytes(vi a, vb v) { return vi_add(a, _mm256_sad_epu8(v, _mm256_setzero_si256())); }
#else
SIMD_INLINE vi vi_add_bytes(vi a, vb v) { return vi_dot4(a, v, vb_set1(1)); }
#endif

/* Rows that are shorter than a vector are read with what follows them. */
static void sum_each_row8(const uint8_t *x, int64_t rows, int64_t n, int is_signed, int32_t *sums) {
  const vb flip = vb_set1(value_flip(is_signed));
  const int64_t rest = n % VB;
  const vb some = vb_load(sum_masks8 + (n < VB ? VB - rest : VB + rest));
  const uint32_t offset = (uint32_t)value_offset(is_signed) * (uint32_t)n;
  int64_t r = 0;
  for (; r < rows && (rows - r) * n >= VB; r++, x += n) {
    vi a = vi_set1(0), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + 4 * VB <= n; i += 4 * VB) {
      a = vi_add_bytes(a, vb_xor(vb_load(x + i), flip));
      b = vi_add_bytes(b, vb_xor(vb_load(x + i + VB), flip));
      c = vi_add_bytes(c, vb_xor(vb_load(x + i + 2 * VB), flip));
      d = vi_add_bytes(d, vb_xor(vb_load(x + i + 3 * VB), flip));
    }
    for (; i + VB <= n; i += VB) a = vi_add_bytes(a, vb_xor(vb_load(x + i), flip));
    if (rest) b = vi_add_bytes(b, vb_and(vb_xor(vb_load(x + (n < VB ? 0 : n - VB)), flip), some));
    sums[r] = (int32_t)((uint32_t)sums[r] + (uint32_t)vi_sum(vi_add(vi_add(a, b), vi_add(c, d))) - offset);
  }
  for (; r < rows; r++, x += n)
    for (int64_t i = 0; i < n; i++) sums[r] = (int32_t)((uint32_t)sums[r] + (uint32_t)(is_signed ? (int32_t)(int8_t)x[i] : (int32_t)x[i]));
}

#ifdef __aarch64__
SIMD_INLINE vf average_of8(vf sum, vf scale, vf offset) { return vf_fma(sum, scale, offset); }
#else
SIMD_INLINE vf average_of8(vf sum, vf scale, vf offset) { return vf_add(vf_mul(sum, scale), offset); }
#endif

/* Halves go away from 0: the rest, doubled, is 1 or -1 from there on. */
SIMD_INLINE void average8(const int32_t *sums, float scale, float offset, const int is_signed, uint8_t *y, int64_t n) {
  const vf s = vf_set1(scale), o = vf_set1(offset), least = vf_set1(is_signed ? -128 : 0), most = vf_set1(is_signed ? 127 : 255);
  for (int64_t i = 0; i < n; i += VB) {
    vi v[4];
    FOUR {
      const int64_t here = n - i <= j * VL ? 0 : n - i - j * VL < VL ? n - i - j * VL : VL;
      const vf x = vf_min(vf_max(average_of8(vf_from_vi(vi_load_part(sums + i + j * VL, here)), s, o), least), most);
      const vi whole = vi_cut_vf(x);
      const vf rest = vf_sub(x, vf_from_vi(whole));
      v[j] = vi_add(whole, vi_cut_vf(vf_add(rest, rest)));
    }
    const vb zero = vb_set1(0), out = vb_unlane(is_signed ? vb_pack_s(v[0], v[1], v[2], v[3], zero) : vb_pack_u(v[0], v[1], v[2], v[3], zero));
    if (n - i >= VB) vb_store(y + i, out);
    else vb_store_part(y + i, out, n - i);
  }
}

static void average_sums8(const int32_t *sums, float scale, float offset, int is_signed, uint8_t *y, int64_t n) {
  if (is_signed) average8(sums, scale, offset, 1, y, n);
  else average8(sums, scale, offset, 0, y, n);
}

/* The largest of rows x columns taps; the taps of one row lie `channels` bytes apart. */
SIMD_INLINE void largest_of_window8(const uint8_t *x, int64_t rows, int64_t row_bytes, int64_t columns, int64_t pixel, int64_t channels,
                                    const int is_signed, vb least, vb most, uint8_t *y) {
  for (int64_t c = 0; c < channels; c += VB) {
    const int64_t left = channels - c;
    vb v = least;
    for (int64_t r = 0; r < rows; r++) {
      const uint8_t *from = x + r * row_bytes + c;
      for (int64_t i = 0; i < columns; i++, from += pixel) {
        const vb tap = left >= VB ? vb_load(from) : vb_load_part(from, left);
        v = is_signed ? vb_max_s(v, tap) : vb_max_u(v, tap);
      }
    }
    v = is_signed ? vb_min_s(v, most) : vb_min_u(v, most);
    if (left >= VB) vb_store(y + c, v);
    else vb_store_part(y + c, v, left);
  }
}

/* `count` windows, `step` bytes from one to the next. A single column is a single row whose taps lie further apart. */
static void largest8(const uint8_t *x, int64_t rows, int64_t row_bytes, int64_t columns, int64_t channels, int is_signed, int32_t low,
                     int32_t high, int64_t count, int64_t step, uint8_t *y) {
  const vb least = vb_set1(low), most = vb_set1(high);
  int64_t pixel = channels;
  if (columns == 1) {
    columns = rows;
    pixel = row_bytes;
    rows = 1;
  }
  for (; count > 0; count--, x += step, y += channels) {
    if (is_signed) largest_of_window8(x, rows, row_bytes, columns, pixel, channels, 1, least, most, y);
    else largest_of_window8(x, rows, row_bytes, columns, pixel, channels, 0, least, most, y);
  }
}

static void blend_rows8(const uint8_t *top, const uint8_t *bottom, int64_t n, int is_signed, int32_t weight, int32_t *line) {
  const vi w = vi_set1(weight), rest = vi_set1(2048 - weight);
  int64_t i = 0;
  for (; i + VL <= n; i += VL) vi_store(line + i, vi_add(vi_mul(widen8(top + i, is_signed), rest), vi_mul(widen8(bottom + i, is_signed), w)));
  for (; i < n; i++) {
    const int32_t t = is_signed ? (int32_t)(int8_t)top[i] : (int32_t)top[i], b = is_signed ? (int32_t)(int8_t)bottom[i] : (int32_t)bottom[i];
    line[i] = t * 2048 + (b - t) * weight;
  }
}

/* base + difference * weight with weights of 11 bits; the difference has 20, and its upper 16 and lower 4 count apart. */
#if SIMD_ISA < 256
SIMD_INLINE vi blend_difference(vi d) { return d; }
SIMD_INLINE vi blend_weight(int32_t w) { return vi_set1(w); }
SIMD_INLINE vi blend8(vi base, vi difference, vi w) { return vi_add(base, vi_mul(difference, w)); }
SIMD_INLINE vb narrow_blend(vi a, vi b, vi c, vi d, const int is_signed) {
  return is_signed ? vb_pack_s(a, b, c, d, vb_set1_16(0)) : vb_pack_u(a, b, c, d, vb_set1_16(0));
}
#else
SIMD_INLINE vi blend_difference(vi d) {
  return vi_add(vb_and(d, vi_set1(15)), SIMD_BOTH(slli_epi32, SIMD_BOTH(srai_epi32, d, 4), 16));
}
SIMD_INLINE vi blend_weight(int32_t w) { return vi_set1(w | w << 20); }
#if SIMD_ISA == 512
SIMD_INLINE vi blend8(vi base, vi difference, vi w) { return _mm512_dpwssd_epi32(base, difference, w); }
#else
SIMD_INLINE vi blend8(vi base, vi difference, vi w) { return vi_add(base, _mm256_madd_epi16(difference, w)); }
#endif
SIMD_INLINE vb narrow_blend(vi a, vi b, vi c, vi d, const int is_signed) {
  const vb low = SIMD_BOTH(packs_epi32, a, b), high = SIMD_BOTH(packs_epi32, c, d);
  return vb_unlane(is_signed ? SIMD_BOTH(packs_epi16, low, high) : SIMD_BOTH(packus_epi16, low, high));
}
#endif

/* n <= pieces * VL bytes; `whole`: what lies behind them may be written. */
SIMD_INLINE void store_blend(uint8_t *y, vb out, int64_t n, const int pieces, const int whole) {
#if SIMD_ISA == 512
  (void)whole;
  if (pieces == 1) _mm_mask_storeu_epi8(y, (__mmask16)_bzhi_u32(0xFFFFu, (unsigned)n), _mm512_castsi512_si128(out));
  else if (pieces == 2) _mm256_mask_storeu_epi8(y, _bzhi_u32(~0u, (unsigned)n), _mm512_castsi512_si256(out));
  else vb_store_part(y, out, n);
#else
  (void)pieces;
  if (whole) vb_store(y, out);
  else vb_store_part(y, out, n);
#endif
}

/* n <= pieces * VL channels from c on of a line of pixels. columns: per pixel of y, the pixels of the line left and right of it, and the
 * second's weight, at most 2048. Neighbours of y often lie between the same two. */
SIMD_INLINE void blend_channels8(const int32_t *line, const int32_t *columns, int64_t width, int64_t depth, int64_t c, int64_t n,
                                 const int pieces, const int is_signed, uint8_t *y) {
  vi base[4] = {vi_set1(0), vi_set1(0), vi_set1(0), vi_set1(0)}, difference[4] = {base[0], base[0], base[0], base[0]};
  const uint8_t *end = y + width * depth;
  int32_t first = -1, second = -1;
  line += c;
  y += c;
  for (int64_t x = 0; x < width; x++, columns += 3, y += depth) {
    const int32_t left = columns[columns[2] >> 11], right = columns[1];
    const vi w = blend_weight(columns[2] & 2047);
    vi v[4] = {base[0], base[0], base[0], base[0]};
    if (left != first || right != second) {
      _Pragma("GCC unroll 4") for (int j = 0; j < pieces; j++) {
        const int64_t here = n <= j * VL ? 0 : n - j * VL < VL ? n - j * VL : VL;
        const vi a = vi_load_part(line + left * depth + j * VL, here), b = vi_load_part(line + right * depth + j * VL, here);
        base[j] = vi_add(vi_mul(a, vi_set1(2048)), vi_set1(1 << 21));
        difference[j] = blend_difference(vi_sub(b, a));
      }
      first = left;
      second = right;
    }
    _Pragma("GCC unroll 4") for (int j = 0; j < pieces; j++) v[j] = vi_sra(blend8(base[j], difference[j], w), 22);
    if (pieces < 3) v[2] = v[0], v[3] = v[1];
    store_blend(y, narrow_blend(v[0], v[1], v[2], v[3], is_signed), n, pieces, depth <= VB && end - y >= VB);
  }
}

SIMD_INLINE void blend_line8(const int32_t *line, const int32_t *columns, int64_t width, int64_t depth, const int is_signed, uint8_t *y) {
  for (int64_t c = 0; c < depth; c += VB) {
    const int64_t n = depth - c;
    if (n <= VL) blend_channels8(line, columns, width, depth, c, n, 1, is_signed, y);
    else if (n <= 2 * VL) blend_channels8(line, columns, width, depth, c, n, 2, is_signed, y);
    else blend_channels8(line, columns, width, depth, c, n < VB ? n : VB, 4, is_signed, y);
  }
}

static void blend_columns8(const int32_t *line, const int32_t *columns, int64_t width, int64_t depth, int is_signed, uint8_t *y) {
  if (is_signed) blend_line8(line, columns, width, depth, 1, y);
  else blend_line8(line, columns, width, depth, 0, y);
}
#endif
