/* Vectors: the operations that every kernel of this room is written in, once per instruction set.
 *   vf   VL float32 lanes          vi   VL int32 lanes          vb   VB = 4 * VL bytes
 * The module that includes this says which section it wants: SIMD_ISA is 512 (AVX-512 F, BW, DQ, VL and VNNI), 256 (AVX2 and FMA; with SIMD_VNNI
 * also AVX-VNNI), 128 (NEON; with SIMD_DOTPROD also SDOT; simd_neon.h) or 0 (portable C, 16 bytes; simd_portable.h). To add an instruction set, add a
 * section with the same names; `isa_*.pyx` and tools/flags.py get a line each.
 *
 * Rules:
 * - vf_fma_first(a, b, c) keeps the order of the factors: of two NaN a's comes out. In vf_fma_first_at b is one float that all lanes share.
 * - vf_fma is the only place where a multiplication and an addition round together (everything is compiled with -ffp-contract=off).
 * - `..._part(p, n)` touches n elements only (0 <= n <= lanes); what is not loaded is 0. All other loads and stores touch whole vectors.
 * - vf_min(a, b), vf_max(a, b) are MINPS, MAXPS: b when one is NaN or both are zeros. vf_minimum, vf_maximum are the CPU's own, as XNNPACK's arithmetic
 *   has them (arithmetic/xnnpack/lanes.pxd): with NEON a NaN stays, and +0 is greater than -0; else they are vf_min, vf_max.
 * - vi_from_vf rounds to nearest even, vi_cut_vf towards 0; the value must fit an int32.
 * - vi_dot4(acc, x, w) adds to each lane the sum of four products of bytes of x with signed bytes of w; nothing saturates. x is unsigned, with NEON
 *   signed: an int8 value is SIMD_ABOVE less than what vi_dot4 takes for it. vi_dot4_small: w has no value below SIMD_LEAST.
 * - vb_gather(p, step, pieces) loads 1, 2 or 4 stretches, `step` bytes apart; vb_scatter stores `count` of them, vb_scatter_part n bytes of each.
 * - Interleaving and packing (vb_zip*, vb_pack_*) work within each 16 bytes. vb_unlane turns what vb_pack_* makes of four vectors with
 *   consecutive dwords into consecutive bytes; rows that went through vb_lane, interleaved twice, have consecutive dwords. */
#ifndef TFLM_CY_SIMD_H
#define TFLM_CY_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where the compiler can have a vector for certain. SIMD_KEEP keeps one in its register, which would be loaded again for each use. */
#if defined(__x86_64__) && !defined(TFLM_CY_EMULATE_AVX512)
#define SIMD_PLACE "v"
#elif defined(__aarch64__)
#define SIMD_PLACE "w"
#else
#define SIMD_PLACE "m"
#endif
#if defined(__x86_64__) || defined(__aarch64__)
#define SIMD_KEEP(a) __asm__("" : "+" SIMD_PLACE(a))
#else
#define SIMD_KEEP(a) (void)(a)
#endif

/* a * b + c: a compiler may exchange the factors of an intrinsic, not those of an instruction. */
#if defined(__x86_64__) && defined(__FMA__)
#define SIMD_FMA_FIRST(a, b, c) __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "vm"(b))
#else
#define SIMD_FMA_FIRST(a, b, c) (void)((c) = vf_fma(a, b, c))
#endif

#define simd_prefetch(p) __builtin_prefetch(p, 0, 3)

#define SIMD_INLINE static inline __attribute__((always_inline, unused))

enum { SIMD_ABOVE = SIMD_ISA == 128 ? 0 : 128 };
#if SIMD_ISA == 128 && !defined(SIMD_DOTPROD)
enum { SIMD_LEAST = -127 };
#else
enum { SIMD_LEAST = -128 };
#endif

#if SIMD_ISA == 512 /* ------------------------------------------------------------------------------------------------ AVX-512 */
#ifdef TFLM_CY_EMULATE_AVX512
#include "avx512_emulated.h"
#else
#include <immintrin.h>
#endif

enum { VL = 16, VB = 64 };
typedef __m512 vf;
typedef __m512i vi;
typedef __m512i vb;

