/* What tiles of x are loaded from where it is not x itself: copies of windows; and the sums of their bytes. Part of amx.h. */
#ifndef TFLM_CY_SIMD_AMX_WINDOWS_H
#define TFLM_CY_SIMD_AMX_WINDOWS_H

/* n windows of `rows` times `bytes` bytes, whole ones `y_row` apart. Copies reach behind their rows, and what they write there is written over or
 * multiplied by 0. */
SIMD_INLINE void amx_gather(const int wide, const uint8_t *x, ptrdiff_t x_row, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t bytes,
                            ptrdiff_t n, uint8_t *y, ptrdiff_t y_row) {
  for (ptrdiff_t i = 0; i < n; i++, x += stride, y += y_row)
    for (ptrdiff_t r = 0; r < rows; r++) {
      if (wide) _mm256_storeu_si256((__m256i *)(y + r * bytes), _mm256_loadu_si256((const __m256i *)(x + r * x_row)));
      else _mm_storeu_si128((__m128i *)(y + r * bytes), _mm_loadu_si128((const __m128i *)(x + r * x_row)));
    }
}

static void gather_windows(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t bytes, ptrdiff_t n, uint8_t *y,
                           ptrdiff_t y_row) {
  if (bytes > 16) amx_gather(1, x, x_row, stride, rows, bytes, n, y, y_row);
  else if (rows == 3) amx_gather(0, x, x_row, stride, 3, bytes, n, y, y_row);
  else amx_gather(0, x, x_row, stride, rows, bytes, n, y, y_row);
}

/* One window of which some rows, or columns, lie outside of the image: rows `first` to `end` and `valid` bytes behind `before` are in it. */
static void gather_clipped(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t rows, ptrdiff_t first, ptrdiff_t end, ptrdiff_t bytes, ptrdiff_t before,
                           ptrdiff_t valid, int zero, uint8_t *y) {
  const __mmask32 inside = _bzhi_u32(~0u, (unsigned)(before + valid)) & ~_bzhi_u32(~0u, (unsigned)before);
  const __m256i fill = _mm256_set1_epi8((char)zero);
  for (ptrdiff_t r = 0; r < rows; r++) {
    const __m256i row = r < first || r >= end ? fill : _mm256_mask_loadu_epi8(fill, inside, x + r * x_row);
    if (bytes > 16) _mm256_storeu_si256((__m256i *)(y + r * bytes), row);
    else _mm_storeu_si128((__m128i *)(y + r * bytes), _mm256_castsi256_si128(row));
  }
}

/* terms = factor times the sum of each window's bytes; ones: per step a tile of 1 where a tap is. */
static void window_sums(const Panel *p, const int8_t *ones, int32_t factor, Positions *m, ptrdiff_t count) {
  int32_t sums[256] __attribute__((aligned(64)));
  const __m512i column = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(16));
  for (ptrdiff_t i = 0; i < count; i++) {
    _tile_zero(0);
    for (ptrdiff_t k = 0; k < p->steps; k++) {
      _tile_loadd(4, m[i].x + p->offsets[k], p->x_row);
      _tile_loadd(5, ones + k * 1024, 64);
      _tile_dpbusd(0, 4, 5);
    }
    _tile_stored(0, sums, 64);
    vi_store(m[i].terms, vi_mul(_mm512_i32gather_epi32(column, sums, 4), vi_set1(factor)));
  }
}
#endif
