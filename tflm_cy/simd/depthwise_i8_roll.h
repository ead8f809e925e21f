/* Depthwise filters of three columns without planes: windows roll along the rows, and the dwords of their pixels stay in registers for all that see
 * them. There are to be 32. In the order of whole_channel; a vector is 1, 2 or 4 pixels (`pieces`) of VB, VB / 2 or VB / 4 channels, or 8 pixels that
 * have VB / 8 each. Part of depthwise_i8.h. */
#ifndef TFLM_CY_SIMD_DEPTHWISE_I8_ROLL_H
#define TFLM_CY_SIMD_DEPTHWISE_I8_ROLL_H

/* Pixels from `pixel` on, of a row, some of which are left or right of the image. */
SIMD_INLINE vb roll_edge(const int pieces, const Rows8 *x, const uint8_t *row, ptrdiff_t pixel) {
  const unsigned before = pixel < 0 ? (unsigned)-pixel : 0;
  const unsigned inside = x->width - pixel < pieces ? (unsigned)(x->width - pixel) : (unsigned)pieces;
  uint8_t some[VB];
  if (pieces == 8 || x->pixel == VB / pieces) {
    const __mmask64 mask = _bzhi_u64(~0ull, inside * (VB / pieces)) & ~_bzhi_u64(~0ull, before * (VB / pieces));
    return _mm512_mask_loadu_epi8(vb_set1(x->outside ^ x->flip), mask, row + pixel * x->pixel);
  }
  memset(some, x->outside ^ x->flip, VB);
  for (unsigned i = before; i < inside; i++) memcpy(some + i * (VB / pieces), row + (pixel + i) * x->pixel, VB / pieces);
  return vb_load(some);
}

/* The same wherever they are. */
SIMD_INLINE vb roll_row(const int pieces, const Rows8 *x, const uint8_t *row, ptrdiff_t pixel) {
  if (pixel >= 0 && pixel + pieces <= x->width)
    return pieces == 1 || pieces == 8 || x->pixel == VB / pieces ? vb_load(row + pixel * x->pixel) : vb_gather(row + pixel * x->pixel, x->pixel, pieces);
  return roll_edge(pieces, x, row, pixel);
}

SIMD_INLINE void roll_load(const int R, const int pieces, const Rows8 *x, ptrdiff_t pixel, vb change, vb outside, vb *dwords) {
  const int count = R == 2 ? 4 : 3;
  vb r[4];
  if (pixel <= -pieces || pixel >= x->width) {
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) dwords[i] = outside;
    return;
  }
  _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) r[j] = roll_row(pieces, x, x->rows[j], pixel);
  interleave(count, 1, r, change, dwords);
}

/* Of twice as many pixels each second one: those with even numbers, and the others. */
SIMD_INLINE void roll_load_halves(const int R, const int pieces, const Rows8 *x, ptrdiff_t pixel, vb change, vb outside, vb *even, vb *odd) {
  vb low[4], high[4];
  roll_load(R, pieces, x, pixel, change, outside, low);
  roll_load(R, pieces, x, pixel + pieces, change, outside, high);
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    even[i] = pieces == 2 ? _mm512_shuffle_i64x2(low[i], high[i], 0x44) : _mm512_shuffle_i64x2(low[i], high[i], 0x88);
    odd[i] = pieces == 2 ? _mm512_shuffle_i64x2(low[i], high[i], 0xEE) : _mm512_shuffle_i64x2(low[i], high[i], 0xDD);
  }
}

/* Pixels without the first `n`, and the next ones behind them: quarter i of their dwords. */
SIMD_INLINE vb roll_on(const int pieces, const int n, const vb *pixels, const vb *next, const int i) {
  if (pieces == 8 && n == 1 && i < 2) return pixels[i + 2]; /* an odd pixel's dwords are in the other half of the quarters */
  if (pieces == 8 && n == 1) return _mm512_alignr_epi64(next[i - 2], pixels[i - 2], 2);
  if (n == pieces) return next[i];
  return n * 8 / pieces == 2 || pieces == 8 ? _mm512_alignr_epi64(next[i], pixels[i], 2) : _mm512_alignr_epi64(next[i], pixels[i], 4);
}

/* Taps of a column and a quarter for a row of R: in a register, or read where they are used. */
SIMD_INLINE vb roll_taps(const int R, const Columns8 *s, vb kept[3][4], int column, int i, int r) {
  return R == 1 ? kept[column][i] : vb_load(s->taps + ((column * 4 + i) * R + r) * DWORD_TAPS8);
}