#define SIMD_BOTH(NAME, ...) _mm512_##NAME(__VA_ARGS__) /* what is called the same with 256 bits and 512 */
#define SIMD_MASK16(n) ((__mmask16)_bzhi_u32(0xFFFFu, (unsigned)(n)))
#define SIMD_MASK64(n) ((__mmask64)_bzhi_u64(~0ull, (unsigned)(n)))

SIMD_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
SIMD_INLINE void vf_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
SIMD_INLINE vf vf_load_part(const float *p, ptrdiff_t n) { return _mm512_maskz_loadu_ps(SIMD_MASK16(n), p); }
SIMD_INLINE vf vf_permute(vf a, vi order) { return _mm512_permutexvar_ps(order, a); }
SIMD_INLINE void vf_store_part(float *p, vf a, ptrdiff_t n) { _mm512_mask_storeu_ps(p, SIMD_MASK16(n), a); }
SIMD_INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
SIMD_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
SIMD_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
SIMD_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
SIMD_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
#ifndef TFLM_CY_EMULATE_AVX512
SIMD_INLINE vf vf_fma_first(vf a, vf b, vf c) { SIMD_FMA_FIRST(a, b, c); return c; }
SIMD_INLINE vf vf_fma_first_at(vf a, const float *b, vf c) { __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(a), "m"(*b)); return c; }
#else
SIMD_INLINE vf vf_fma_first_at(vf a, const float *b, vf c) { return vf_fma_first(a, vf_set1(*b), c); }
#endif
SIMD_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
SIMD_INLINE vf vf_from_vi(vi a) { return _mm512_cvtepi32_ps(a); }
SIMD_INLINE vf vf_from_bits(vi a) { return _mm512_castsi512_ps(a); }
SIMD_INLINE vi vi_from_vf(vf a) { return _mm512_cvtps_epi32(a); }
SIMD_INLINE vi vi_cut_vf(vf a) { return _mm512_cvttps_epi32(a); }

SIMD_INLINE vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
SIMD_INLINE void vi_store(int32_t *p, vi a) { _mm512_storeu_si512(p, a); }
SIMD_INLINE vi vi_load_part(const int32_t *p, ptrdiff_t n) { return _mm512_maskz_loadu_epi32(SIMD_MASK16(n), p); }
SIMD_INLINE void vi_store_part(int32_t *p, vi a, ptrdiff_t n) { _mm512_mask_storeu_epi32(p, SIMD_MASK16(n), a); }
SIMD_INLINE vi vi_set1(int32_t x) { return _mm512_set1_epi32(x); }
SIMD_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
SIMD_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
SIMD_INLINE vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
SIMD_INLINE vi vi_min(vi a, vi b) { return _mm512_min_epi32(a, b); }
SIMD_INLINE vi vi_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
SIMD_INLINE vi vi_sra(vi a, int n) { return _mm512_sra_epi32(a, _mm_cvtsi32_si128(n)); }
SIMD_INLINE vi vi_from_s8(const void *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }
SIMD_INLINE vi vi_from_u8(const void *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }
SIMD_INLINE vi vi_dot4(vi acc, vb u, vb s) { return _mm512_dpbusd_epi32(acc, u, s); }
SIMD_INLINE int32_t vi_sum(vi a) { return _mm512_reduce_add_epi32(a); }

