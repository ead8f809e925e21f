/* The inner loops of depthwise_f32_unfused.pxi: some pixels of a row times some vectors of channels, tap after tap.
 *
 * Packed weights of a vector of channels: its biases, then its taps in the order of the filter. */
#ifndef TFLM_CY_SIMD_DEPTHWISE_ORDERED32_H
#define TFLM_CY_SIMD_DEPTHWISE_ORDERED32_H

#include "simd.h"

typedef struct {
  ptrdiff_t row;          /* floats from an input row below the filter to the next */
  ptrdiff_t tap;          /* from a tap of a row to the next */
  ptrdiff_t pixel;        /* from the first tap of an output pixel to that of the next */
  ptrdiff_t kw;           /* taps of a row in the packed weights */
  ptrdiff_t fy0, fy1, fx0, fx1;
  ptrdiff_t y_pixel;
  ptrdiff_t n;            /* channels, when they are fewer than a vector */
  ptrdiff_t vector;       /* floats of the weights of a vector of channels, biases included */
  ptrdiff_t needed;       /* with a depth multiplier: input channels of a vector, */
  int32_t order[VL];      /* and which of them each output channel sees */
  int bias_first, nan;
  float low, high;
} Taps32;

typedef void (*Taps32Function)(Taps32 *t, const float *x, const float *w, float *y);

#define UNROLL32T _Pragma("GCC unroll 8")

#if SIMD_ISA >= 256
enum { REPEATS32 = 1 };
SIMD_INLINE vf repeated32(const float *p, ptrdiff_t n, vi order) { return vf_permute(vf_load_part(p, n), order); }
#else
enum { REPEATS32 = 0 };
SIMD_INLINE vf repeated32(const float *p, ptrdiff_t n, vi order) { (void)order; return vf_load_part(p, n); }
#endif

/* x: at the first tap (fy0, fx0) of the first pixel. */
SIMD_INLINE void taps32(const int X, const int NC, const int PART, const int WIDE, Taps32 *t, const float *x, const float *w, float *y) {
  vf acc[8];
  const vi order = WIDE ? vi_load(t->order) : vi_set1(0);
  (void)order;
  UNROLL32T for (int j = 0; j < NC; j++) {
    const vf start = t->bias_first ? vf_load(w + j * t->vector) : vf_set1(0);
    UNROLL32T for (int p = 0; p < X; p++) acc[p * NC + j] = start;
  }
  for (ptrdiff_t fy = t->fy0; fy < t->fy1; fy++) {
    const float *at = x + (fy - t->fy0) * t->row, *taps = w + VL + (fy * t->kw + t->fx0) * VL;
    for (ptrdiff_t fx = t->fx0; fx < t->fx1; fx++) {
      UNROLL32T for (int j = 0; j < NC; j++) {
        const vf v = vf_load(taps + j * t->vector);
        UNROLL32T for (int p = 0; p < X; p++) {
          const float *from = at + p * t->pixel + j * VL;
          const vf seen = WIDE ? repeated32(from, t->needed, order) : PART ? vf_load_part(from, t->n) : vf_load(from);
          acc[p * NC + j] = vf_add(acc[p * NC + j], vf_mul(seen, v));
        }
      }
      at += t->tap;
      taps += VL;
    }
  }
  const vf low = vf_set1(t->low), high = vf_set1(t->high);
  int nan = 0;
  UNROLL32T for (int p = 0; p < X; p++)
    UNROLL32T for (int j = 0; j < NC; j++) {
      vf v = acc[p * NC + j];
      float *to = y + p * t->y_pixel + j * VL;
      nan |= vf_nan(v);
      if (!t->bias_first) v = vf_add(v, vf_load(w + j * t->vector));
      v = vf_min(high, vf_max(low, v));
      if (PART) vf_store_part(to, v, t->n);
      else vf_store(to, v);
    }
  t->nan |= nan;
}

#define TAPS32(NAME, X, NC, PART, WIDE) \
  static void NAME(Taps32 *t, const float *x, const float *w, float *y) { taps32(X, NC, PART, WIDE, t, x, w, y); }
TAPS32(taps32_8, 8, 1, 0, 0)
TAPS32(taps32_4, 4, 1, 0, 0)
TAPS32(taps32_1, 1, 1, 0, 0)
TAPS32(taps32_1x4, 1, 4, 0, 0)
TAPS32(taps32_8_part, 8, 1, 1, 0)
TAPS32(taps32_4_part, 4, 1, 1, 0)
TAPS32(taps32_1_part, 1, 1, 1, 0)
#if SIMD_ISA >= 256
TAPS32(taps32_8_wide, 8, 1, 1, 1)
TAPS32(taps32_4_wide, 4, 1, 1, 1)
TAPS32(taps32_1_wide, 1, 1, 1, 1)
#else
static const Taps32Function taps32_8_wide = NULL, taps32_4_wide = NULL, taps32_1_wide = NULL;
#endif
#endif
