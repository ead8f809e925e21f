/* Matrices of elements of 1, 2, 4 or 8 bytes, transposed: y[q][c] = x[c][q] for `columns` rows of x of `rows` elements each; rows lie x_row and y_row
 * bytes apart.
 *
 * A block is 16 bytes of each of n rows of x, n being the elements in 16 bytes. Registers are interleaved, the first half with the second, log2(n)
 * times over: that transposes a block in each 16 bytes of a vector at once. Where x has rows enough, the blocks of a vector lie side by side in y, and whole
 * vectors are stored; where it has few, one below the other. The last block of a row or column overlaps the one before. Rows are taken in tiles, so
 * that the lines and pages that are written are still near when the next columns come. */
#ifndef TFLM_CY_SIMD_TRANSPOSE_BLOCKS_H
#define TFLM_CY_SIMD_TRANSPOSE_BLOCKS_H

#include "simd.h"

#if SIMD_ISA >= 128
enum { BLOCK_BYTES = 16, BLOCKS = VB / BLOCK_BYTES, TILE_BYTES = 2048, FEW = 256 };
#define BLOCK_UNROLLED _Pragma("GCC unroll 16") /* registers have no index */

#if SIMD_ISA == 128
typedef vb block_row;
SIMD_INLINE block_row block_load(const uint8_t *p) { return vb_load(p); }
SIMD_INLINE void block_store(uint8_t *p, block_row a) { vb_store(p, a); }
SIMD_INLINE block_row block_of(vb a, const int k) { (void)k; return a; }
#define BLOCK_ZIP(NAME, HALF) vb_zip##NAME##_##HALF
#else
typedef __m128i block_row;
SIMD_INLINE block_row block_load(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)p); }
SIMD_INLINE void block_store(uint8_t *p, block_row a) { _mm_storeu_si128((__m128i *)p, a); }
#if SIMD_ISA == 512
SIMD_INLINE block_row block_of(vb a, const int k) {
  return k == 0 ? _mm512_castsi512_si128(a) : k == 1 ? _mm512_extracti32x4_epi32(a, 1) : k == 2 ? _mm512_extracti32x4_epi32(a, 2) : _mm512_extracti32x4_epi32(a, 3);
}
#else
SIMD_INLINE block_row block_of(vb a, const int k) { return k == 0 ? _mm256_castsi256_si128(a) : _mm256_extracti128_si256(a, 1); }
#endif
#define BLOCK_ZIP8_low _mm_unpacklo_epi8
#define BLOCK_ZIP8_high _mm_unpackhi_epi8
#define BLOCK_ZIP16_low _mm_unpacklo_epi16
#define BLOCK_ZIP16_high _mm_unpackhi_epi16
#define BLOCK_ZIP32_low _mm_unpacklo_epi32
#define BLOCK_ZIP32_high _mm_unpackhi_epi32
#define BLOCK_ZIP64_low _mm_unpacklo_epi64
#define BLOCK_ZIP64_high _mm_unpackhi_epi64
#define BLOCK_ZIP(NAME, HALF) BLOCK_ZIP##NAME##_##HALF
#endif

#define BLOCK_STAGES(TYPE, NAME, ZIP) \
  SIMD_INLINE void NAME(TYPE *a, const int size) { \
    const int n = BLOCK_BYTES / size; \
    TYPE b[BLOCK_BYTES]; \
    BLOCK_UNROLLED for (int stage = 1; stage < n; stage *= 2) { \
      BLOCK_UNROLLED for (int i = 0; i < n / 2; i++) { \
        const TYPE first = a[i], second = a[i + n / 2]; \
        b[2 * i] = size == 1 ? ZIP(8, low)(first, second) : size == 2 ? ZIP(16, low)(first, second) \
                   : size == 4 ? ZIP(32, low)(first, second) : ZIP(64, low)(first, second); \
        b[2 * i + 1] = size == 1 ? ZIP(8, high)(first, second) : size == 2 ? ZIP(16, high)(first, second) \
                       : size == 4 ? ZIP(32, high)(first, second) : ZIP(64, high)(first, second); \
      } \
      BLOCK_UNROLLED for (int i = 0; i < n; i++) a[i] = b[i]; \
    } \
  }
#define BLOCK_VECTOR_ZIP(NAME, HALF) vb_zip##NAME##_##HALF
BLOCK_STAGES(vb, transpose_vectors, BLOCK_VECTOR_ZIP)
BLOCK_STAGES(block_row, transpose_block, BLOCK_ZIP)

/* Element by element, along the longer side, FEW at a time. */
SIMD_INLINE void transpose_elements(const uint8_t *x, int64_t x_row, int64_t columns, int64_t rows, uint8_t *y, int64_t y_row, const int size) {
  if (columns < rows) {
    for (int64_t q = 0; q < rows; q += FEW)
      for (int64_t c = 0; c < columns; c++)
        for (int64_t i = q; i < rows && i < q + FEW; i++) memcpy(y + i * y_row + c * size, x + c * x_row + i * size, (size_t)size);
  } else {
    for (int64_t c = 0; c < columns; c += FEW)
      for (int64_t q = 0; q < rows; q++)
        for (int64_t i = c; i < columns && i < c + FEW; i++) memcpy(y + q * y_row + i * size, x + i * x_row + q * size, (size_t)size);
  }
}

