/* What elementwise_i8.pxd has for the channels of images: sums, averages, the largest of windows, pixels between two others. */
#ifndef TFLM_CY_SIMD_IMAGE_I8_H
#define TFLM_CY_SIMD_IMAGE_I8_H

#include "elementwise_i8.h"
#include "folds.h"

#if SIMD_ISA == 512
/* NV times 32 columns, the last ones in part; sums of up to 256 rows fit 16 bits once the bytes are signed. */
SIMD_INLINE void sum_strip8(const int NV, const uint8_t *x, int64_t rows, int64_t row, vb flip, int32_t offset, __mmask32 last, int32_t *sums) {
  const __m256i change = _mm512_castsi512_si256(flip);
  for (int64_t r = 0; r < rows;) {
    const int64_t end = rows - r > 256 ? r + 256 : rows;
    __m512i short_sums[4];
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) short_sums[j] = _mm512_setzero_si512();
    for (; r < end; r++)
#pragma GCC unroll 4
      for (int j = 0; j < NV; j++) {
        const uint8_t *at = x + r * row + 32 * j;
        const __m256i v = j < NV - 1 ? _mm256_loadu_si256((const __m256i *)at) : _mm256_maskz_loadu_epi8(last, at);
        short_sums[j] = _mm512_add_epi16(short_sums[j], _mm512_cvtepi8_epi16(_mm256_xor_si256(v, change)));
      }
    const vi more = vi_set1(end == rows ? offset : 0);
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) {
      const __mmask32 some = j < NV - 1 ? ~0u : last;
      int32_t *to = sums + 32 * j;
      const vi low = vi_add(_mm512_maskz_loadu_epi32((__mmask16)some, to), more);
      const vi high = vi_add(_mm512_maskz_loadu_epi32((__mmask16)(some >> 16), to + 16), more);
      _mm512_mask_storeu_epi32(to, (__mmask16)some, vi_add(low, _mm512_cvtepi16_epi32(_mm512_castsi512_si256(short_sums[j]))));
      _mm512_mask_storeu_epi32(to + 16, (__mmask16)(some >> 16), vi_add(high, _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(short_sums[j], 1))));
    }
  }
}

static void sum_rows8(const uint8_t *x, int64_t rows, int64_t columns, int is_signed, int32_t *sums) {
  const vb flip = vb_set1(is_signed ? 0 : -128);
  const int64_t together = rows_together(rows, columns);
  for (; rows > 0; rows -= together, x += together * columns) {
    const int64_t n = rows < together ? rows : together;
    const int32_t offset = is_signed ? 0 : (int32_t)(128u * (uint32_t)n);
    for (int64_t c = 0; c < columns; c += 128) {
      const int64_t left = columns - c < 128 ? columns - c : 128;
      const __mmask32 last = _bzhi_u32(~0u, (unsigned)((left - 1) % 32 + 1));
      if (left > 96) sum_strip8(4, x + c, n, columns, flip, offset, last, sums + c);
      else if (left > 64) sum_strip8(3, x + c, n, columns, flip, offset, last, sums + c);
      else if (left > 32) sum_strip8(2, x + c, n, columns, flip, offset, last, sums + c);
      else sum_strip8(1, x + c, n, columns, flip, offset, last, sums + c);
    }
  }
}
#else
#if SIMD_ISA == 256
FOLD_STRIPS(wide_sum_s8, int8_t, uint32_t, FOLD_SUM, 16)
FOLD_STRIPS(wide_sum_u8, uint8_t, uint32_t, FOLD_SUM, 16)

