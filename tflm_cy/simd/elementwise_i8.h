/* The loops of elementwise_i8.pxd. Rests shorter than a vector go through a buffer. */
#ifndef TFLM_CY_SIMD_ELEMENTWISE8_H
#define TFLM_CY_SIMD_ELEMENTWISE8_H

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
#endif
