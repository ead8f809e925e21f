/* Tables of 256 bytes. With AVX-512 a table is four registers, of bytes with VBMI, else of words; with AVX2 sixteen, looked at one after the other;
 * with NEON sixteen, four at a time; else one load per byte. */
#ifndef TFLM_CY_SIMD_BYTES_H
#define TFLM_CY_SIMD_BYTES_H

#include "x86.h"

#include "simd.h"

static void lookup_bytes(const void *params, const void *x, void *y, int64_t n) {
  const uint8_t *table = (const uint8_t *)params, *from = (const uint8_t *)x;
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
__attribute__((target("avx512vbmi"))) static void lookup_bytes_vbmi(const void *params, const void *x, void *y, int64_t n) {
  const uint8_t *table = (const uint8_t *)params, *from = (const uint8_t *)x;
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

/* Of the word that a byte's value lies in: bits 1 to 6 of the byte say which one of 64, bit 7 of which half of the table, bit 0 which byte of it. */
SIMD_INLINE __m512i lookup_words(const __m512i *t, __m512i word, __mmask32 upper) {
  const __m512i low = _mm512_permutex2var_epi16(t[0], word, t[1]);
  return _mm512_mask_mov_epi16(low, upper, _mm512_permutex2var_epi16(t[2], word, t[3]));
}

SIMD_INLINE __m512i lookup_both(const __m512i *t, __m512i v) {
  const __m512i even = lookup_words(t, _mm512_srli_epi16(v, 1), _mm512_test_epi16_mask(v, _mm512_set1_epi16(0x80)));
  const __m512i odd = lookup_words(t, _mm512_srli_epi16(v, 9), _mm512_movepi16_mask(v));
  const __m512i down = _mm512_slli_epi16(_mm512_and_si512(v, _mm512_set1_epi16(1)), 3);
  const __m512i up = _mm512_srli_epi16(_mm512_andnot_si512(v, _mm512_set1_epi16(0x100)), 5);
  return _mm512_mask_mov_epi8(_mm512_srlv_epi16(even, down), 0xAAAAAAAAAAAAAAAAull, _mm512_sllv_epi16(odd, up));
}

static void lookup_bytes_words(const void *params, const void *x, void *y, int64_t n) {
  const uint8_t *table = (const uint8_t *)params, *from = (const uint8_t *)x;
  uint8_t *to = (uint8_t *)y;
  __m512i t[4];
  int64_t i = 0;
  for (int k = 0; k < 4; k++) t[k] = _mm512_loadu_si512(table + 64 * k);
  for (; i + 128 <= n; i += 128) {
    const __m512i u = _mm512_loadu_si512(from + i), v = _mm512_loadu_si512(from + i + 64);
    _mm512_storeu_si512(to + i, lookup_both(t, u));
    _mm512_storeu_si512(to + i + 64, lookup_both(t, v));
  }
  for (; i < n; i += 64) {
    const __mmask64 some = n - i >= 64 ? ~0ull : SIMD_MASK64(n - i);
    _mm512_mask_storeu_epi8(to + i, some, lookup_both(t, _mm512_maskz_loadu_epi8(some, from + i)));
  }
}
#endif

#if SIMD_ISA == 256
/* VPSHUFB looks at the lowest four bits, and gives 0 for a negative byte. So of a byte from which 16 is subtracted again and again, until it is negative,
 * the tables up to its own are seen: each holds what it differs by from the one before. The upper 128 values are another such byte. */
static void lookup_bytes_shuffled(const void *params, const void *x, void *y, int64_t n) {
  enum { LEAST = 256, PARTS = 16 };
  const uint8_t *table = (const uint8_t *)params, *from = (const uint8_t *)x;
  uint8_t *to = (uint8_t *)y;
  const vb sixteen = vb_set1(16), upper = vb_set1(-128);
  __m128i parts[PARTS];
  int64_t i = 0;
  if (n >= LEAST) {
    for (int k = 0; k < PARTS; k++) {
      parts[k] = _mm_loadu_si128((const __m128i *)(table + 16 * k));
      if (k % 8 != 0) parts[k] = _mm_xor_si128(parts[k], _mm_loadu_si128((const __m128i *)(table + 16 * (k - 1))));
    }
    for (; i + 2 * VB <= n; i += 2 * VB) {
      vb low[2], high[2], out[2];
      _Pragma("GCC unroll 2") for (int j = 0; j < 2; j++) {
        low[j] = vb_load(from + i + j * VB);
        high[j] = vb_xor(low[j], upper);
        out[j] = vb_set1(0);
      }
      _Pragma("GCC unroll 8") for (int k = 0; k < PARTS / 2; k++) {
        const vb first = _mm256_broadcastsi128_si256(parts[k]), second = _mm256_broadcastsi128_si256(parts[8 + k]);
        _Pragma("GCC unroll 2") for (int j = 0; j < 2; j++) {
          out[j] = vb_xor(out[j], vb_xor(_mm256_shuffle_epi8(first, low[j]), _mm256_shuffle_epi8(second, high[j])));
          SIMD_KEEP(out[j]); /* the compiler would keep all terms, and add them up as a tree */
          low[j] = _mm256_subs_epi8(low[j], sixteen);
          high[j] = _mm256_subs_epi8(high[j], sixteen);
        }
      }
      vb_store(to + i, out[0]);
      vb_store(to + i + VB, out[1]);
    }
  }
  lookup_bytes(params, from + i, to + i, n - i);
}
#endif

#if SIMD_ISA == 128
/* TBL gives 0 for what is beyond its four registers, TBX leaves what is there. */
static void lookup_bytes_tables(const void *params, const void *x, void *y, int64_t n) {
  enum { LEAST = 64 };
  const uint8_t *table = (const uint8_t *)params, *from = (const uint8_t *)x;
  uint8_t *to = (uint8_t *)y;
  int64_t i = 0;
  if (n >= LEAST) {
    const uint8x16x4_t t0 = vld1q_u8_x4(table), t1 = vld1q_u8_x4(table + 64), t2 = vld1q_u8_x4(table + 128), t3 = vld1q_u8_x4(table + 192);
    for (; i + VB <= n; i += VB) {
      const uint8x16_t v = vld1q_u8(from + i);
      uint8x16_t out = vqtbl4q_u8(t0, v);
      out = vqtbx4q_u8(out, t1, veorq_u8(v, vdupq_n_u8(64)));
      out = vqtbx4q_u8(out, t2, veorq_u8(v, vdupq_n_u8(128)));
      out = vqtbx4q_u8(out, t3, veorq_u8(v, vdupq_n_u8(192)));
      vst1q_u8(to + i, out);
    }
  }
  lookup_bytes(params, from + i, to + i, n - i);
}
#endif

typedef void (*simd_byte_kernel)(const void *, const void *, void *, int64_t);

SIMD_INLINE simd_byte_kernel best_lookup(void) {
#if SIMD_ISA == 512
  return x86_features() & X86_AVX512_VBMI ? lookup_bytes_vbmi : lookup_bytes_words;
#elif SIMD_ISA == 256
  return lookup_bytes_shuffled;
#elif SIMD_ISA == 128
  return lookup_bytes_tables;
#else
  return lookup_bytes;
#endif
}

/* float16 to float32, exact; a signalling NaN becomes quiet, but with NEON. */
#if SIMD_ISA == 512
static void widen_halves(const void *params, const void *x, void *y, int64_t n) {
  (void)params;
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 some = n - i >= 16 ? 0xFFFF : SIMD_MASK16(n - i);
    _mm512_mask_storeu_ps((float *)y + i, some, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(some, (const uint16_t *)x + i)));
  }
}
SIMD_INLINE simd_byte_kernel best_halves(void) { return widen_halves; }
#elif SIMD_ISA == 256
static void widen_halves(const void *params, const void *x, void *y, int64_t n) {
  int64_t i = 0;
  (void)params;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps((float *)y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)((const uint16_t *)x + i))));
  if (i < n) {
    uint16_t from[8] = {0};
    float to[8];
    memcpy(from, (const uint16_t *)x + i, (size_t)(n - i) * 2);
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)));
    memcpy((float *)y + i, to, (size_t)(n - i) * 4);
  }
}
SIMD_INLINE simd_byte_kernel best_halves(void) { return widen_halves; } /* a CPU without F16C does not get these kernels: platform/cpu.pxd */
#elif SIMD_ISA == 128
SIMD_INLINE vf widened_halves(uint16x4_t x) {
  const float32x4_t y = vcvt_f32_f16(vreinterpret_f16_u16(x));
  const uint32x4_t quiet = vbicq_u32(vdupq_n_u32(0x400000), vceqq_f32(y, y)); /* of NaN */
  return (vf)vbslq_u32(quiet, vshll_n_u16(x, 13), vreinterpretq_u32_f32(y));
}
static void widen_halves(const void *params, const void *x, void *y, int64_t n) {
  int64_t i = 0;
  (void)params;
  for (; i + VL <= n; i += VL) vf_store((float *)y + i, widened_halves(vld1_u16((const uint16_t *)x + i)));
  if (i < n) {
    uint16x4_t from = {0};
    memcpy(&from, (const uint16_t *)x + i, (size_t)(n - i) * 2);
    vf_store_part((float *)y + i, widened_halves(from), n - i);
  }
}
SIMD_INLINE simd_byte_kernel best_halves(void) { return widen_halves; }
#else
SIMD_INLINE simd_byte_kernel best_halves(void) { return NULL; } /* the scalar definition serves */
#endif

