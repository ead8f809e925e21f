/* The loops of loops.pxi that the compiler does not make vectors of by itself. */
#ifndef TFLM_CY_SIMD_LOOPS_H
#define TFLM_CY_SIMD_LOOPS_H

#include "simd.h"

/* ---- float32. vf_if_above(a, b, c): b where a > 0, else c; vf_if_from: where a >= 0. NaN is neither. */
#if SIMD_ISA == 512
SIMD_INLINE vf vf_if_above(vf a, vf b, vf c) { return _mm512_mask_mov_ps(c, _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_GT_OQ), b); }
SIMD_INLINE vf vf_if_from(vf a, vf b, vf c) { return _mm512_mask_mov_ps(c, _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_GE_OQ), b); }
SIMD_INLINE vi vi_gather(const int32_t *table, const uint8_t *at) { return _mm512_i32gather_epi32(vi_from_u8(at), table, 4); }
SIMD_INLINE void vi_store_low_bytes(uint8_t *y, vi a) { _mm_storeu_si128((__m128i *)y, _mm512_cvtepi32_epi8(a)); }
SIMD_INLINE vi vi_low_half(vi a) { return _mm512_srai_epi32(_mm512_slli_epi32(a, 16), 16); }
SIMD_INLINE vi vi_set1_64(int64_t a) { return _mm512_set1_epi64(a); }
#elif SIMD_ISA == 256
SIMD_INLINE vf vf_if_above(vf a, vf b, vf c) { return _mm256_blendv_ps(c, b, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_GT_OQ)); }
SIMD_INLINE vf vf_if_from(vf a, vf b, vf c) { return _mm256_blendv_ps(c, b, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_GE_OQ)); }
SIMD_INLINE void vi_store_low_bytes(uint8_t *y, vi a) {
  const __m256i low = _mm256_shuffle_epi8(a, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  const int32_t halves[2] = {_mm256_extract_epi32(low, 0), _mm256_extract_epi32(low, 4)};
  memcpy(y, halves, 8);
}
SIMD_INLINE vi vi_low_half(vi a) { return _mm256_srai_epi32(_mm256_slli_epi32(a, 16), 16); }
SIMD_INLINE vi vi_set1_64(int64_t a) { return _mm256_set1_epi64x(a); }
#elif SIMD_ISA == 128
SIMD_INLINE vf vf_if_above(vf a, vf b, vf c) { return (vf)vbslq_f32(vcgtzq_f32(simd_f32(a)), simd_f32(b), simd_f32(c)); }
SIMD_INLINE vf vf_if_from(vf a, vf b, vf c) { return (vf)vbslq_f32(vcgezq_f32(simd_f32(a)), simd_f32(b), simd_f32(c)); }
SIMD_INLINE vi vi_gather(const int32_t *table, const uint8_t *at) { return (vi){table[at[0]], table[at[1]], table[at[2]], table[at[3]]}; }
SIMD_INLINE void vi_store_low_bytes(uint8_t *y, vi a) {
  const int16x4_t words = vmovn_s32(simd_i32(a));
  const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
  memcpy(y, &bytes, 4);
}
SIMD_INLINE vi vi_low_half(vi a) { return (vi)((simd_u32)a << 16) >> 16; }
#else
SIMD_INLINE vf vf_if_above(vf a, vf b, vf c) { return (vf)SIMD_IF(a > 0, b, c); }
SIMD_INLINE vf vf_if_from(vf a, vf b, vf c) { return (vf)SIMD_IF(a >= 0, b, c); }
SIMD_INLINE vi vi_gather(const int32_t *table, const uint8_t *at) { vi r; SIMD_LANES(i) r[i] = table[at[i]]; return r; }
SIMD_INLINE void vi_store_low_bytes(uint8_t *y, vi a) { SIMD_LANES(i) y[i] = (uint8_t)a[i]; }
SIMD_INLINE vi vi_low_half(vi a) { return (vi)((simd_u32)a << 16) >> 16; }
#endif

#define LOOP32(NAME, ARGUMENTS, LOAD, VALUE)                                                                                       \
  static void NAME(const void *params, ARGUMENTS, void *at_y, int64_t n) {                                                            \
    const float *p = params;                                                                                                          \
    float *y = at_y;                                                                                                               \
    (void)p;                                                                                                                       \
    LOAD                                                                                                                           \
    int64_t i = 0;                                                                                                                 \
    for (; i + VL <= n; i += VL) { const vf x = vf_load(a + i); vf_store(y + i, VALUE(vf_load, )); }                                 \
    if (i < n) { const vf x = vf_load_part(a + i, n - i); vf_store_part(y + i, VALUE(vf_load_part, COMMA n - i), n - i); }           \
  }
#define COMMA ,
#define PAIR_OF const void *at_a, const void *at_b
#define LOAD_PAIR const float *a = at_a, *b = at_b;
#define PRELU_OF(LOAD, N) vf_if_from(x, x, p ? vf_mul_first(x, LOAD(b + i N)) : vf_mul_first(LOAD(b + i N), x)) /* see prelu_f32 */
#define MAXIMUM_OF(LOAD, N) vf_max(x, LOAD(b + i N))
#define MINIMUM_OF(LOAD, N) vf_min(x, LOAD(b + i N))
#define LEAKY_OF(LOAD, N) vf_if_above(x, x, vf_mul_first(x, vf_set1(p[0])))
#define RELU_OF(LOAD, N) vf_max(vf_set1(0), x)
#define CLIP_OF(LOAD, N) vf_min(vf_set1(p[1]), vf_max(vf_set1(p[0]), x))
LOOP32(prelu_loop, PAIR_OF, LOAD_PAIR, PRELU_OF)
LOOP32(maximum_loop, PAIR_OF, LOAD_PAIR, MAXIMUM_OF)
LOOP32(minimum_loop, PAIR_OF, LOAD_PAIR, MINIMUM_OF)
LOOP32(leaky_loop, const void *at_a, const float *a = at_a;, LEAKY_OF)
LOOP32(relu_loop, const void *at_a, const float *a = at_a;, RELU_OF)
LOOP32(clip_loop, const void *at_a, const float *a = at_a;, CLIP_OF)

/* ---- bytes: a sum by tables or a product, one multiplier for all (requantize_fixed.h), the zero point, limits. */
typedef struct {
  int64_t value, half;
  int shift, away;         /* of the second rounding: see requantize_fixed.h */
  int32_t zero_point, low, high;
  int narrows;             /* 0; 1: the scaled value plus the zero point wraps as int16, 2: saturates and then wraps */
  int cuts;                /* narrows: the scaled value is cut off at int16 instead of saturated */
  int32_t lowest, highest; /* narrows: limits before the others */
} Bytes8;

#if SIMD_ISA == 0
SIMD_INLINE vi bytes8_scale(const Bytes8 *s, vi x) {
  SIMD_LANES(i) {
    const int64_t p = (int64_t)x[i] * s->value;
    x[i] = (int32_t)((p + (1 << 30) + (s->half << 31) - (s->away && p < 0 ? (int64_t)1 << 31 : 0)) >> s->shift);
  }
  return x;
}
#elif SIMD_ISA == 128
SIMD_INLINE int32x2_t bytes8_half(const Bytes8 *s, int32x2_t x) {
  const int64x2_t p = vmull_n_s32(x, (int32_t)s->value);
  int64x2_t q = vaddq_s64(p, vdupq_n_s64(((int64_t)1 << 30) + (s->half << 31)));
  q = vsubq_s64(q, vandq_s64((int64x2_t)vcltzq_s64(p), vdupq_n_s64(s->away ? (int64_t)1 << 31 : 0)));
  return vmovn_s64(vshlq_s64(q, vdupq_n_s64(-s->shift)));
}
SIMD_INLINE vi bytes8_scale(const Bytes8 *s, vi x) {
  return (vi)vcombine_s32(bytes8_half(s, vget_low_s32(simd_i32(x))), bytes8_half(s, vget_high_s32(simd_i32(x))));
}
#else
SIMD_INLINE vi bytes8_half(const Bytes8 *s, vi x) {
  const int64_t added = ((int64_t)1 << 30) + (s->half << 31) + ((int64_t)REQUANTIZE_FIXED_BIAS << 62);
#if SIMD_ISA == 512
  vi p = _mm512_mul_epi32(x, vi_set1_64(s->value)), q = _mm512_add_epi64(p, vi_set1_64(added));
  q = _mm512_mask_sub_epi64(q, s->away ? _mm512_movepi64_mask(p) : 0, q, vi_set1_64((int64_t)1 << 31));
  return _mm512_srav_epi64(q, vi_set1_64(s->shift));
#else
  vi p = _mm256_mul_epi32(x, vi_set1_64(s->value)), q = _mm256_add_epi64(p, vi_set1_64(added));
  q = _mm256_sub_epi64(q, _mm256_and_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), p), vi_set1_64(s->away ? (int64_t)1 << 31 : 0)));
  return _mm256_srlv_epi64(q, vi_set1_64(s->shift));
