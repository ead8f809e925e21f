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

/* Where the largest byte of each row is, the first one of several; flip: bits to change so that unsigned order is the order wanted. */
#if SIMD_ISA != 0
SIMD_INLINE unsigned largest_byte(vb v) {
#if SIMD_ISA == 512
  const __m256i half = _mm256_max_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
#else
  const __m256i half = v;
#endif
  __m128i m = _mm_max_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  m = _mm_xor_si128(m, _mm_set1_epi8(-1));
  return 255u - (unsigned)(_mm_extract_epi16(_mm_minpos_epu16(_mm_min_epu8(m, _mm_srli_epi16(m, 8))), 0) & 255);
}

SIMD_INLINE uint64_t equal_bytes(vb v, unsigned byte) {
#if SIMD_ISA == 512
  return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)byte));
#else
  return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8((char)byte)));
#endif
}

static void arg_rows(const uint8_t *x, int64_t rows, int64_t n, int flip, int wide, void *y) {
  uint8_t inside[VB];
  const int64_t last = (n - 1) / VB * VB;
  const uint8_t *end = x + rows * n;
  const vb change = vb_set1(flip);
  for (int i = 0; i < VB; i++) inside[i] = last + i < n ? 255 : 0;
  const vb mask = vb_load(inside);
  for (int64_t r = 0; r < rows; r++, x += n) {
    const vb loaded = vb_xor(end - (x + last) >= VB ? vb_load(x + last) : vb_load_part(x + last, n - last), change);
    const vb rest = vb_and(loaded, mask);
    vb most = rest;
    int64_t at = 0;
    for (int64_t i = 0; i < last; i += VB) most = vb_max_u(most, vb_xor(vb_load(x + i), change));
    const unsigned value = largest_byte(most);
    uint64_t found = 0;
    for (; at < last; at += VB)
      if ((found = equal_bytes(vb_xor(vb_load(x + at), change), value)) != 0) break;
    if (at == last) found = equal_bytes(rest, value); /* 0 is found in front of what lies behind the row */
    at += __builtin_ctzll(found);
    if (wide) ((int64_t *)y)[r] = at;
    else ((int32_t *)y)[r] = (int32_t)at;
  }
}
#else
static void (*const arg_rows)(const uint8_t *, int64_t, int64_t, int, int, void *) = NULL; /* the scalar definition serves */
#endif
#endif