/* Blocks side by side: at least a vector of columns. With fewer than n rows the 16 bytes that are read go on behind them, as far as x reaches. */
SIMD_INLINE void transpose_wide(const uint8_t *x, int64_t x_row, int64_t columns, int64_t rows, uint8_t *y, int64_t y_row, const int size) {
  const int n = BLOCK_BYTES / size, width = VB / size;
  for (int64_t first = 0; first < rows; first += TILE_BYTES / size) {
    const int64_t end = rows - first < TILE_BYTES / size ? rows : first + TILE_BYTES / size;
    for (int64_t at = 0; at < columns; at += width) {
      const int64_t c = columns - at < width ? columns - width : at;
      for (int64_t next = first; next < end; next += n) {
        const int64_t q = end - next < n && end >= n ? end - n : next;
        const uint8_t *from = x + c * x_row + q * size;
        uint8_t *to = y + q * y_row + c * size;
        vb a[BLOCK_BYTES];
        BLOCK_UNROLLED for (int i = 0; i < n; i++) a[i] = vb_gather(from + i * x_row, n * x_row, BLOCKS);
        transpose_vectors(a, size);
        BLOCK_UNROLLED for (int i = 0; i < n; i++) {
          if (q + i >= end) break;
          vb_store(to + i * y_row, a[i]);
        }
      }
    }
  }
}

/* Blocks one below the other: at least a vector of rows. With fewer than n columns y's rows lie behind one another: a row writes over what the one before
 * stored behind its end; `reach`: rows whose 16 bytes lie inside. */
SIMD_INLINE void transpose_narrow(const uint8_t *x, int64_t x_row, int64_t columns, int64_t reach, uint8_t *y, int64_t y_row, const int size) {
  const int n = BLOCK_BYTES / size, height = VB / size;
  for (int64_t next = 0; next < reach; next += height) {
    const int64_t q = reach - next < height ? reach - height : next;
    for (int64_t at = 0; at < columns; at += n) {
      const int64_t c = columns - at < n && columns >= n ? columns - n : at;
      const uint8_t *from = x + c * x_row + q * size;
      uint8_t *to = y + q * y_row + c * size;
      vb a[BLOCK_BYTES];
      BLOCK_UNROLLED for (int i = 0; i < n; i++) a[i] = vb_load(from + (c + i < columns ? i : 0) * x_row);
      transpose_vectors(a, size);
      BLOCK_UNROLLED for (int k = 0; k < BLOCKS; k++) {
        BLOCK_UNROLLED for (int i = 0; i < n; i++, to += y_row) block_store(to, block_of(a[i], k));
      }
    }
  }
}

/* Single blocks: at least n rows and columns. */
SIMD_INLINE void transpose_small(const uint8_t *x, int64_t x_row, int64_t columns, int64_t rows, uint8_t *y, int64_t y_row, const int size) {
  const int n = BLOCK_BYTES / size;
  for (int64_t next = 0; next < rows; next += n) {
    const int64_t q = rows - next < n ? rows - n : next;
    for (int64_t at = 0; at < columns; at += n) {
      const int64_t c = columns - at < n ? columns - n : at;
      block_row a[BLOCK_BYTES];
      BLOCK_UNROLLED for (int i = 0; i < n; i++) a[i] = block_load(x + (c + i) * x_row + q * size);
      transpose_block(a, size);
      BLOCK_UNROLLED for (int i = 0; i < n; i++) block_store(y + (q + i) * y_row + c * size, a[i]);
    }
  }
}

/* Of `length` stretches of 16 bytes, each `step` bytes behind the one before, how many end inside `bytes`? */
SIMD_INLINE int64_t stretches_inside(int64_t bytes, int64_t step, int64_t length) {
  const int64_t inside = bytes < BLOCK_BYTES ? 0 : step <= 0 ? length : (bytes - BLOCK_BYTES) / step + 1;
  return inside < length ? inside : length;
}

SIMD_INLINE void transpose_matrix(const uint8_t *x, int64_t x_row, int64_t columns, int64_t rows, uint8_t *y, int64_t y_row, const int size) {
  const int n = BLOCK_BYTES / size, length = VB / size;
  if (columns >= length && rows >= n) {
    transpose_wide(x, x_row, columns, rows, y, y_row, size);
  } else if (columns >= n && rows >= length) {
    transpose_narrow(x, x_row, columns, rows, y, y_row, size);
  } else if (columns >= n && rows >= n) {
    transpose_small(x, x_row, columns, rows, y, y_row, size);
  } else {
    int64_t done = 0;
    if (columns >= length) {
      done = stretches_inside((columns - 1) * x_row + rows * size, x_row, columns);
      done = done < length ? 0 : done;
      if (done > 0) transpose_wide(x, x_row, done, rows, y, y_row, size);
      transpose_elements(x + done * x_row, x_row, columns - done, rows, y + done * size, y_row, size);
    } else {
      done = y_row == columns * size ? stretches_inside(rows * y_row, y_row, rows) : 0;
      done = done < length ? 0 : done;
      if (done > 0) transpose_narrow(x, x_row, columns, done, y, y_row, size);
      transpose_elements(x + done * size, x_row, columns, rows - done, y + done * y_row, y_row, size);
    }
  }
}

#define TRANSPOSE_OF(NAME, SIZE) \
  static void NAME(const uint8_t *x, int64_t x_row, int64_t columns, int64_t rows, uint8_t *y, int64_t y_row) { \
    transpose_matrix(x, x_row, columns, rows, y, y_row, SIZE); \
  }
#else
#define TRANSPOSE_OF(NAME, SIZE) static void (*const NAME)(const uint8_t *, int64_t, int64_t, int64_t, uint8_t *, int64_t) = NULL; /* the definition serves */
#endif

TRANSPOSE_OF(transpose_1, 1)
TRANSPOSE_OF(transpose_2, 2)
TRANSPOSE_OF(transpose_4, 4)
TRANSPOSE_OF(transpose_8, 8)

#endif