#endif
}
SIMD_INLINE vi bytes8_scale(const Bytes8 *s, vi x) {
#if SIMD_ISA == 512
  return _mm512_mask_shuffle_epi32(bytes8_half(s, x), 0xAAAA, bytes8_half(s, _mm512_srli_epi64(x, 32)), _MM_PERM_CCAA);
#else
  const vi odd = _mm256_slli_epi64(bytes8_half(s, _mm256_srli_epi64(x, 32)), 32);
  return vi_sub(_mm256_blend_epi32(bytes8_half(s, x), odd, 0xAA), vi_set1((int32_t)(uint32_t)((uint64_t)1 << (62 - s->shift))));
#endif
}
#endif

SIMD_INLINE vi bytes8_finish(const Bytes8 *s, vi x) {
  x = bytes8_scale(s, x);
  if (s->narrows) {
    if (s->narrows == 2) x = s->cuts ? vi_low_half(x) : vi_max(vi_min(x, vi_set1(32767)), vi_set1(-32768));
    x = vi_low_half(vi_add(x, vi_set1(s->zero_point)));
    x = vi_min(vi_max(x, vi_set1(s->lowest)), vi_set1(s->highest));
  } else {
    x = vi_add(x, vi_set1(s->zero_point));
  }
  return vi_min(vi_max(x, vi_set1(s->low)), vi_set1(s->high));
}