SIMD_INLINE void roll_extra(const int R, const Columns8 *s, const vb *a, const vb *b, const vb *c, vi acc[2][4]) {
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    for (int32_t e = s->extra[i]; e < s->extra[i + 1]; e++) {
      const vb x = s->extra_at[e] == 0 ? a[i] : s->extra_at[e] == s->column_step ? b[i] : c[i];
      _Pragma("GCC unroll 2") for (int r = 0; r < R; r++)
        acc[r][i] = vi_dot4(acc[r][i], x, vb_load(s->extra_taps + (e * R + r) * DWORD_TAPS8));
    }
  }
}

/* The sums of `left` pixels or more, y_pixel apart, in the order of their channels. */
SIMD_INLINE void roll_store_sums(const int pieces, int32_t *sums, ptrdiff_t y_pixel, const vi *acc, ptrdiff_t left) {
  const vi low01 = _mm512_shuffle_i64x2(acc[0], acc[1], 0x44), high01 = _mm512_shuffle_i64x2(acc[0], acc[1], 0xEE);
  const vi low23 = _mm512_shuffle_i64x2(acc[2], acc[3], 0x44), high23 = _mm512_shuffle_i64x2(acc[2], acc[3], 0xEE);
  const vi ordered[4] = {_mm512_shuffle_i64x2(low01, low23, 0x88), _mm512_shuffle_i64x2(low01, low23, 0xDD),
                         _mm512_shuffle_i64x2(high01, high23, 0x88), _mm512_shuffle_i64x2(high01, high23, 0xDD)};
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    if (pieces == 8 && 2 * i + 1 == left) vi_store_part(sums + i * VL, ordered[i], VL / 2);
    else if (pieces == 8 && 2 * i < left) vi_store(sums + i * VL, ordered[i]);
    else if (pieces < 8 && i * pieces / 4 < left) vi_store(sums + i * pieces / 4 * y_pixel + i % (pieces < 8 ? 4 / pieces : 1) * VL, ordered[i]);
  }
}

/* The outputs of `left` pixels or more, y_pixel bytes apart. */
SIMD_INLINE void roll_store(const int pieces, uint8_t *y, ptrdiff_t y_pixel, vb out, ptrdiff_t left) {
  if (pieces == 1 || (y_pixel == VB / pieces && left >= pieces)) vb_store(y, out);
  else if (pieces == 8) vb_store_part(y, out, left * y_pixel);
  else vb_scatter(y, y_pixel, out, pieces, left);
}

enum { ENDS_SUMS, ENDS_BYTES, ENDS_RAISED };

/* ends: of weights that want extra steps it is asked while running, else there is code for each. */
SIMD_INLINE void roll_some(const int R, const int pieces, const int stride, const int ends, const int extra, const Columns8 *s, const Rows8 *x,
                           ptrdiff_t first, ptrdiff_t count, ptrdiff_t y_pixel, uint8_t *y) {
  const vb change = vb_set1(x->flip), outside = vb_set1(x->outside), zero = s->zero, low = s->low, high = s->high;
  const ptrdiff_t dilation = pieces == 1 && stride == 1 ? x->dilation : 1, y_row = s->y_row;
  const int is_signed = s->is_signed, rows = s->rows; /* asked once: a stored byte might have changed it */
  vb a[4], b[4], c[4], next[4], odd[4], kept[3][4]; /* pixels below the first, second and third column */
  vi bias[4];
  vf scales[4];
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    bias[i] = vi_load(s->bias + i * VL);
    scales[i] = ends == ENDS_SUMS ? vf_set1(0) : vf_load(s->scales + i * VL);
    _Pragma("GCC unroll 3") for (int k = 0; k < 3; k++)
      if (R == 1) kept[k][i] = dword_taps8(s->taps + (k * 4 + i) * DWORD_TAPS8);
  }
  if (stride == 2 && pieces > 1) roll_load_halves(R, pieces, x, first, change, outside, a, b);
  else roll_load(R, pieces, x, first, change, outside, a);
  if (stride == 1 && pieces == 1) roll_load(R, 1, x, first + dilation, change, outside, b);
  for (; count > 0; count -= pieces, y += pieces * y_pixel, first += pieces * stride * dilation) {
    vi acc[2][4];
    if (pieces == 1) {
      if (stride == 2) roll_load(R, 1, x, first + 1, change, outside, b);
      roll_load(R, 1, x, first + 2 * dilation, change, outside, c);
    } else {
      if (stride == 2) roll_load_halves(R, pieces, x, first + 2 * pieces, change, outside, next, odd);
      else roll_load(R, pieces, x, first + pieces, change, outside, next);
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        if (stride == 1) b[i] = roll_on(pieces, 1, a, next, i);
        c[i] = roll_on(pieces, stride == 1 ? 2 : 1, a, next, i);
      }
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
      _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) {
        acc[r][i] = vi_dot4(bias[i], a[i], roll_taps(R, s, kept, 0, i, r));
        acc[r][i] = vi_dot4(acc[r][i], b[i], roll_taps(R, s, kept, 1, i, r));
        acc[r][i] = vi_dot4(acc[r][i], c[i], roll_taps(R, s, kept, 2, i, r));
      }
    }
    if (extra) roll_extra(R, s, a, b, c, acc);
    _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) {
      vi q[4];
      if (r >= rows) break;
      if (ends == ENDS_SUMS) {
        roll_store_sums(pieces, s->sums + (y - s->y0) + r * y_row, y_pixel, acc[r], count);
        continue;
      }
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) q[i] = scaled8(ends == ENDS_RAISED, is_signed, acc[r][i], scales[i]);
      roll_store(pieces, y + r * y_row, y_pixel, bytes8(ends == ENDS_RAISED, is_signed, q[0], q[1], q[2], q[3], zero, low, high), count);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
      a[i] = pieces > 1 ? next[i] : stride == 1 ? b[i] : c[i];
      if (pieces == 1) b[i] = c[i];
      else if (stride == 2) b[i] = odd[i];
    }
  }
}