/* t = sums and VB columns of at most 128 rows: two rows side by side become sums of 16 bits. */
SIMD_INLINE void sum_strip8(const uint8_t *x, int64_t rows, int64_t step, const int is_signed, const int32_t *sums, int32_t *t) {
  const __m256i ones = _mm256_set1_epi8(1), none = _mm256_setzero_si256();
  __m256i low = none, high = none;
  for (int64_t r = 0; r < rows; r += 2) {
    const __m256i a = vb_load(x + r * step), b = r + 1 < rows ? vb_load(x + (r + 1) * step) : none;
    const __m256i left = _mm256_unpacklo_epi8(a, b), right = _mm256_unpackhi_epi8(a, b);
    low = _mm256_add_epi16(low, is_signed ? _mm256_maddubs_epi16(ones, left) : _mm256_maddubs_epi16(left, ones));
    high = _mm256_add_epi16(high, is_signed ? _mm256_maddubs_epi16(ones, right) : _mm256_maddubs_epi16(right, ones));
  }
  vi_store(t, vi_add(vi_load(sums), _mm256_cvtepi16_epi32(_mm256_castsi256_si128(low))));
  vi_store(t + 8, vi_add(vi_load(sums + 8), _mm256_cvtepi16_epi32(_mm256_castsi256_si128(high))));
  vi_store(t + 16, vi_add(vi_load(sums + 16), _mm256_cvtepi16_epi32(_mm256_extracti128_si256(low, 1))));
  vi_store(t + 24, vi_add(vi_load(sums + 24), _mm256_cvtepi16_epi32(_mm256_extracti128_si256(high, 1))));
}
SIMD_INLINE void sum_strips8(const uint8_t *x, int64_t rows, int64_t columns, const int is_signed, int32_t *sums) {
  int32_t last[VB];
  sum_strip8(x + columns - VB, rows, columns, is_signed, sums + columns - VB, last);
  for (int64_t c = 0; c + VB < columns; c += VB) sum_strip8(x + c, rows, columns, is_signed, sums + c, sums + c);
  memcpy(sums + columns - VB, last, sizeof last);
}
SIMD_INLINE void sum_columns8(const uint8_t *x, int64_t rows, int64_t columns, const int is_signed, int32_t *sums) {
  const int64_t together = columns > 4 * VB ? rows_together(rows, columns) : 128;
  if (columns >= VB)
    for (; rows > 0; rows -= together, x += together * columns) sum_strips8(x, rows < together ? rows : together, columns, is_signed, sums);
  else if (columns >= 16 && is_signed) wide_sum_s8_strips_16((const int8_t *)x, rows, columns, (uint32_t *)sums);
  else if (columns >= 16) wide_sum_u8_strips_16(x, rows, columns, (uint32_t *)sums);
  else
    for (; rows > 0; rows--, x += columns)
      for (int64_t c = 0; c < columns; c++) sums[c] = (int32_t)((uint32_t)sums[c] + (uint32_t)(is_signed ? (int32_t)(int8_t)x[c] : (int32_t)x[c]));
}
static void sum_rows8(const uint8_t *x, int64_t rows, int64_t columns, int is_signed, int32_t *sums) {
  if (is_signed) sum_columns8(x, rows, columns, 1, sums);
  else sum_columns8(x, rows, columns, 0, sums);
}
#else
FOLD_COLUMNS(wide_sum_s8, int8_t, uint32_t, FOLD_SUM, VB, 32)
FOLD_COLUMNS(wide_sum_u8, uint8_t, uint32_t, FOLD_SUM, VB, 32)
static void sum_rows8(const uint8_t *x, int64_t rows, int64_t columns, int is_signed, int32_t *sums) {
  (is_signed ? wide_sum_s8_columns : wide_sum_u8_columns)(x, rows, columns, sums);
}
#endif
#endif

/* From VB - n on, n bytes are set and then VB - n are not; from VB + n on, n bytes that are not set come first and n set ones behind them. */
static const uint8_t sum_masks8[3 * VB] = {[0 ... VB - 1] = 255, [2 * VB ... 3 * VB - 1] = 255};

