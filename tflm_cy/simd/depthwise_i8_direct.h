/* Depthwise windows without planes: of each tap a vector of channels, as dwords, times its weights; four windows side by side share the weights.
 *
 * Packed weights of a block of VL channels: biases, scales, which input channel each output channel sees, and a dword for each tap. */
#ifndef TFLM_CY_SIMD_DEPTHWISE_I8_DIRECT_H
#define TFLM_CY_SIMD_DEPTHWISE_I8_DIRECT_H

#include "requantize8.h"

typedef struct {
  const uint8_t *const *at; /* of each tap: the first window's pixel */
  ptrdiff_t taps;
  ptrdiff_t pixel;          /* bytes from a window to the next */
  ptrdiff_t channels;       /* of the output */
  const int32_t *packed;
  int is_signed;
  int magic_bias;           /* the sums are (requantize8.h) */
  vb zero, low, high;
  int32_t *sums;            /* not NULL: where the sums go, those of the first window */
} Windows8;

#if SIMD_ISA >= 256
enum { DIRECT8 = 1, WINDOWS8 = 4, HEAD8 = 3 };

/* VL dwords; a part of them, or channels that are repeated, only where loads have masks. */
#if SIMD_ISA == 512
enum { PARTS_DIRECT8 = 1 };
SIMD_INLINE vi direct_dwords8(const uint8_t *p, const int is_signed, const int part, ptrdiff_t n) {
  const __m128i v = part ? _mm_maskz_loadu_epi8(SIMD_MASK16(n), p) : _mm_loadu_si128((const __m128i *)p);
  return is_signed ? _mm512_cvtepi8_epi32(v) : _mm512_cvtepu8_epi32(v);
}
SIMD_INLINE vi direct_permute8(vi v, vi order) { return _mm512_permutexvar_epi32(order, v); }
SIMD_INLINE vi direct_dot8(vi acc, vi x, vi taps) { return _mm512_dpwssd_epi32(acc, x, taps); }
#else
enum { PARTS_DIRECT8 = 0 };
SIMD_INLINE vi direct_dwords8(const uint8_t *p, const int is_signed, const int part, ptrdiff_t n) {
  const __m128i v = _mm_loadl_epi64((const __m128i *)p);
  (void)part;
  (void)n;
  return is_signed ? _mm256_cvtepi8_epi32(v) : _mm256_cvtepu8_epi32(v);
}
SIMD_INLINE vi direct_permute8(vi v, vi order) { return _mm256_permutevar8x32_epi32(v, order); }
SIMD_INLINE vi direct_dot8(vi acc, vi x, vi taps) { return vi_add(acc, _mm256_madd_epi16(x, taps)); }
#endif

