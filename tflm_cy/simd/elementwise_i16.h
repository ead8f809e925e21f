/* The loops of elementwise_i16.pxi. */
#ifndef TFLM_CY_SIMD_ELEMENTWISE_I16_H
#define TFLM_CY_SIMD_ELEMENTWISE_I16_H

#include "loops.h"

#if SIMD_ISA == 512
SIMD_INLINE vi vi_from_s16(const int16_t *p) { return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
SIMD_INLINE void vi_store_words(int16_t *p, vi a) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(a)); }
SIMD_INLINE vi vi_shift_left(vi a, int n) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n)); }
#elif SIMD_ISA == 256
SIMD_INLINE vi vi_from_s16(const int16_t *p) { return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)); }
SIMD_INLINE void vi_store_words(int16_t *p, vi a) { /* which fit */
  _mm_storeu_si128((__m128i *)p, _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
SIMD_INLINE vi vi_shift_left(vi a, int n) { return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n)); }
#elif SIMD_ISA == 128
SIMD_INLINE vi vi_from_s16(const int16_t *p) { return (vi)vmovl_s16(vld1_s16(p)); }
SIMD_INLINE void vi_store_words(int16_t *p, vi a) { vst1_s16(p, vmovn_s32(simd_i32(a))); }
SIMD_INLINE vi vi_shift_left(vi a, int n) { return (vi)vshlq_s32(simd_i32(a), vdupq_n_s32(n)); }
#else
SIMD_INLINE vi vi_from_s16(const int16_t *p) { vi r; SIMD_LANES(i) r[i] = p[i]; return r; }
SIMD_INLINE void vi_store_words(int16_t *p, vi a) { SIMD_LANES(i) p[i] = (int16_t)a[i]; }
SIMD_INLINE vi vi_shift_left(vi a, int n) { return (vi)((simd_u32)a << n); }
#endif

/* An operand is shifted left and right, scaled, and added. */
typedef struct {
  int up, down;
  Bytes8 scale; /* value, half, shift, away */
} Operand16;

SIMD_INLINE vi operand16(const Operand16 *o, vi x) { return bytes8_scale(&o->scale, vi_sra(vi_shift_left(x, o->up), o->down)); }

static void sum_words(const Operand16 *at_a, const Operand16 *at_b, int32_t sign, const Bytes8 *at_out, const int16_t *a, const int16_t *b, int16_t *y, int64_t n) {
  const Operand16 first = *at_a, second = *at_b;
  const Bytes8 out = *at_out;
  const vi low = vi_set1(out.low), high = vi_set1(out.high), factor = vi_set1(sign);
  for (int64_t i = 0; i < n; i += VL) {
    int16_t part_a[VL] = {0}, part_b[VL] = {0}, part_y[VL];
    const int64_t m = n - i < VL ? n - i : VL;
    const int whole = m == VL;
    if (!whole) {
      memcpy(part_a, a + i, (size_t)m * 2);
      memcpy(part_b, b + i, (size_t)m * 2);
    }
    const vi u = operand16(&first, vi_from_s16(whole ? a + i : part_a)), v = vi_mul(operand16(&second, vi_from_s16(whole ? b + i : part_b)), factor);
    const vi sum = vi_min(vi_max(bytes8_scale(&out, vi_add(u, v)), low), high);
    vi_store_words(whole ? y + i : part_y, sum);
    if (!whole) memcpy(y + i, part_y, (size_t)m * 2);
  }
}

#endif