SIMD_INLINE vb vb_load(const void *p) { return _mm512_loadu_si512(p); }
SIMD_INLINE void vb_store(void *p, vb a) { _mm512_storeu_si512(p, a); }
SIMD_INLINE vb vb_load_part(const void *p, ptrdiff_t n) { return _mm512_maskz_loadu_epi8(SIMD_MASK64(n), p); }
SIMD_INLINE void vb_store_part(void *p, vb a, ptrdiff_t n) { _mm512_mask_storeu_epi8(p, SIMD_MASK64(n), a); }
SIMD_INLINE vb vb_set1(int x) { return _mm512_set1_epi8((char)x); }
SIMD_INLINE vb vb_set1_16(int x) { return _mm512_set1_epi16((short)x); }
SIMD_INLINE vb vb_set1_32(const void *p) { int32_t x; memcpy(&x, p, 4); return _mm512_set1_epi32(x); }
SIMD_INLINE vb vb_xor(vb a, vb b) { return _mm512_xor_si512(a, b); }
SIMD_INLINE vb vb_and(vb a, vb b) { return _mm512_and_si512(a, b); }
SIMD_INLINE vb vb_min_s(vb a, vb b) { return _mm512_min_epi8(a, b); }
SIMD_INLINE vb vb_max_s(vb a, vb b) { return _mm512_max_epi8(a, b); }
SIMD_INLINE vb vb_min_u(vb a, vb b) { return _mm512_min_epu8(a, b); }
SIMD_INLINE vb vb_max_u(vb a, vb b) { return _mm512_max_epu8(a, b); }
SIMD_INLINE vb vb_zip8_low(vb a, vb b) { return _mm512_unpacklo_epi8(a, b); }
SIMD_INLINE vb vb_zip8_high(vb a, vb b) { return _mm512_unpackhi_epi8(a, b); }
SIMD_INLINE vb vb_zip16_low(vb a, vb b) { return _mm512_unpacklo_epi16(a, b); }
SIMD_INLINE vb vb_zip16_high(vb a, vb b) { return _mm512_unpackhi_epi16(a, b); }
/* int32 to int16 with saturation, plus the zero point with saturation, to bytes with saturation; vb_pack: to unsigned ones, without a zero point */
SIMD_INLINE vb vb_pack_s(vi a, vi b, vi c, vi d, vb zero) {
  return _mm512_packs_epi16(_mm512_adds_epi16(_mm512_packs_epi32(a, b), zero), _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero));
}
SIMD_INLINE vb vb_pack_u(vi a, vi b, vi c, vi d, vb zero) {
  return _mm512_packus_epi16(_mm512_adds_epi16(_mm512_packs_epi32(a, b), zero), _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero));
}
SIMD_INLINE vb vb_pack(vi a, vi b, vi c, vi d) { return _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d)); }
SIMD_INLINE vb vb_unlane(vb a) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), a);
}

SIMD_INLINE vb vb_lane(vb a) { return vb_unlane(a); } /* its own inverse */
SIMD_INLINE vb vb_gather(const uint8_t *p, ptrdiff_t step, const int pieces) {
  if (pieces == 1) return vb_load(p);
  if (pieces == 2) return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)p)), _mm256_loadu_si256((const __m256i *)(p + step)), 1);
  __m512i a = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
  a = _mm512_inserti32x4(a, _mm_loadu_si128((const __m128i *)(p + step)), 1);
  a = _mm512_inserti32x4(a, _mm_loadu_si128((const __m128i *)(p + 2 * step)), 2);
  return _mm512_inserti32x4(a, _mm_loadu_si128((const __m128i *)(p + 3 * step)), 3);
}
SIMD_INLINE void vb_scatter(uint8_t *p, ptrdiff_t step, vb a, const int pieces, ptrdiff_t count) {
  if (pieces == 1) {
    vb_store(p, a);
  } else if (pieces == 2) {
    _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(a));
    if (count > 1) _mm256_storeu_si256((__m256i *)(p + step), _mm512_extracti64x4_epi64(a, 1));
  } else {
    _mm_storeu_si128((__m128i *)p, _mm512_castsi512_si128(a));
    if (count > 1) _mm_storeu_si128((__m128i *)(p + step), _mm512_extracti32x4_epi32(a, 1));
    if (count > 2) _mm_storeu_si128((__m128i *)(p + 2 * step), _mm512_extracti32x4_epi32(a, 2));
    if (count > 3) _mm_storeu_si128((__m128i *)(p + 3 * step), _mm512_extracti32x4_epi32(a, 3));
  }
}

/* The first n bytes of each of `pieces` parts. */
SIMD_INLINE void vb_scatter_part(uint8_t *p, ptrdiff_t step, vb a, const int pieces, ptrdiff_t count, ptrdiff_t n) {
  if (pieces == 2) {
    const __mmask32 some = _bzhi_u32(~0u, (unsigned)n);
    _mm256_mask_storeu_epi8(p, some, _mm512_castsi512_si256(a));
    if (count > 1) _mm256_mask_storeu_epi8(p + step, some, _mm512_extracti64x4_epi64(a, 1));
  } else {
    const __mmask16 some = (__mmask16)_bzhi_u32(0xFFFFu, (unsigned)n);
    _mm_mask_storeu_epi8(p, some, _mm512_castsi512_si128(a));
    if (count > 1) _mm_mask_storeu_epi8(p + step, some, _mm512_extracti32x4_epi32(a, 1));
    if (count > 2) _mm_mask_storeu_epi8(p + 2 * step, some, _mm512_extracti32x4_epi32(a, 2));
    if (count > 3) _mm_mask_storeu_epi8(p + 3 * step, some, _mm512_extracti32x4_epi32(a, 3));
  }
}