SIMD_INLINE void roll(const int R, const int pieces, const int stride, const Columns8 *s, const Rows8 *x, ptrdiff_t first, ptrdiff_t count,
                      ptrdiff_t y_pixel, uint8_t *y) {
  const int ends = s->sums ? ENDS_SUMS : s->magic_bias ? ENDS_RAISED : ENDS_BYTES;
  if (s->extra) roll_some(R, pieces, stride, ends, 1, s, x, first, count, y_pixel, y);
  else if (ends == ENDS_SUMS) roll_some(R, pieces, stride, ENDS_SUMS, 0, s, x, first, count, y_pixel, y);
  else if (ends == ENDS_RAISED) roll_some(R, pieces, stride, ENDS_RAISED, 0, s, x, first, count, y_pixel, y);
  else roll_some(R, pieces, stride, ENDS_BYTES, 0, s, x, first, count, y_pixel, y);
}

typedef void (*Roll8)(const Columns8 *, const Rows8 *, ptrdiff_t, ptrdiff_t, ptrdiff_t, uint8_t *);
#define ROLL(NAME, R, PIECES, STRIDE)                                                                                                     \
  static void NAME(const Columns8 *s, const Rows8 *x, ptrdiff_t first, ptrdiff_t count, ptrdiff_t y_pixel, uint8_t *y) {                  \
    roll(R, PIECES, STRIDE, s, x, first, count, y_pixel, y);                                                                              \
  }
#define ROLLS(PIECES) ROLL(roll_1_1_##PIECES, 1, PIECES, 1) ROLL(roll_1_2_##PIECES, 1, PIECES, 2) ROLL(roll_2_1_##PIECES, 2, PIECES, 1)
ROLLS(1)
ROLLS(2)
ROLLS(4)
ROLL(roll_1_1_8, 1, 8, 1)
ROLL(roll_2_1_8, 2, 8, 1)

static const Roll8 ROLL8[3][3] = {BY_PIECES(roll_1_1), BY_PIECES(roll_1_2), BY_PIECES(roll_2_1)};

/* Is there such a function for so many rows of output, which see `taps` rows of x? */
static int rolls(int rows, int pieces, ptrdiff_t columns, ptrdiff_t taps, ptrdiff_t stride, ptrdiff_t dilation) {
  if (pieces == 8 && stride != 1) return 0;
  return columns == 3 && taps <= rows + 2 && (stride == 1 || (stride == 2 && rows == 1)) && (dilation == 1 || (stride == 1 && pieces == 1));
}

/* All windows of the output rows. With a dilated filter those share pixels that are as far from each other as its columns. */
static void roll_rows(const Columns8 *s, int rows, const Rows8 *x, uint8_t *y) {
  const Roll8 eight = rows == 2 ? roll_2_1_8 : roll_1_1_8;
  const Roll8 function = s->pieces == 8 ? eight : ROLL8[rows == 2 ? 2 : s->stride - 1][s->pieces / 2];
  for (ptrdiff_t i = 0; i < x->dilation && i < x->count; i++)
    function(s, x, x->first + i, (x->count - i + x->dilation - 1) / x->dilation, x->dilation * s->y_pixel, y + i * s->y_pixel);
}
#endif
