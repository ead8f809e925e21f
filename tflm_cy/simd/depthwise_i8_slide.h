/* Depthwise filters of three columns over planes: what is loaded of one pixel serves the windows of its neighbours. For fewer than 32
 * registers; with them windows roll (depthwise_i8_roll.h). Part of depthwise_i8.h. */
#ifndef TFLM_CY_SIMD_DEPTHWISE_I8_SLIDE_H
#define TFLM_CY_SIMD_DEPTHWISE_I8_SLIDE_H

/* Filters of three columns and one quad over X groups of pixels next to each other: what is loaded for one pixel serves its neighbours. With a
 * `dilated` filter those are as far from each other as its columns, `dilation` pixels. */
SIMD_INLINE void slide_groups(const int R, const int X, const int pieces, const int stride, const int dilated, const Columns8 *s, ptrdiff_t group,
                              uint8_t *y, ptrdiff_t n) {
  const int vectors = 4 / pieces; /* of a pixel */
  const ptrdiff_t column = dilated ? s->column_step : vectors * VB, dilation = dilated ? s->column_step / (4 * VB) : 1;
  vi acc[2][4][4];
  const uint8_t *plane = s->planes + group * pieces * stride * s->column_step;
  _Pragma("GCC unroll 4") for (int u = 0; u < vectors; u++) {
    const vi bias = vi_load(s->bias + u * VL);
    DwordTaps8 w[3][2];
    _Pragma("GCC unroll 4") for (int c = 0; c < 3; c++)
      _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) w[c][r] = dword_taps8(s->taps + ((c * 4 + u) * R + r) * DWORD_TAPS8);
    _Pragma("GCC unroll 16") for (int p = 0; p < X * pieces; p++)
      _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) acc[r][p / pieces][p % pieces * vectors + u] = bias;
    _Pragma("GCC unroll 40") for (int j = 0; j < (X * pieces - 1) * stride + 3; j++) {
      const Dwords8 x = dwords8(plane + j * column + u * VB);
      _Pragma("GCC unroll 16") for (int p = 0; p < X * pieces; p++) {
        const int c = j - p * stride, g = p / pieces, i = p % pieces * vectors + u;
        if (c < 0 || c > 2) continue;
        _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) acc[r][g][i] = dword_dot8(acc[r][g][i], x, w[c][r]);
      }
    }
    if (s->extra) {
      for (int32_t e = s->extra[u]; e < s->extra[u + 1]; e++) {
        const uint8_t *at = plane + s->extra_at[e] + u * VB;
        _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) w[0][r] = dword_taps8(s->extra_taps + (e * R + r) * DWORD_TAPS8);
        _Pragma("GCC unroll 16") for (int p = 0; p < X * pieces; p++) {
          const Dwords8 x = dwords8(at + p * stride * column);
          vi *sums[2] = {&acc[0][p / pieces][p % pieces * vectors + u], &acc[1][p / pieces][p % pieces * vectors + u]};
          _Pragma("GCC unroll 2") for (int r = 0; r < R; r++) *sums[r] = dword_dot8(*sums[r], x, w[0][r]);
        }
      }
    }
  }
  finish_groups(R, X, pieces, s, acc, pieces * dilation * s->y_pixel, y, n);
}

typedef void (*Slide8)(const Columns8 *, ptrdiff_t, uint8_t *, ptrdiff_t);

#define SLIDE_OF(NAME, R, X, PIECES, STRIDE, DILATED)                                                                                             \
  static void NAME(const Columns8 *s, ptrdiff_t group, uint8_t *y, ptrdiff_t n) { slide_groups(R, X, PIECES, STRIDE, DILATED, s, group, y, n); }
#define SLIDE(NAME, R, X, PIECES, STRIDE) SLIDE_OF(NAME, R, X, PIECES, STRIDE, 0)
#define SLIDES(PIECES)                        \
  SLIDE(slide_1_1_##PIECES, 1, SLIDE_1, PIECES, 1) \
  SLIDE(slide_1_2_##PIECES, 1, SLIDE_1, PIECES, 2) \
  SLIDE(slide_2_1_##PIECES, 2, SLIDE_2, PIECES, 1)
SLIDES(1)
SLIDES(2)
SLIDES(4)

static const Slide8 SLIDE8[3][3] = {BY_PIECES(slide_1_1), BY_PIECES(slide_1_2), BY_PIECES(slide_2_1)};

#if SIMD_ISA == 256
SLIDE(slide_1_1_fewer, 1, SLIDE_1 - 1, 1, 1)
SLIDE(slide_1_2_fewer, 1, SLIDE_1 - 1, 1, 2)
SLIDE(slide_2_1_fewer, 2, SLIDE_2 - 1, 1, 1)
SLIDE_OF(slide_dilated, 2, SLIDE_2, 1, 1, 1)
SLIDE_OF(slide_dilated_fewer, 2, SLIDE_2 - 1, 1, 1, 1)
static const Slide8 FEWER8[3] = {slide_1_1_fewer, slide_1_2_fewer, slide_2_1_fewer}; /* one group less, of one piece */
static const Slide8 DILATED8[2] = {slide_dilated, slide_dilated_fewer}; /* two rows, stride 1, one piece */
#else
static const Slide8 FEWER8[3] = {NULL}, DILATED8[2] = {NULL};
#endif

/* `groups` groups, whose outputs are `step` bytes apart. Where they are not a multiple of those done together, some are done with one less, or the last
 * ones overlap those before. */
SIMD_INLINE void slide_row(const Columns8 *s, Slide8 slide, Slide8 fewer, ptrdiff_t together, ptrdiff_t groups, ptrdiff_t step, uint8_t *y,
                           ptrdiff_t total) {
  const ptrdiff_t last = fewer ? (together - groups % together) % together * (together - 1) : 0; /* groups for `fewer`, of one piece */
  ptrdiff_t g = 0;
  if (last > 0 && last <= groups) {
    for (; g < groups - last; g += together) slide(s, g, y + g * step, VB);
    for (; g < groups; g += together - 1) fewer(s, g, y + g * step, VB);
    return;
  }
  for (; g < groups; g += together) {
    if (g + together > groups) g = groups - together;
    slide(s, g, y + g * step, total - (g + together - 1) * VB);
  }
}

/* All groups of an output row of pixels. */
static void sum_pixels(const Columns8 *s, int rows, ptrdiff_t groups, uint8_t *y, ptrdiff_t total) {
  const ptrdiff_t together = rows == 1 ? SLIDE_1 : SLIDE_2;
  const ptrdiff_t step = s->pieces * s->y_pixel, dilation = s->column_step / (4 * VB / s->pieces);
  const int slides = s->columns == 3 && s->quads == 1 && s->stride <= 2 && (rows == 1 || s->stride == 1) && groups / dilation >= together;
  if (slides && dilation == 1) {
    const int which = rows == 2 ? 2 : (int)s->stride - 1;
    slide_row(s, SLIDE8[which][s->pieces / 2], s->pieces == 1 ? FEWER8[which] : NULL, together, groups, step, y, total);
  } else if (slides && rows == 2 && s->pieces == 1 && DILATED8[0]) {
    Columns8 lattice = *s;
    for (ptrdiff_t first = 0; first < dilation; first++, lattice.planes += 4 * VB)
      slide_row(&lattice, DILATED8[0], DILATED8[1], together, (groups - first + dilation - 1) / dilation, dilation * step, y + first * step,
                total);
  } else {
    sum_every(s, rows, 0, groups, y, total);
  }
}
#endif
