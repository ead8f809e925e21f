/* AVX-512 in terms of AVX2, for machines without it: TFLM_CY_EMULATE=avx512 pip install -e . has the kernels of isa_avx512.pyx (and, in C,
 * of amx.pyx) tested there. Over SIMDe (simd-everywhere/simde); what that has not is here. */
#ifndef TFLM_CY_SIMD_AVX512_EMULATED_H
#define TFLM_CY_SIMD_AVX512_EMULATED_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi"
#define SIMDE_ENABLE_NATIVE_ALIASES
#include "simde/x86/avx512.h"

typedef union { __m512i v; int32_t s32[16]; int64_t s64[8]; } emulated_512i;
typedef union { __m512 v; float f32[16]; __m256 half[2]; } emulated_512;
typedef union { __m512d v; double f64[8]; } emulated_512d;
typedef union { __m256i v; uint8_t u8[32]; int32_t s32[8]; } emulated_256i;

#define EMULATED(TYPE, NAME) static inline __attribute__((unused)) TYPE NAME

EMULATED(__m512i, emulated_sra_epi32)(__m512i a, __m128i count) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_sra_epi32(_mm512_castsi512_si256(a), count)),
                            _mm256_sra_epi32(_mm512_extracti64x4_epi64(a, 1), count), 1);
}
EMULATED(__m512i, emulated_srav_epi32)(__m512i a, __m512i count) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_srav_epi32(_mm512_castsi512_si256(a), _mm512_castsi512_si256(count))),
                            _mm256_srav_epi32(_mm512_extracti64x4_epi64(a, 1), _mm512_extracti64x4_epi64(count, 1)), 1);
}
EMULATED(__m512i, emulated_srav_epi64)(__m512i a, __m512i count) {
  emulated_512i x = {a}, n = {count};
  for (int i = 0; i < 8; i++) x.s64[i] >>= (uint64_t)n.s64[i] > 63 ? 63 : n.s64[i];
  return x.v;
}
EMULATED(__m512i, emulated_cvtepu8_epi16)(__m256i a) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_cvtepu8_epi16(_mm256_castsi256_si128(a))),
                            _mm256_cvtepu8_epi16(_mm256_extracti128_si256(a, 1)), 1);
}
EMULATED(__m512d, emulated_cvtepi32_pd)(__m256i a) {
  emulated_256i x = {a};
  emulated_512d y;
  for (int i = 0; i < 8; i++) y.f64[i] = x.s32[i];
  return y.v;
}
EMULATED(__m256i, emulated_cvttpd_epi32)(__m512d a) {
  emulated_512d x = {a};
  return _mm256_setr_m128i(_mm256_cvttpd_epi32(_mm256_loadu_pd(x.f64)), _mm256_cvttpd_epi32(_mm256_loadu_pd(x.f64 + 4)));
}
EMULATED(__m512d, emulated_cut_pd)(__m512d a) {
  emulated_512d x = {a};
  for (int i = 0; i < 8; i++) x.f64[i] = trunc(x.f64[i]);
  return x.v;
}
EMULATED(__m512i, emulated_gather_epi32)(__m512i at, const void *from, int scale) {
  emulated_512i x = {at};
  for (int i = 0; i < 16; i++) memcpy(&x.s32[i], (const uint8_t *)from + (int64_t)x.s32[i] * scale, 4);
  return x.v;
}
EMULATED(__m512i, emulated_mask_shuffle_epi32)(__m512i old, __mmask16 mask, __m512i a, int order) {
  emulated_512i x = {a}, y = {old};
  for (int i = 0; i < 16; i++) {
    if (mask >> i & 1) y.s32[i] = x.s32[(i & ~3) + (order >> 2 * (i & 3) & 3)];
  }
  return y.v;
}
EMULATED(__mmask16, emulated_testn_epi32_mask)(__m512i a, __m512i b) {
  emulated_512i x = {a}, y = {b};
  unsigned mask = 0;
  for (int i = 0; i < 16; i++) mask |= (unsigned)((x.s32[i] & y.s32[i]) == 0) << i;
  return (__mmask16)mask;
}
EMULATED(__m512, emulated_scalef_ps)(__m512 a, __m512 b) { /* whole exponents of 32 bits, rounded once; NaN as the multiplication has it */
  emulated_512 x = {a}, n = {b};
  for (int i = 0; i < 16; i++) {
    if (isnan(x.f32[i]) || isnan(n.f32[i])) x.f32[i] *= n.f32[i];
    else x.f32[i] = scalbnf(x.f32[i], (int)fmaxf(fminf(floorf(n.f32[i]), 1000), -1000));
  }
  return x.v;
}
EMULATED(__m512, emulated_cvtph_ps)(__m256i a) {
  emulated_512 y;
  _mm256_storeu_ps(y.f32, _mm256_cvtph_ps(_mm256_castsi256_si128(a)));
  _mm256_storeu_ps(y.f32 + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)));
  return y.v;
}
#define FIRST32(NAME, OP, A, B) /* of simd.h */ \
  do { \
    emulated_512 x_ = {A}, y_ = {B}; \
    for (int i_ = 0; i_ < 2; i_++) __asm__("v" #NAME "ps %1, %0, %0" : "+x"(x_.half[i_]) : "x"(y_.half[i_])); \
    A = x_.v; \
  } while (0)
static inline __attribute__((always_inline, unused)) __m512 vf_fma_first(__m512 a, __m512 b, __m512 c) { /* of simd.h */
  emulated_512 x = {a}, y = {b}, z = {c};
  for (int i = 0; i < 2; i++) __asm__("vfmadd231ps %2, %1, %0" : "+x"(z.half[i]) : "x"(x.half[i]), "x"(y.half[i]));
  return z.v;
}
/* Only the bytes that the mask names are touched. */
EMULATED(__m256i, emulated_mask_loadu_epi8)(__m256i old, uint32_t mask, const void *from) {
  emulated_256i y = {old};
  for (int i = 0; i < 32; i++) {
    if (mask >> i & 1) y.u8[i] = ((const uint8_t *)from)[i];
  }
  return y.v;
}
#define _mm512_sra_epi32 emulated_sra_epi32
#define _mm512_srav_epi32 emulated_srav_epi32
#define _mm512_srav_epi64 emulated_srav_epi64
#define _mm512_cvtepu8_epi16 emulated_cvtepu8_epi16
#define _mm512_cvtepi32_pd emulated_cvtepi32_pd
#define _mm512_cvttpd_epi32 emulated_cvttpd_epi32
#define _mm512_i32gather_epi32(AT, FROM, SCALE) emulated_gather_epi32(AT, FROM, SCALE)
#define _mm512_mask_shuffle_epi32(OLD, MASK, A, ORDER) emulated_mask_shuffle_epi32(OLD, MASK, A, ORDER)
#define _mm512_testn_epi32_mask emulated_testn_epi32_mask
#undef _mm512_roundscale_pd /* SIMDe's makes 2.625 of 2.7 */
#define _mm512_roundscale_pd(A, HOW) ((void)sizeof(char[(HOW) == (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC) ? 1 : -1]), emulated_cut_pd(A))
#undef _mm512_scalef_ps
#define _mm512_scalef_ps emulated_scalef_ps
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps emulated_cvtph_ps
#define _mm256_mask_loadu_epi8 emulated_mask_loadu_epi8
#endif
