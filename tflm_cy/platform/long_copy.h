/* memcpy and memmove of what may be long, where those of the C library take much longer than they have to. */
#ifndef TFLM_CY_LONG_COPY_H
#define TFLM_CY_LONG_COPY_H

#include <stdint.h>
#include <string.h>

#include "x86.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* From some kilobytes on the C library uses REP MOVSB, which takes up to twice as long as vectors, unless the run is longer than a cache; on AMD's Zen 3
 * twenty times as long where the destination's place in its page is less than a line behind the source's. */
enum { TFLM_CY_LEAST_LOOP = 4096, TFLM_CY_MOST_LOOP = 384 * 1024, TFLM_CY_PAGE = 4096, TFLM_CY_LINE = 64 };

__attribute__((target("avx2"), noinline)) static void tflm_cy_copy_bytes_avx2(char *dst, const char *src, int64_t bytes) {
  const __m256i last = _mm256_loadu_si256((const __m256i *)(src + bytes - 32));
  char *const end = dst + bytes - 32;
  for (; dst + 96 < end; dst += 128, src += 128) {
    const __m256i a = _mm256_loadu_si256((const __m256i *)src), b = _mm256_loadu_si256((const __m256i *)(src + 32));
    const __m256i c = _mm256_loadu_si256((const __m256i *)(src + 64)), d = _mm256_loadu_si256((const __m256i *)(src + 96));
    _mm256_storeu_si256((__m256i *)dst, a);
    _mm256_storeu_si256((__m256i *)(dst + 32), b);
    _mm256_storeu_si256((__m256i *)(dst + 64), c);
    _mm256_storeu_si256((__m256i *)(dst + 96), d);
  }
  for (; dst < end; dst += 32, src += 32) _mm256_storeu_si256((__m256i *)dst, _mm256_loadu_si256((const __m256i *)src));
  _mm256_storeu_si256((__m256i *)end, last);
}

static inline void tflm_cy_copy_bytes(void *dst, const void *src, int64_t bytes) {
  const int follows = ((uintptr_t)dst - (uintptr_t)src) % TFLM_CY_PAGE < TFLM_CY_LINE;
  if (bytes >= TFLM_CY_LEAST_LOOP && (bytes <= TFLM_CY_MOST_LOOP || follows) && (x86_features() & X86_AVX2))
    tflm_cy_copy_bytes_avx2((char *)dst, (const char *)src, bytes);
  else if (bytes > 0) memcpy(dst, src, (size_t)bytes);
}
#else
static inline void tflm_cy_copy_bytes(void *dst, const void *src, int64_t bytes) {
  if (bytes > 0) memcpy(dst, src, (size_t)bytes);
}
#endif

static inline void tflm_cy_move_bytes(void *dst, const void *src, int64_t bytes) {
  const uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
  if (bytes <= 0) return;
  if (to - from >= (uintptr_t)bytes && from - to >= (uintptr_t)bytes) tflm_cy_copy_bytes(dst, src, bytes);
  else memmove(dst, src, (size_t)bytes);
}
#endif