#define BYTES8(VALUE)                                                   \
  int64_t i = 0;                                                        \
  for (; i + VL <= n; i += VL) {                                        \
    const uint8_t *at_a = a + i, *at_b = b + i;                         \
    vi_store_low_bytes(y + i, bytes8_finish(s, VALUE));                 \
  }                                                                     \
  if (i < n) {                                                          \
    uint8_t at_a[16] = {0}, at_b[16] = {0}, out[16];                    \
    memcpy(at_a, a + i, (size_t)(n - i));                               \
    memcpy(at_b, b + i, (size_t)(n - i));                               \
    vi_store_low_bytes(out, bytes8_finish(s, VALUE));                   \
    memcpy(y + i, out, (size_t)(n - i));                                \
  }

static void bytes8_sum(const Bytes8 *at_s, const int32_t *table_a, const int32_t *table_b, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n) {
  const Bytes8 here = *at_s, *s = &here;
#if SIMD_ISA == 256 /* where a gather takes longer than its loads */
  enum { SUMS = 64 };
  int32_t sums[SUMS];
  uint8_t out[SUMS];
  for (; n > 0; n -= SUMS, a += SUMS, b += SUMS, y += SUMS) {
    const int64_t m = n < SUMS ? n : SUMS;
    for (int64_t i = 0; i < m; i++) {
      uint32_t sum = (uint32_t)table_a[a[i]] + (uint32_t)table_b[b[i]];
      __asm__("" : "+r"(sum)); /* else the compiler gathers */
      sums[i] = (int32_t)sum;
    }
    for (int64_t i = m; i < SUMS; i++) sums[i] = 0;
    for (int64_t i = 0; i < m; i += VL) vi_store_low_bytes(out + i, bytes8_finish(s, vi_load(sums + i)));
    memcpy(y, out, (size_t)m);
  }
#else
  BYTES8(vi_add(vi_gather(table_a, at_a), vi_gather(table_b, at_b)))
#endif
}
static void bytes8_product_s8(const Bytes8 *at_s, int32_t a_zero, int32_t b_zero, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n) {
  const Bytes8 here = *at_s, *s = &here;
  BYTES8(vi_mul(vi_sub(vi_from_s8(at_a), vi_set1(a_zero)), vi_sub(vi_from_s8(at_b), vi_set1(b_zero))))
}
static void bytes8_product_u8(const Bytes8 *at_s, int32_t a_zero, int32_t b_zero, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n) {
  const Bytes8 here = *at_s, *s = &here;
  BYTES8(vi_mul(vi_sub(vi_from_u8(at_a), vi_set1(a_zero)), vi_sub(vi_from_u8(at_b), vi_set1(b_zero))))
}
#endif
