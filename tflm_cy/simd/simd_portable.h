/* Vectors of 16 bytes in portable C: what the compiler makes of SSE2 or NEON, and instructions that it would not find. Part of simd_16.h. */
#ifndef TFLM_CY_SIMD_PORTABLE_H
#define TFLM_CY_SIMD_PORTABLE_H

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

SIMD_INLINE vf vf_load_part(const float *p, ptrdiff_t n) { vf r = {0}; SIMD_LANES(i) if (i < n) r[i] = p[i]; return r; }
SIMD_INLINE void vf_store_part(float *p, vf a, ptrdiff_t n) { SIMD_LANES(i) if (i < n) p[i] = a[i]; }
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { vf r; SIMD_LANES(i) r[i] = fmaf(a[i], b[i], c[i]); return r; }
SIMD_INLINE vf vf_fma_first(vf a, vf b, vf c) { SIMD_FMA_FIRST(a, b, c); return c; }
SIMD_INLINE vf vf_fma_first_at(vf a, const float *b, vf c) { return vf_fma_first(a, vf_set1(*b), c); }
#ifdef __SSE2__
SIMD_INLINE vf vf_min(vf a, vf b) { return _mm_min_ps(a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return _mm_max_ps(a, b); }
SIMD_INLINE vi vi_from_vf(vf a) { return (vi)_mm_cvtps_epi32(a); }
#else
SIMD_INLINE vf vf_min(vf a, vf b) { return (vf)SIMD_IF(a < b, a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return (vf)SIMD_IF(a > b, a, b); }
SIMD_INLINE vi vi_from_vf(vf a) { vi r; SIMD_LANES(i) r[i] = (int32_t)rintf(a[i]); return r; }
#endif

SIMD_INLINE vi vi_load_part(const int32_t *p, ptrdiff_t n) { vi r = {0}; SIMD_LANES(i) if (i < n) r[i] = p[i]; return r; }
SIMD_INLINE void vi_store_part(int32_t *p, vi a, ptrdiff_t n) { SIMD_LANES(i) if (i < n) p[i] = a[i]; }
SIMD_INLINE vi vi_min(vi a, vi b) { return SIMD_IF(a < b, a, b); }
SIMD_INLINE vi vi_max(vi a, vi b) { return SIMD_IF(a > b, a, b); }
/* Adds to each lane two products of words; of those here none leaves the range of a word. */
SIMD_INLINE vi simd_add_products(vi acc, simd_s16 a, simd_s16 b) {
#if defined(__SSE2__)
  return vi_add(acc, (vi)_mm_madd_epi16((__m128i)a, (__m128i)b));
#elif defined(__aarch64__)
  return (vi)vpadalq_s16((int32x4_t)acc, (int16x8_t)(a * b));
#else
  const vi p = (vi)(a * b);
  return vi_add(vi_add(acc, (vi)((simd_u32)p << 16) >> 16), p >> 16);
#endif
}
SIMD_INLINE vi vi_dot4(vi acc, vb u, vb s) {
  acc = simd_add_products(acc, (simd_s16)((simd_u16)u & 255), (simd_s16)((simd_u16)s << 8) >> 8);
  return simd_add_products(acc, (simd_s16)((simd_u16)u >> 8), (simd_s16)s >> 8);
}
SIMD_INLINE int32_t vi_sum(vi a) { return (int32_t)((uint32_t)a[0] + (uint32_t)a[1] + (uint32_t)a[2] + (uint32_t)a[3]); }

SIMD_INLINE vb vb_load_part(const void *p, ptrdiff_t n) { vb r = {0}; memcpy(&r, p, (size_t)n); return r; }
SIMD_INLINE void vb_store_part(void *p, vb a, ptrdiff_t n) { memcpy(p, &a, (size_t)n); }
SIMD_INLINE vb vb_min_s(vb a, vb b) { return SIMD_IF((simd_s8)a < (simd_s8)b, a, b); }
SIMD_INLINE vb vb_max_s(vb a, vb b) { return SIMD_IF((simd_s8)a > (simd_s8)b, a, b); }
#ifdef __SSE2__
SIMD_INLINE vb vb_min_u(vb a, vb b) { return (vb)_mm_min_epu8((__m128i)a, (__m128i)b); }
SIMD_INLINE vb vb_max_u(vb a, vb b) { return (vb)_mm_max_epu8((__m128i)a, (__m128i)b); }
#else
SIMD_INLINE vb vb_min_u(vb a, vb b) { return SIMD_IF((simd_u8)a < (simd_u8)b, a, b); }
SIMD_INLINE vb vb_max_u(vb a, vb b) { return SIMD_IF((simd_u8)a > (simd_u8)b, a, b); }
#endif
#define SIMD_ZIP8(FIRST)                                                                                                       \
  SIMD_SHUFFLE(simd_u8, (simd_u8)a, (simd_u8)b, FIRST, FIRST + 16, FIRST + 1, FIRST + 17, FIRST + 2, FIRST + 18, FIRST + 3,    \
               FIRST + 19, FIRST + 4, FIRST + 20, FIRST + 5, FIRST + 21, FIRST + 6, FIRST + 22, FIRST + 7, FIRST + 23)
#define SIMD_ZIP16(FIRST)                                                                                                      \
  SIMD_SHUFFLE(simd_u16, (simd_u16)a, (simd_u16)b, FIRST, FIRST + 8, FIRST + 1, FIRST + 9, FIRST + 2, FIRST + 10, FIRST + 3, FIRST + 11)
SIMD_INLINE vb vb_zip8_low(vb a, vb b) { return (vb)SIMD_ZIP8(0); }
SIMD_INLINE vb vb_zip8_high(vb a, vb b) { return (vb)SIMD_ZIP8(8); }
SIMD_INLINE vb vb_zip16_low(vb a, vb b) { return (vb)SIMD_ZIP16(0); }
SIMD_INLINE vb vb_zip16_high(vb a, vb b) { return (vb)SIMD_ZIP16(4); }
SIMD_INLINE vi simd_four(const void *p) { vi v = {0}; memcpy(&v, p, 4); v = vb_zip8_low(v, v); return vb_zip16_low(v, v); } /* each in all bytes of a lane */
SIMD_INLINE vi vi_from_s8(const void *p) { return simd_four(p) >> 24; }
SIMD_INLINE vi vi_from_u8(const void *p) { return (vi)((simd_u32)simd_four(p) >> 24); }
#ifdef __SSE2__
SIMD_INLINE __m128i simd_offset(vi a, vi b, vb zero) { return _mm_adds_epi16(_mm_packs_epi32((__m128i)a, (__m128i)b), (__m128i)zero); }
SIMD_INLINE vb vb_pack_s(vi a, vi b, vi c, vi d, vb zero) { return (vb)_mm_packs_epi16(simd_offset(a, b, zero), simd_offset(c, d, zero)); }
SIMD_INLINE vb vb_pack_u(vi a, vi b, vi c, vi d, vb zero) { return (vb)_mm_packus_epi16(simd_offset(a, b, zero), simd_offset(c, d, zero)); }
#else
/* Sums that saturate as words do, within low .. high. */
SIMD_INLINE vi simd_offset(vi a, vb zero, int low, int high) {
  const int word = ((simd_s16)zero)[0], lowest = low - word > -32768 ? low - word : -32768, highest = high - word < 32767 ? high - word : 32767;
  return vi_max(vi_min(a, vi_set1(highest)), vi_set1(lowest)) + word;
}
SIMD_INLINE vb simd_low_bytes(vi a, vi b, vi c, vi d) {
  const simd_u16 ab = SIMD_SHUFFLE(simd_u16, (simd_u16)a, (simd_u16)b, 0, 2, 4, 6, 8, 10, 12, 14), cd = SIMD_SHUFFLE(simd_u16, (simd_u16)c, (simd_u16)d, 0, 2, 4, 6, 8, 10, 12, 14);
  return (vb)SIMD_SHUFFLE(simd_u8, (simd_u8)ab, (simd_u8)cd, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
SIMD_INLINE vb vb_pack_s(vi a, vi b, vi c, vi d, vb zero) {
  return simd_low_bytes(simd_offset(a, zero, -128, 127), simd_offset(b, zero, -128, 127), simd_offset(c, zero, -128, 127), simd_offset(d, zero, -128, 127));
}
SIMD_INLINE vb vb_pack_u(vi a, vi b, vi c, vi d, vb zero) {
  return simd_low_bytes(simd_offset(a, zero, 0, 255), simd_offset(b, zero, 0, 255), simd_offset(c, zero, 0, 255), simd_offset(d, zero, 0, 255));
}
#endif
SIMD_INLINE vb vb_pack(vi a, vi b, vi c, vi d) { return vb_pack_u(a, b, c, d, vb_set1(0)); }
SIMD_INLINE vb vb_gather(const uint8_t *p, ptrdiff_t step, const int pieces) {
  uint8_t r[16];
  for (int i = 0; i < pieces; i++) memcpy(r + i * (16 / pieces), p + i * step, 16 / (size_t)pieces);
  return vb_load(r);
}
SIMD_INLINE void vb_scatter(uint8_t *p, ptrdiff_t step, vb a, const int pieces, ptrdiff_t count) {
  uint8_t r[16];
  vb_store(r, a);
  for (int i = 0; i < pieces && i < count; i++) memcpy(p + i * step, r + i * (16 / pieces), 16 / (size_t)pieces);
}
#endif