/* a + the sums of some bytes without a sign, in lanes of 32 bits that add up to the sum of all. */
#if SIMD_ISA == 256
SIMD_INLINE vi vi_add_bytes(vi a, vb v) { return vi_add(a, _mm256_sad_epu8(v, _mm256_setzero_si256())); }
#else
SIMD_INLINE vi vi_add_bytes(vi a, vb v) { return vi_dot4(a, v, vb_set1(1)); }
#endif

/* Rows that are shorter than a vector are read with what follows them. */
static void sum_each_row8(const uint8_t *x, int64_t rows, int64_t n, int is_signed, int32_t *sums) {
  const vb flip = vb_set1(value_flip(is_signed));
  const int64_t rest = n % VB;
  const vb some = vb_load(sum_masks8 + (n < VB ? VB - rest : VB + rest));
  const uint32_t offset = (uint32_t)value_offset(is_signed) * (uint32_t)n;
  int64_t r = 0;
  for (; r < rows && (rows - r) * n >= VB; r++, x += n) {
    vi a = vi_set1(0), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + 4 * VB <= n; i += 4 * VB) {
      a = vi_add_bytes(a, vb_xor(vb_load(x + i), flip));
      b = vi_add_bytes(b, vb_xor(vb_load(x + i + VB), flip));
      c = vi_add_bytes(c, vb_xor(vb_load(x + i + 2 * VB), flip));
      d = vi_add_bytes(d, vb_xor(vb_load(x + i + 3 * VB), flip));
    }
    for (; i + VB <= n; i += VB) a = vi_add_bytes(a, vb_xor(vb_load(x + i), flip));
    if (rest) b = vi_add_bytes(b, vb_and(vb_xor(vb_load(x + (n < VB ? 0 : n - VB)), flip), some));
    sums[r] = (int32_t)((uint32_t)sums[r] + (uint32_t)vi_sum(vi_add(vi_add(a, b), vi_add(c, d))) - offset);
  }
  for (; r < rows; r++, x += n)
    for (int64_t i = 0; i < n; i++) sums[r] = (int32_t)((uint32_t)sums[r] + (uint32_t)(is_signed ? (int32_t)(int8_t)x[i] : (int32_t)x[i]));
}

#ifdef __aarch64__
SIMD_INLINE vf average_of8(vf sum, vf scale, vf offset) { return vf_fma(sum, scale, offset); }
#else
SIMD_INLINE vf average_of8(vf sum, vf scale, vf offset) { return vf_add(vf_mul(sum, scale), offset); }
#endif

/* Halves go away from 0: the rest, doubled, is 1 or -1 from there on. */
SIMD_INLINE void average8(const int32_t *sums, float scale, float offset, const int is_signed, uint8_t *y, int64_t n) {
  const vf s = vf_set1(scale), o = vf_set1(offset), least = vf_set1(is_signed ? -128 : 0), most = vf_set1(is_signed ? 127 : 255);
  for (int64_t i = 0; i < n; i += VB) {
    vi v[4];
    FOUR {
      const int64_t here = n - i <= j * VL ? 0 : n - i - j * VL < VL ? n - i - j * VL : VL;
      const vf x = vf_min(vf_max(average_of8(vf_from_vi(vi_load_part(sums + i + j * VL, here)), s, o), least), most);
      const vi whole = vi_cut_vf(x);
      const vf rest = vf_sub(x, vf_from_vi(whole));
      v[j] = vi_add(whole, vi_cut_vf(vf_add(rest, rest)));
    }
    const vb zero = vb_set1(0), out = vb_unlane(is_signed ? vb_pack_s(v[0], v[1], v[2], v[3], zero) : vb_pack_u(v[0], v[1], v[2], v[3], zero));
    if (n - i >= VB) vb_store(y + i, out);
    else vb_store_part(y + i, out, n - i);
  }
}

static void average_sums8(const int32_t *sums, float scale, float offset, int is_signed, uint8_t *y, int64_t n) {
  if (is_signed) average8(sums, scale, offset, 1, y, n);
  else average8(sums, scale, offset, 0, y, n);
}

