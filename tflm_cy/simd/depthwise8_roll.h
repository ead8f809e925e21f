/* Depthwise filters of three columns without planes: windows roll along the rows, and the dwords of a pixel stay in registers for all that see it.
 * For VB channels at a time, in the order of whole_channel, and 32 registers. Part of depthwise8.h. */
#ifndef TFLM_CY_SIMD_DEPTHWISE8_ROLL_H
#define TFLM_CY_SIMD_DEPTHWISE8_ROLL_H

typedef struct {
  const uint8_t *const *rows; /* of pixel 0, at the first channel: four for two rows of output, else three */
  ptrdiff_t pixel;            /* bytes from one to the next */
  ptrdiff_t width;            /* pixels of a row */
  ptrdiff_t first;            /* the one below the first column of the first window */
  ptrdiff_t dilation;         /* pixels from a column to the next */
  ptrdiff_t count;            /* windows */
  int flip;                   /* the bits of a byte to change */
  int outside;                /* what a byte is then where there is no pixel */
} Rows8;

#if SIMD_ISA == 512
SIMD_INLINE void roll_pixel(const int R, const Rows8 *x, ptrdiff_t pixel, vb change, vb outside, vb *dwords) {
  const int count = R == 2 ? 4 : 3;
  vb r[4];
  if (pixel < 0 || pixel >= x->width) {
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) dwords[i] = outside;
    return;
  }
  _Pragma("GCC unroll 4") for (int j = 0; j < count; j++) r[j] = vb_load(x->rows[j] + pixel * x->pixel);
  interleave(count, 1, r, change, dwords);
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

SIMD_INLINE void roll_some(const int R, const int stride, const int raised, const int extra, const Columns8 *s, const Rows8 *x, ptrdiff_t first,
                           ptrdiff_t count, ptrdiff_t y_step, uint8_t *y) {
  const vb change = vb_set1(x->flip), outside = vb_set1(x->outside), zero = s->zero, low = s->low, high = s->high;
  const ptrdiff_t dilation = stride == 1 ? x->dilation : 1, y_row = s->y_row;
  const int is_signed = s->is_signed, rows = s->rows; /* not asked for each pixel: a stored byte might have changed it */
  vb a[4], b[4], c[4], kept[3][4];
  vi bias[4];
  vf scales[4];
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    bias[i] = vi_load(s->bias + i * VL);
    scales[i] = vf_load(s->scales + i * VL);
    _Pragma("GCC unroll 3") for (int k = 0; k < 3; k++)
      if (R == 1) kept[k][i] = dword_taps8(s->taps + (k * 4 + i) * DWORD_TAPS8);
  }
  roll_pixel(R, x, first, change, outside, a);
  if (stride == 1) roll_pixel(R, x, first + dilation, change, outside, b);
  for (; count > 0; count--, y += y_step) {
    vi acc[2][4];
    if (stride != 1) roll_pixel(R, x, first + 1, change, outside, b);
    roll_pixel(R, x, first + 2 * dilation, change, outside, c);
    first += stride * dilation;
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
      _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) q[i] = vi_from_vf(product8(raised, acc[r][i], scales[i]));
      vb_store(y + r * y_row, bytes8(raised, is_signed, q[0], q[1], q[2], q[3], zero, low, high));
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
      a[i] = stride == 1 ? b[i] : c[i];
      b[i] = c[i];
    }
  }
}

SIMD_INLINE void roll(const int R, const int stride, const Columns8 *s, const Rows8 *x, ptrdiff_t first, ptrdiff_t count, ptrdiff_t y_step, uint8_t *y) {
  if (s->raised && !s->extra) roll_some(R, stride, 1, 0, s, x, first, count, y_step, y);
  else if (s->raised) roll_some(R, stride, 1, 1, s, x, first, count, y_step, y);
  else if (!s->extra) roll_some(R, stride, 0, 0, s, x, first, count, y_step, y);
  else roll_some(R, stride, 0, 1, s, x, first, count, y_step, y);
}

typedef void (*Roll8)(const Columns8 *, const Rows8 *, ptrdiff_t, ptrdiff_t, ptrdiff_t, uint8_t *);
#define ROLL(NAME, R, STRIDE)                                                                                                             \
  static void NAME(const Columns8 *s, const Rows8 *x, ptrdiff_t first, ptrdiff_t count, ptrdiff_t y_step, uint8_t *y) {                   \
    roll(R, STRIDE, s, x, first, count, y_step, y);                                                                                       \
  }
ROLL(roll_1_1, 1, 1)
ROLL(roll_1_2, 1, 2)
ROLL(roll_2_1, 2, 1)

/* Is there such a function for so many rows of output, which see `taps` rows of x? */
static int rolls(int rows, ptrdiff_t columns, ptrdiff_t taps, ptrdiff_t stride, ptrdiff_t dilation) {
  return columns == 3 && taps <= rows + 2 && (stride == 1 || (stride == 2 && rows == 1 && dilation == 1));
}

/* All windows of the output rows. With a dilated filter those share pixels that are as far from each other as its columns. */
static void roll_rows(const Columns8 *s, int rows, const Rows8 *x, uint8_t *y) {
  const Roll8 function = rows == 2 ? roll_2_1 : s->stride == 2 ? roll_1_2 : roll_1_1;
  for (ptrdiff_t i = 0; i < x->dilation && i < x->count; i++)
    function(s, x, x->first + i, (x->count - i + x->dilation - 1) / x->dilation, x->dilation * s->y_pixel, y + i * s->y_pixel);
}
#else
static int rolls(int rows, ptrdiff_t columns, ptrdiff_t taps, ptrdiff_t stride, ptrdiff_t dilation) {
  (void)rows; (void)columns; (void)taps; (void)stride; (void)dilation;
  return 0;
}
static void roll_rows(const Columns8 *s, int rows, const Rows8 *x, uint8_t *y) { (void)s; (void)rows; (void)x; (void)y; }
#endif
#endif
