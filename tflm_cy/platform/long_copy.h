/* memcpy and memmove of what may be long, where those of the C library take much longer than they have to. */
#ifndef TFLM_CY_LONG_COPY_H
#define TFLM_CY_LONG_COPY_H

#include <stdint.h>
#include <string.h>

#include "x86.h"

#if defined(__x86_64__) && defined(__GNUC__)
/* From some kilobytes on the C library uses REP MOVSB, which takes up to twice as long as vectors, unless the run is longer than a cache; on AMD's Zen 3
 * twenty times as long where the destination's place in its page is less than a line behind the source's. */
enum { TFLM_CY_LEAST_LOOP = 4096, TFLM_CY_MOST_LOOP = 384 * 1024, TFLM_CY_PAGE = 4096, TFLM_CY_LINE = 64 };

/* The compiler's own vectors: reading immintrin.h takes half a second in each of the many modules that copy. */
typedef char tflm_cy_bytes32 __attribute__((vector_size(32), aligned(1), may_alias));

__attribute__((target("avx2"), noinline)) static void tflm_cy_copy_bytes_avx2(char *dst, const char *src, int64_t bytes) {
#define TFLM_CY_AT(P) (*(tflm_cy_bytes32 *)(P))
  const tflm_cy_bytes32 last = TFLM_CY_AT(src + bytes - 32);
  char *const end = dst + bytes - 32;
  for (; dst + 96 < end; dst += 128, src += 128) {
    const tflm_cy_bytes32 a = TFLM_CY_AT(src), b = TFLM_CY_AT(src + 32), c = TFLM_CY_AT(src + 64), d = TFLM_CY_AT(src + 96);
    TFLM_CY_AT(dst) = a;
    TFLM_CY_AT(dst + 32) = b;
    TFLM_CY_AT(dst + 64) = c;
    TFLM_CY_AT(dst + 96) = d;
  }
  for (; dst < end; dst += 32, src += 32) TFLM_CY_AT(dst) = TFLM_CY_AT(src);
  TFLM_CY_AT(end) = last;
#undef TFLM_CY_AT
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