/* 16 to 32 bytes: the first 16 and the last 16. AVX-512 loads parts of vectors as fast. */
#if SIMD_ISA == 256
enum { LEAST_ENDS = 16 };
SIMD_INLINE vb vb_load_ends(const uint8_t *p, int64_t n) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)), _mm_loadu_si128((const __m128i *)(p + n - 16)), 1);
}
SIMD_INLINE void vb_store_ends(uint8_t *p, vb a, int64_t n) {
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(a));
  _mm_storeu_si128((__m128i *)(p + n - 16), _mm256_extracti128_si256(a, 1));
}
#else
enum { LEAST_ENDS = VB };
SIMD_INLINE vb vb_load_ends(const uint8_t *p, int64_t n) { return vb_load_part(p, n); }
SIMD_INLINE void vb_store_ends(uint8_t *p, vb a, int64_t n) { vb_store_part(p, a, n); }
#endif

/* The largest of rows x columns taps, in `vectors` from c on, all of them whole where `left` says so; the taps of one row lie `pixel` bytes apart. */
SIMD_INLINE void largest_of_vectors8(const int vectors, const uint8_t *x, int64_t rows, int64_t row_bytes, int64_t columns, int64_t pixel, int64_t left,
                                     const int is_signed, vb least, vb most, uint8_t *y) {
  vb v[4] = {least, least, least, least};
  for (int64_t r = 0; r < rows; r++) {
    const uint8_t *from = x + r * row_bytes;
    for (int64_t i = 0; i < columns; i++, from += pixel) {
      _Pragma("GCC unroll 4") for (int j = 0; j < vectors; j++) {
        const vb tap = left >= VB ? vb_load(from + j * VB) : left >= LEAST_ENDS ? vb_load_ends(from, left) : vb_load_part(from, left);
        v[j] = is_signed ? vb_max_s(v[j], tap) : vb_max_u(v[j], tap);
      }
    }
  }
  _Pragma("GCC unroll 4") for (int j = 0; j < vectors; j++) {
    v[j] = is_signed ? vb_min_s(v[j], most) : vb_min_u(v[j], most);
    if (left >= VB) vb_store(y + j * VB, v[j]);
    else if (left >= LEAST_ENDS) vb_store_ends(y, v[j], left);
    else vb_store_part(y, v[j], left);
  }
}

/* The last vector of a pixel that has one ends with it. */
SIMD_INLINE void largest_of_window8(const uint8_t *x, int64_t rows, int64_t row_bytes, int64_t columns, int64_t pixel, int64_t channels,
                                    const int is_signed, vb least, vb most, uint8_t *y) {
  int64_t begin = 0;
  for (; begin + 4 * VB <= channels; begin += 4 * VB)
    largest_of_vectors8(4, x + begin, rows, row_bytes, columns, pixel, VB, is_signed, least, most, y + begin);
  for (; begin < channels; begin += VB) {
    const int64_t c = channels - begin < VB && channels >= VB ? channels - VB : begin;
    largest_of_vectors8(1, x + c, rows, row_bytes, columns, pixel, channels - c, is_signed, least, most, y + c);
  }
}

/* `count` windows, `step` bytes from one to the next. A single column is a single row whose taps lie further apart. */
static void largest8(const uint8_t *x, int64_t rows, int64_t row_bytes, int64_t columns, int64_t channels, int is_signed, int32_t low,
                     int32_t high, int64_t count, int64_t step, uint8_t *y) {
  const vb least = vb_set1(low), most = vb_set1(high);
  int64_t pixel = channels;
  if (columns == 1) {
    columns = rows;
    pixel = row_bytes;
    rows = 1;
  }
  for (; count > 0; count--, x += step, y += channels) {
    if (is_signed) largest_of_window8(x, rows, row_bytes, columns, pixel, channels, 1, least, most, y);
    else largest_of_window8(x, rows, row_bytes, columns, pixel, channels, 0, least, most, y);
  }
}