#elif SIMD_ISA == 256 /* ----------------------------------------------------------------------------------------- AVX2 and FMA */
#include <immintrin.h>

#include "store_part.h"

enum { VL = 8, VB = 32 };
typedef __m256 vf;
typedef __m256i vi;
typedef __m256i vb;

#define SIMD_BOTH(NAME, ...) _mm256_##NAME(__VA_ARGS__)
SIMD_INLINE __m256i simd_first(ptrdiff_t n) { /* all bits of the first n dwords */
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
SIMD_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
SIMD_INLINE void vf_store(float *p, vf a) { _mm256_storeu_ps(p, a); }
SIMD_INLINE vf vf_load_part(const float *p, ptrdiff_t n) { return _mm256_maskload_ps(p, simd_first(n)); }
SIMD_INLINE vf vf_permute(vf a, vi order) { return _mm256_permutevar8x32_ps(a, order); }
SIMD_INLINE void vf_store_part(float *p, vf a, ptrdiff_t n) { tflm_cy_store_part(p, a, n); }
SIMD_INLINE vf vf_set1(float x) { return _mm256_set1_ps(x); }
SIMD_INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
SIMD_INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
SIMD_INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
SIMD_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
SIMD_INLINE vf vf_fma_first(vf a, vf b, vf c) { SIMD_FMA_FIRST(a, b, c); return c; }
SIMD_INLINE vf vf_fma_first_at(vf a, const float *b, vf c) { return vf_fma_first(a, vf_set1(*b), c); }
SIMD_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
SIMD_INLINE vf vf_from_vi(vi a) { return _mm256_cvtepi32_ps(a); }
SIMD_INLINE vf vf_from_bits(vi a) { return _mm256_castsi256_ps(a); }
SIMD_INLINE vi vi_from_vf(vf a) { return _mm256_cvtps_epi32(a); }
SIMD_INLINE vi vi_cut_vf(vf a) { return _mm256_cvttps_epi32(a); }

SIMD_INLINE vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
SIMD_INLINE void vi_store(int32_t *p, vi a) { _mm256_storeu_si256((__m256i *)p, a); }
SIMD_INLINE vi vi_load_part(const int32_t *p, ptrdiff_t n) { return _mm256_maskload_epi32((const int *)p, simd_first(n)); }
SIMD_INLINE void vi_store_part(int32_t *p, vi a, ptrdiff_t n) { vf_store_part((float *)p, _mm256_castsi256_ps(a), n); }
SIMD_INLINE vi vi_set1(int32_t x) { return _mm256_set1_epi32(x); }
SIMD_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
SIMD_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
SIMD_INLINE vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
SIMD_INLINE vi vi_min(vi a, vi b) { return _mm256_min_epi32(a, b); }
SIMD_INLINE vi vi_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
SIMD_INLINE vi vi_sra(vi a, int n) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(n)); }
SIMD_INLINE vi vi_from_s8(const void *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
SIMD_INLINE vi vi_from_u8(const void *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
#if defined(SIMD_VNNI) && !defined(TFLM_CY_EMULATE_VNNI)
SIMD_INLINE vi vi_dot4(vi acc, vb u, vb s) { return _mm256_dpbusd_avx_epi32(acc, u, s); }
#else
/* Pairs of int16: VPMADDUBSW would saturate. */
SIMD_INLINE vi vi_dot4(vi acc, vb u, vb s) {
  __m256i even = _mm256_madd_epi16(_mm256_and_si256(u, _mm256_set1_epi16(255)), _mm256_srai_epi16(_mm256_slli_epi16(s, 8), 8));
  __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(u, 8), _mm256_srai_epi16(s, 8));
  return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
}
#endif
SIMD_INLINE int32_t vi_sum(vi a) {
  __m128i x = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xB1)));
}

