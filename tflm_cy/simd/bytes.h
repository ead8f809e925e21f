/* Tables of 256 bytes. With AVX-512 VBMI a table is four registers; without, one load per byte. */
#ifndef TFLM_CY_SIMD_BYTES_H
#define TFLM_CY_SIMD_BYTES_H

static void lookup_bytes(const void *how, const void *x, void *y, int64_t n) {
  const uint8_t *table = (const uint8_t *)how, *from = (const uint8_t *)x;
  uint8_t *to = (uint8_t *)y;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) { /* one load and one store for eight; x may be y */
    uint64_t in, out;
    memcpy(&in, from + i, 8);
    out = (uint64_t)table[in & 255] | (uint64_t)table[in >> 8 & 255] << 8 | (uint64_t)table[in >> 16 & 255] << 16 |
          (uint64_t)table[in >> 24 & 255] << 24 | (uint64_t)table[in >> 32 & 255] << 32 | (uint64_t)table[in >> 40 & 255] << 40 |
          (uint64_t)table[in >> 48 & 255] << 48 | (uint64_t)table[in >> 56] << 56;
    memcpy(to + i, &out, 8);
  }
  for (; i < n; i++) to[i] = table[from[i]];
}

#if SIMD_ISA == 512
__attribute__((target("avx512vbmi"))) static void lookup_bytes_vbmi(const void *how, const void *x, void *y, int64_t n) {
  const uint8_t *table = (const uint8_t *)how, *from = (const uint8_t *)x;
  uint8_t *to = (uint8_t *)y;
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
  const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  for (int64_t i = 0; i < n; i += 64) {
    __mmask64 some = n - i >= 64 ? ~0ull : SIMD_MASK64(n - i);
    __m512i v = _mm512_maskz_loadu_epi8(some, from + i);
    __m512i low = _mm512_permutex2var_epi8(t0, v, t1), high = _mm512_permutex2var_epi8(t2, v, t3);
    _mm512_mask_storeu_epi8(to + i, some, _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high));
  }
}
#endif

typedef void (*simd_byte_kernel)(const void *, const void *, void *, int64_t);

SIMD_INLINE simd_byte_kernel best_lookup(void) {
#if SIMD_ISA == 512
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vbmi")) return lookup_bytes_vbmi;
#endif
  return lookup_bytes;
}
#endif