/* Where the largest byte of each row is, the first one of several; flip: bits to change so that unsigned order is the order wanted. */
#if SIMD_ISA == 128
/* A bit for each byte would take a table: four are as good. */
enum { BITS_OF_BYTE = 4 };
SIMD_INLINE unsigned largest_byte(vb v) { return vmaxvq_u8(simd_u8x16(v)); }
SIMD_INLINE uint64_t equal_bytes(vb v, unsigned byte) {
  const uint8x16_t equal = vceqq_u8(simd_u8x16(v), vdupq_n_u8((uint8_t)byte));
  return vget_lane_u64((uint64x1_t)vshrn_n_u16((uint16x8_t)equal, 4), 0);
}
#elif SIMD_ISA != 0
enum { BITS_OF_BYTE = 1 };
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
#endif

#if SIMD_ISA >= 256
/* Rows of up to SHORT_ROW bytes, VL at a time. Each byte makes a key of 16 bits, itself above 255 minus its place, so that a row's largest key
 * belongs to the first of its largest bytes. Then keys are folded, of more and more rows in a vector, until a row is a dword. */
enum { SHORT_ROW = 32 };
#if SIMD_ISA == 512
enum { ROWS_OF_KEYS = 2 };
SIMD_INLINE vb load_short_rows(const uint8_t *x, int64_t n) { return vb_gather(x, n, 2); }
/* 16 keys each of two rows and two more; 8 each of the four */
SIMD_INLINE vb fold_keys(vb a, vb b) { return _mm512_max_epu16(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD)); }
SIMD_INLINE vb fold_dwords(vb a, vb b) {
  const __m512 p = _mm512_castsi512_ps(a), q = _mm512_castsi512_ps(b);
  return _mm512_max_epu16(_mm512_castps_si512(_mm512_shuffle_ps(p, q, 0x88)), _mm512_castps_si512(_mm512_shuffle_ps(p, q, 0xDD)));
}
#else
enum { ROWS_OF_KEYS = 1 };
SIMD_INLINE vb load_short_rows(const uint8_t *x, int64_t n) { (void)n; return vb_load(x); }
SIMD_INLINE vb fold_keys(vb a, vb b) { return _mm256_max_epu16(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31)); }
SIMD_INLINE vb fold_dwords(vb a, vb b) {
  const __m256 p = _mm256_castsi256_ps(a), q = _mm256_castsi256_ps(b);
  return _mm256_max_epu16(_mm256_castps_si256(_mm256_shuffle_ps(p, q, 0x88)), _mm256_castps_si256(_mm256_shuffle_ps(p, q, 0xDD)));
}
#endif

