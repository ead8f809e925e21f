/* A step of products of bytes: four values of x, taken as vi_dot4 takes them, meet four taps of each column of a vector. The kernels' own copies of x
 * hold PARTS8 bytes per value.
 *
 * With AVX2 alone a step has two parts, of two taps each, and values are int16: VPMADDUBSW would saturate, and what makes int16 of bytes would take as
 * long as the products if each tile did it. Packed weights stay bytes: the first two taps of a vector's columns, then the other two. */
#ifndef TFLM_CY_SIMD_STEP8_H
#define TFLM_CY_SIMD_STEP8_H

#include "simd.h"

/* The bits of an 8-bit value to change, and what is then added to it, so that vi_dot4 takes it. */
SIMD_INLINE int value_flip(int is_signed) { return is_signed ? SIMD_ABOVE : 128 - SIMD_ABOVE; }
SIMD_INLINE int value_offset(int is_signed) { return is_signed ? SIMD_ABOVE : SIMD_ABOVE - 128; }

#if SIMD_ISA == 256 && !defined(SIMD_VNNI)
#define PARTS8 2
SIMD_INLINE vb taps8(const void *w, const int part) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w + part)); }
SIMD_INLINE vi dot8(vi acc, vb x, vb taps) {
  acc = _mm256_add_epi32(acc, _mm256_madd_epi16(x, taps));
  __asm__("" : "+x"(acc)); /* else the compiler adds up both parts' products first, for which a tile has no registers */
  return acc;
}

/* For dwords of 0 or 1 in each byte: the ones that a part counts. */
SIMD_INLINE vb ones8(int32_t ones, const int part) {
  const int32_t two = ones >> 16 * part;
  return _mm256_set1_epi32((two & 1) | (two & 0x100) << 8);
}

/* From dwords of four taps, one per column, to parts; n bytes, whole vectors. */
static void part_taps8(uint8_t *w, ptrdiff_t n) {
  const vb pairs = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  for (ptrdiff_t i = 0; i < n; i += VB) vb_store(w + i, _mm256_permute4x64_epi64(_mm256_shuffle_epi8(vb_load(w + i), pairs), 0xD8));
}

/* y = x with some bits changed. y may begin n bytes before x. */
static void copy_values8(const uint8_t *x, int flip, ptrdiff_t n, uint8_t *y) {
  const __m128i change = _mm_set1_epi8((char)flip);
  ptrdiff_t i = 0;
  for (; i + 16 <= n; i += 16) vb_store(y + 2 * i, _mm256_cvtepu8_epi16(_mm_xor_si128(_mm_loadu_si128((const __m128i *)(x + i)), change)));
  if (i < n) vb_store_part(y + 2 * i, _mm256_cvtepu8_epi16(_mm_xor_si128(simd_load_few(x + i, n - i), change)), 2 * (n - i));
}

static void fill_values8(uint8_t *y, int value, ptrdiff_t n) {
  const uint16_t wide = (uint8_t)value;
  for (ptrdiff_t i = 0; i < n; i++) memcpy(y + 2 * i, &wide, 2);
}

#else
#define PARTS8 1
SIMD_INLINE vb taps8(const void *w, const int part) { (void)part; return vb_load(w); }
SIMD_INLINE vi dot8(vi acc, vb x, vb taps) { return vi_dot4(acc, x, taps); }
SIMD_INLINE vb ones8(int32_t ones, const int part) { (void)part; return vi_set1(ones); }
SIMD_INLINE void part_taps8(uint8_t *w, ptrdiff_t n) { (void)w; (void)n; }

static void copy_values8(const uint8_t *x, int flip, ptrdiff_t n, uint8_t *y) {
  const vb change = vb_set1(flip);
  ptrdiff_t i = 0;
  if (flip == 0) {
    memcpy(y, x, (size_t)n);
    return;
  }
  for (; i + VB <= n; i += VB) vb_store(y + i, vb_xor(vb_load(x + i), change));
  if (i < n) vb_store_part(y + i, vb_xor(vb_load_part(x + i, n - i), change), n - i);
}

SIMD_INLINE void fill_values8(uint8_t *y, int value, ptrdiff_t n) { memset(y, value, (size_t)n); }
#endif

/* The sum of n values of a copy. */
SIMD_INLINE int32_t sum_values8(const uint8_t *x, ptrdiff_t n) {
  const vb ones = PARTS8 > 1 ? vb_set1_16(1) : vb_set1(1);
  const ptrdiff_t bytes = n * PARTS8;
  vi sum = vi_set1(0);
  ptrdiff_t i = 0;
  for (; i + VB <= bytes; i += VB) sum = dot8(sum, vb_load(x + i), ones);
  if (i < bytes) sum = dot8(sum, vb_load_part(x + i, bytes - i), ones);
  return vi_sum(sum);
}
#endif