SIMD_INLINE vb vb_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
SIMD_INLINE void vb_store(void *p, vb a) { _mm256_storeu_si256((__m256i *)p, a); }
SIMD_INLINE uint64_t simd_bytes_from(const uint8_t *p, ptrdiff_t n) { uint64_t x = 0; memcpy(&x, p, (size_t)n); return x; } /* n is constant */
/* Fewer than 16 bytes: the first ones and the last ones, which may be the same. */
static __attribute__((noinline, unused)) __m128i simd_load_few(const uint8_t *p, ptrdiff_t n) {
  if (n >= 8) {
    const int half = 4 * (int)(16 - n); /* 64 bits are shifted out in two steps */
    return _mm_set_epi64x((long long)(simd_bytes_from(p + n - 8, 8) >> half >> half), (long long)simd_bytes_from(p, 8));
  }
  if (n >= 4) return _mm_cvtsi64_si128((long long)(simd_bytes_from(p, 4) | simd_bytes_from(p + n - 4, 4) << 8 * (n - 4)));
  if (n <= 0) return _mm_setzero_si128();
  return _mm_cvtsi32_si128(p[0] | p[n / 2] << 8 * (n / 2) | p[n - 1] << 8 * (n - 1));
}
SIMD_INLINE vb vb_load_part(const void *at, ptrdiff_t n) {
  static const int8_t behind[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  const uint8_t *p = (const uint8_t *)at;
  if (n < 16) return _mm256_zextsi128_si256(simd_load_few(p, n));
  const __m128i last = _mm_loadu_si128((const __m128i *)(p + n - 16)), order = _mm_loadu_si128((const __m128i *)(behind + 32 - n));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)), _mm_shuffle_epi8(last, order), 1);
}
static __attribute__((noinline, unused)) void vb_store_part(void *at, vb a, ptrdiff_t n) {
  const ptrdiff_t dwords = n / 4;
  uint8_t *rest = (uint8_t *)at + 4 * dwords;
  vf_store_part((float *)at, _mm256_castsi256_ps(a), dwords);
  if (n % 4 == 0) return;
  int last = _mm256_cvtsi256_si32(_mm256_permutevar8x32_epi32(a, _mm256_set1_epi32((int)dwords)));
  if (n & 2) {
    memcpy(rest, &last, 2);
    last >>= 16;
    rest += 2;
  }
  if (n & 1) *rest = (uint8_t)last;
}
SIMD_INLINE vb vb_set1(int x) { return _mm256_set1_epi8((char)x); }
SIMD_INLINE vb vb_set1_16(int x) { return _mm256_set1_epi16((short)x); }
SIMD_INLINE vb vb_set1_32(const void *p) { int32_t x; memcpy(&x, p, 4); return _mm256_set1_epi32(x); }
SIMD_INLINE vb vb_xor(vb a, vb b) { return _mm256_xor_si256(a, b); }
SIMD_INLINE vb vb_and(vb a, vb b) { return _mm256_and_si256(a, b); }
SIMD_INLINE vb vb_min_s(vb a, vb b) { return _mm256_min_epi8(a, b); }
SIMD_INLINE vb vb_max_s(vb a, vb b) { return _mm256_max_epi8(a, b); }
SIMD_INLINE vb vb_min_u(vb a, vb b) { return _mm256_min_epu8(a, b); }
SIMD_INLINE vb vb_max_u(vb a, vb b) { return _mm256_max_epu8(a, b); }
SIMD_INLINE vb vb_zip8_low(vb a, vb b) { return _mm256_unpacklo_epi8(a, b); }
SIMD_INLINE vb vb_zip8_high(vb a, vb b) { return _mm256_unpackhi_epi8(a, b); }
SIMD_INLINE vb vb_zip16_low(vb a, vb b) { return _mm256_unpacklo_epi16(a, b); }
SIMD_INLINE vb vb_zip16_high(vb a, vb b) { return _mm256_unpackhi_epi16(a, b); }
SIMD_INLINE vb vb_pack_s(vi a, vi b, vi c, vi d, vb zero) {
  return _mm256_packs_epi16(_mm256_adds_epi16(_mm256_packs_epi32(a, b), zero), _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero));
}
SIMD_INLINE vb vb_pack_u(vi a, vi b, vi c, vi d, vb zero) {
  return _mm256_packus_epi16(_mm256_adds_epi16(_mm256_packs_epi32(a, b), zero), _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero));
}
SIMD_INLINE vb vb_pack(vi a, vi b, vi c, vi d) { return _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d)); }
SIMD_INLINE vb vb_unlane(vb a) { return _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)); }
SIMD_INLINE vb vb_lane(vb a) { return _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7)); }
SIMD_INLINE long long simd_eight(const uint8_t *p) { long long x; memcpy(&x, p, 8); return x; }
SIMD_INLINE vb vb_gather(const uint8_t *p, ptrdiff_t step, const int pieces) {
  if (pieces == 1) return vb_load(p);
  if (pieces == 2) return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)), _mm_loadu_si128((const __m128i *)(p + step)), 1);
  return _mm256_setr_epi64x(simd_eight(p), simd_eight(p + step), simd_eight(p + 2 * step), simd_eight(p + 3 * step));
}
SIMD_INLINE void vb_scatter(uint8_t *p, ptrdiff_t step, vb a, const int pieces, ptrdiff_t count) {
  if (pieces == 1) {
    vb_store(p, a);
  } else if (pieces == 2) {
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(a));
    if (count > 1) _mm_storeu_si128((__m128i *)(p + step), _mm256_extracti128_si256(a, 1));
  } else {
    const __m128i low = _mm256_castsi256_si128(a), high = _mm256_extracti128_si256(a, 1);
    _mm_storel_epi64((__m128i *)p, low);
    if (count > 1) _mm_storel_epi64((__m128i *)(p + step), _mm_unpackhi_epi64(low, low));
    if (count > 2) _mm_storel_epi64((__m128i *)(p + 2 * step), high);
    if (count > 3) _mm_storel_epi64((__m128i *)(p + 3 * step), _mm_unpackhi_epi64(high, high));
  }
}