typedef struct { vb change, even, odd, even_mask, odd_mask; } RowKeys; /* of the even and the odd bytes: what is added, what counts */

static RowKeys keys_of_rows(int64_t n, int flip) {
  uint8_t even[VB], odd[VB], even_mask[VB], odd_mask[VB];
  RowKeys k;
  for (int i = 0; i < VB; i += 2) {
    const int at = i % SHORT_ROW;
    even_mask[i] = odd_mask[i] = even[i + 1] = odd[i + 1] = 0;
    even_mask[i + 1] = at < n ? 255 : 0;
    odd_mask[i + 1] = at + 1 < n ? 255 : 0;
    even[i] = at < n ? (uint8_t)(255 - at) : 0;
    odd[i] = at + 1 < n ? (uint8_t)(254 - at) : 0;
  }
  k.change = vb_set1(flip);
  k.even = vb_load(even);
  k.odd = vb_load(odd);
  k.even_mask = vb_load(even_mask);
  k.odd_mask = vb_load(odd_mask);
  return k;
}

SIMD_INLINE vb row_keys(const RowKeys *k, vb v) {
  v = vb_xor(v, k->change);
  return SIMD_BOTH(max_epu16, vb_xor(vb_and(SIMD_BOTH(slli_epi16, v, 8), k->even_mask), k->even), vb_xor(vb_and(v, k->odd_mask), k->odd));
}