static void blend_rows8(const uint8_t *top, const uint8_t *bottom, int64_t n, int is_signed, int32_t weight, int32_t *line) {
  int64_t i = 0;
#if SIMD_ISA >= 256
  const __m256i weights = _mm256_set1_epi32((2048 - weight) | weight << 16);
  for (; i + 16 <= n; i += 16) {
    const __m128i above = _mm_loadu_si128((const __m128i *)(top + i)), below = _mm_loadu_si128((const __m128i *)(bottom + i));
    const __m256i a = is_signed ? _mm256_cvtepi8_epi16(above) : _mm256_cvtepu8_epi16(above);
    const __m256i b = is_signed ? _mm256_cvtepi8_epi16(below) : _mm256_cvtepu8_epi16(below);
    const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weights), high = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weights);
    _mm256_storeu_si256((__m256i *)(line + i), _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(line + i + 8), _mm256_permute2x128_si256(low, high, 0x31));
  }
  if (i + 8 <= n) {
    const __m128i above = _mm_loadl_epi64((const __m128i *)(top + i)), below = _mm_loadl_epi64((const __m128i *)(bottom + i));
    const __m128i a = is_signed ? _mm_cvtepi8_epi16(above) : _mm_cvtepu8_epi16(above);
    const __m128i b = is_signed ? _mm_cvtepi8_epi16(below) : _mm_cvtepu8_epi16(below);
    _mm_storeu_si128((__m128i *)(line + i), _mm_madd_epi16(_mm_unpacklo_epi16(a, b), _mm256_castsi256_si128(weights)));
    _mm_storeu_si128((__m128i *)(line + i + 4), _mm_madd_epi16(_mm_unpackhi_epi16(a, b), _mm256_castsi256_si128(weights)));
    i += 8;
  }
#else
  const vi w = vi_set1(weight), rest = vi_set1(2048 - weight);
  for (; i + VL <= n; i += VL) vi_store(line + i, vi_add(vi_mul(widen8(top + i, is_signed), rest), vi_mul(widen8(bottom + i, is_signed), w)));
#endif
  for (; i < n; i++) {
    const int32_t t = is_signed ? (int32_t)(int8_t)top[i] : (int32_t)top[i], b = is_signed ? (int32_t)(int8_t)bottom[i] : (int32_t)bottom[i];
    line[i] = t * 2048 + (b - t) * weight;
  }
}

/* base + difference * weight with weights of 11 bits; the difference has 20, and its upper 16 and lower 4 count apart. */
#if SIMD_ISA < 256
SIMD_INLINE vi blend_difference(vi d) { return d; }
SIMD_INLINE vi blend_weight(int32_t w) { return vi_set1(w); }
SIMD_INLINE vi blend8(vi base, vi difference, vi w) { return vi_add(base, vi_mul(difference, w)); }
SIMD_INLINE vb narrow_blend(vi a, vi b, vi c, vi d, const int is_signed) {
  return is_signed ? vb_pack_s(a, b, c, d, vb_set1_16(0)) : vb_pack_u(a, b, c, d, vb_set1_16(0));
}
#else
SIMD_INLINE vi blend_difference(vi d) {
  return vi_add(vb_and(d, vi_set1(15)), SIMD_BOTH(slli_epi32, SIMD_BOTH(srai_epi32, d, 4), 16));
}
SIMD_INLINE vi blend_weight(int32_t w) { return vi_set1(w | w << 20); }
#if SIMD_ISA == 512
SIMD_INLINE vi blend8(vi base, vi difference, vi w) { return _mm512_dpwssd_epi32(base, difference, w); }
#else
SIMD_INLINE vi blend8(vi base, vi difference, vi w) { return vi_add(base, _mm256_madd_epi16(difference, w)); }
#endif
SIMD_INLINE vb narrow_blend(vi a, vi b, vi c, vi d, const int is_signed) {
  const vb low = SIMD_BOTH(packs_epi32, a, b), high = SIMD_BOTH(packs_epi32, c, d);
  return vb_unlane(is_signed ? SIMD_BOTH(packs_epi16, low, high) : SIMD_BOTH(packus_epi16, low, high));
}
#endif