#else /* ------------------------------------------------------------------------------------------------------- 16 bytes */
#include "simd_16.h"
#endif

#if SIMD_ISA >= 256
SIMD_INLINE vb vb_sub_s(vb a, vb b) { return SIMD_BOTH(subs_epi8, a, b); } /* saturates */
SIMD_INLINE vb vb_zip32_low(vb a, vb b) { return SIMD_BOTH(unpacklo_epi32, a, b); }
SIMD_INLINE vb vb_zip32_high(vb a, vb b) { return SIMD_BOTH(unpackhi_epi32, a, b); }
SIMD_INLINE vb vb_zip64_low(vb a, vb b) { return SIMD_BOTH(unpacklo_epi64, a, b); }
SIMD_INLINE vb vb_zip64_high(vb a, vb b) { return SIMD_BOTH(unpackhi_epi64, a, b); }
#endif
#if SIMD_ISA != 128
SIMD_INLINE vf vf_minimum(vf a, vf b) { return vf_min(a, b); }
SIMD_INLINE vf vf_maximum(vf a, vf b) { return vf_max(a, b); }
SIMD_INLINE vi vi_dot4_small(vi acc, vb x, vb w) { return vi_dot4(acc, x, w); }
#endif

/* vf_add_first, vf_mul_first keep the order of operands, which shows in the result of two NaNs: a's comes out. A choice between a and its
 * product or sum must be made of these: of vf_mul a compiler (clang) makes a product with 1 where a is chosen, which loses denormals. */
#if SIMD_ISA == 0 && defined(__SSE2__)
#define FIRST32(NAME, OP, A, B) __asm__(#NAME "ps %1, %0" : "+x"(A) : "x"(B))
#elif SIMD_ISA < 256 && defined(__aarch64__)
#define FIRST32(NAME, OP, A, B) __asm__("f" #NAME " %0.4s, %0.4s, %1.4s" : "+w"(A) : "w"(B))
#elif SIMD_ISA == 0
#define FIRST32(NAME, OP, A, B) (void)(A = A OP B)
#elif !defined(FIRST32) /* emulated: in halves */
#define FIRST32(NAME, OP, A, B) __asm__("v" #NAME "ps %1, %0, %0" : "+v"(A) : "v"(B))
#endif
SIMD_INLINE vf vf_add_first(vf a, vf b) { FIRST32(add, +, a, b); return a; }
SIMD_INLINE vf vf_mul_first(vf a, vf b) { FIRST32(mul, *, a, b); return a; }

#if SIMD_ISA != 512
SIMD_INLINE void vb_scatter_part(uint8_t *p, ptrdiff_t step, vb a, const int pieces, ptrdiff_t count, ptrdiff_t n) {
  uint8_t whole[VB];
  vb_store(whole, a);
  for (int i = 0; i < pieces && i < count; i++) memcpy(p + i * step, whole + i * (VB / pieces), (size_t)n);
}
#endif
#endif