SIMD_INLINE vi arg_short_rows(const RowKeys *k, const uint8_t *x, int64_t n) {
  const int64_t step = ROWS_OF_KEYS * n;
  vb eight[4], four[2]; /* keys of a row */
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
    eight[i] = fold_keys(row_keys(k, load_short_rows(x + 2 * i * step, n)), row_keys(k, load_short_rows(x + (2 * i + 1) * step, n)));
  _Pragma("GCC unroll 2") for (int i = 0; i < 2; i++)
    four[i] = SIMD_BOTH(max_epu16, SIMD_BOTH(unpacklo_epi64, eight[2 * i], eight[2 * i + 1]), SIMD_BOTH(unpackhi_epi64, eight[2 * i], eight[2 * i + 1]));
  const vb two = fold_dwords(four[0], four[1]), one = SIMD_BOTH(max_epu16, two, SIMD_BOTH(srli_epi32, two, 16)), low = vi_set1(255);
  return vb_unlane(vb_xor(vb_and(one, low), low));
}

#endif

#if SIMD_ISA != 0
static void arg_rows(const uint8_t *x, int64_t rows, int64_t n, int flip, int wide, void *y) {
  uint8_t inside[VB];
  const int64_t last = (n - 1) / VB * VB;
  const uint8_t *end = x + rows * n;
  const vb change = vb_set1(flip);
  for (int i = 0; i < VB; i++) inside[i] = last + i < n ? 255 : 0;
  const vb mask = vb_load(inside);
  int64_t r = 0;
#if SIMD_ISA >= 256
  if (n <= SHORT_ROW && rows >= VL) {
    const RowKeys k = keys_of_rows(n, flip);
    for (; rows - r >= VL && end - x >= (VL - 1) * n + SHORT_ROW; r += VL, x += VL * n) {
      const vi at = arg_short_rows(&k, x, n);
      int32_t places[VL];
      if (!wide) {
        vi_store((int32_t *)y + r, at);
        continue;
      }
      vi_store(places, at);
      for (int i = 0; i < VL; i++) ((int64_t *)y)[r + i] = places[i];
    }
  }
#endif
  for (; r < rows; r++, x += n) {
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
    at += __builtin_ctzll(found) / BITS_OF_BYTE;
    if (wide) ((int64_t *)y)[r] = at;
    else ((int32_t *)y)[r] = (int32_t)at;
  }
}
#else
static void (*const arg_rows)(const uint8_t *, int64_t, int64_t, int, int, void *) = NULL; /* the scalar definition serves */
#endif

#endif