/* n <= pieces * VL bytes; `whole`: what lies behind them may be written. */
SIMD_INLINE void store_blend(uint8_t *y, vb out, int64_t n, const int pieces, const int whole) {
#if SIMD_ISA == 512
  (void)whole;
  if (pieces == 1) _mm_mask_storeu_epi8(y, (__mmask16)_bzhi_u32(0xFFFFu, (unsigned)n), _mm512_castsi512_si128(out));
  else if (pieces == 2) _mm256_mask_storeu_epi8(y, _bzhi_u32(~0u, (unsigned)n), _mm512_castsi512_si256(out));
  else vb_store_part(y, out, n);
#else
  (void)pieces;
  if (whole) vb_store(y, out);
  else vb_store_part(y, out, n);
#endif
}

/* n <= pieces * VL channels from c on of a line of pixels. columns: per pixel of y, the pixels of the line left and right of it, and the
 * second's weight, at most 2048. Neighbours of y often lie between the same two. */
SIMD_INLINE void blend_channels8(const int32_t *line, const int32_t *columns, int64_t width, int64_t depth, int64_t c, int64_t n,
                                 const int pieces, const int is_signed, uint8_t *y) {
  vi base[4] = {vi_set1(0), vi_set1(0), vi_set1(0), vi_set1(0)}, difference[4] = {base[0], base[0], base[0], base[0]};
  const uint8_t *end = y + width * depth;
  int32_t first = -1, second = -1;
  line += c;
  y += c;
  for (int64_t x = 0; x < width; x++, columns += 3, y += depth) {
    const int32_t left = columns[columns[2] >> 11], right = columns[1];
    const vi w = blend_weight(columns[2] & 2047);
    vi v[4] = {base[0], base[0], base[0], base[0]};
    if (left != first || right != second) {
      _Pragma("GCC unroll 4") for (int j = 0; j < pieces; j++) {
        const int64_t here = n <= j * VL ? 0 : n - j * VL < VL ? n - j * VL : VL;
        const vi a = vi_load_part(line + left * depth + j * VL, here), b = vi_load_part(line + right * depth + j * VL, here);
        base[j] = vi_add(vi_mul(a, vi_set1(2048)), vi_set1(1 << 21));
        difference[j] = blend_difference(vi_sub(b, a));
      }
      first = left;
      second = right;
    }
    _Pragma("GCC unroll 4") for (int j = 0; j < pieces; j++) v[j] = vi_sra(blend8(base[j], difference[j], w), 22);
    if (pieces < 3) v[2] = v[0], v[3] = v[1];
    store_blend(y, narrow_blend(v[0], v[1], v[2], v[3], is_signed), n, pieces, depth <= VB && end - y >= VB);
  }
}

SIMD_INLINE void blend_line8(const int32_t *line, const int32_t *columns, int64_t width, int64_t depth, const int is_signed, uint8_t *y) {
  for (int64_t c = 0; c < depth; c += VB) {
    const int64_t n = depth - c;
    if (n <= VL) blend_channels8(line, columns, width, depth, c, n, 1, is_signed, y);
    else if (n <= 2 * VL) blend_channels8(line, columns, width, depth, c, n, 2, is_signed, y);
    else blend_channels8(line, columns, width, depth, c, n < VB ? n : VB, 4, is_signed, y);
  }
}

static void blend_columns8(const int32_t *line, const int32_t *columns, int64_t width, int64_t depth, int is_signed, uint8_t *y) {
  if (is_signed) blend_line8(line, columns, width, depth, 1, y);
  else blend_line8(line, columns, width, depth, 0, y);
}
#endif