/* n channels from c on of `count` windows, whose input channels begin at x bytes of each tap's pixel, `needed` of them. */
SIMD_INLINE void windows_block8(const int part, const int wide, const int is_signed, const Windows8 *s, const int32_t *w, ptrdiff_t x, ptrdiff_t needed,
                                ptrdiff_t c, ptrdiff_t n, ptrdiff_t count, ptrdiff_t window, uint8_t *y) {
  const vi start = vi_load(w), order = vi_load(w + 2 * VL);
  const ptrdiff_t second = count > 1 ? s->pixel : 0, third = count > 2 ? 2 * s->pixel : 0, fourth = count > 3 ? 3 * s->pixel : 0;
  vi a0 = start, a1 = start, a2 = start, a3 = start;
  (void)order;
  w += HEAD8 * VL;
  for (ptrdiff_t t = 0; t < s->taps; t++, w += VL) {
    const vi taps = vi_load(w);
    const uint8_t *from = s->at[t] + x;
    vi x0 = direct_dwords8(from, is_signed, part || wide, needed), x1 = direct_dwords8(from + second, is_signed, part || wide, needed);
    vi x2 = direct_dwords8(from + third, is_signed, part || wide, needed), x3 = direct_dwords8(from + fourth, is_signed, part || wide, needed);
    if (wide) {
      x0 = direct_permute8(x0, order);
      x1 = direct_permute8(x1, order);
      x2 = direct_permute8(x2, order);
      x3 = direct_permute8(x3, order);
    }
    a0 = direct_dot8(a0, x0, taps);
    a1 = direct_dot8(a1, x1, taps);
    a2 = direct_dot8(a2, x2, taps);
    a3 = direct_dot8(a3, x3, taps);
  }
  if (s->sums) {
    const vi acc[WINDOWS8] = {a0, a1, a2, a3};
    for (ptrdiff_t j = 0; j < count; j++) vi_store_part(s->sums + (window + j) * s->channels + c, acc[j], n);
    return;
  }
  const vf scale = vf_load((const float *)(w - (s->taps + 2) * VL));
  vb out;
  if (RAISES8 && s->magic_bias)
    out = bytes8(1, is_signed, scaled8(1, is_signed, a0, scale), scaled8(1, is_signed, a1, scale), scaled8(1, is_signed, a2, scale),
                 scaled8(1, is_signed, a3, scale), s->zero, s->low, s->high);
  else
    out = bytes8(0, is_signed, scaled8(0, is_signed, a0, scale), scaled8(0, is_signed, a1, scale), scaled8(0, is_signed, a2, scale),
                 scaled8(0, is_signed, a3, scale), s->zero, s->low, s->high);
  out = vb_unlane(out);
  y += window * s->channels + c;
  if (part) vb_scatter_part(y, s->channels, out, 4, count, n);
  else vb_scatter(y, s->channels, out, 4, count);
}

/* `windows` that follow each other, and their outputs. */
SIMD_INLINE void windows8(const int wide, const int is_signed, const Windows8 *s, ptrdiff_t multiplier, ptrdiff_t windows, uint8_t *y) {
  const ptrdiff_t block = (HEAD8 + s->taps) * VL;
  for (ptrdiff_t window = 0; window < windows; window += WINDOWS8) {
    const ptrdiff_t count = windows - window < WINDOWS8 ? windows - window : WINDOWS8;
    const int32_t *w = s->packed;
    for (ptrdiff_t c = 0; c < s->channels; c += VL, w += block) {
      if (wide) {
        const ptrdiff_t n = s->channels - c < VL ? s->channels - c : VL;
        windows_block8(1, 1, is_signed, s, w, window * s->pixel + c / multiplier, w[3 * VL - 1] + 1, c, n, count, window, y);
      } else if (c + VL <= s->channels) windows_block8(0, 0, is_signed, s, w, window * s->pixel + c, VL, c, VL, count, window, y);
      else if (s->channels >= VL) { /* some channels again */
        const ptrdiff_t first = s->channels - VL;
        windows_block8(0, 0, is_signed, s, w, window * s->pixel + first, VL, first, VL, count, window, y);
      } else windows_block8(PARTS_DIRECT8, 0, is_signed, s, w, window * s->pixel, s->channels, 0, s->channels, count, window, y);
    }
  }
}

static void direct_windows8(const Windows8 *s, ptrdiff_t multiplier, ptrdiff_t windows, uint8_t *y) {
  if (multiplier == 1 && s->is_signed) windows8(0, 1, s, multiplier, windows, y);
  else if (multiplier == 1) windows8(0, 0, s, multiplier, windows, y);
  else if (PARTS_DIRECT8 && s->is_signed) windows8(PARTS_DIRECT8, 1, s, multiplier, windows, y);
  else if (PARTS_DIRECT8) windows8(PARTS_DIRECT8, 0, s, multiplier, windows, y);
}
#else
enum { DIRECT8 = 0, PARTS_DIRECT8 = 0, HEAD8 = 3 };
static void direct_windows8(const Windows8 *s, ptrdiff_t multiplier, ptrdiff_t windows, uint8_t *y) { (void)s; (void)multiplier; (void)windows; (void)y; }
#endif
#endif
