/* Eigen's functions of float32 (arithmetic/eigen.pxd, arithmetic/optimized/power.pxd), VL values at a time: each step is the definition's, so a NaN that
 * goes in comes out with its bits. Where a power needs more than these steps the caller is told, and computes the vector by the definition.
 *
 * The sum of a row adds up in row_sum_f32's order; if it is NaN, the definition says which one. */
#ifndef TFLM_CY_SIMD_FUNCTIONS_EIGEN_H
#define TFLM_CY_SIMD_FUNCTIONS_EIGEN_H

#include "reciprocal.h"
#include "simd.h"

typedef float Floats __attribute__((vector_size(4 * VL)));
typedef int32_t Whole __attribute__((vector_size(4 * VL)));
typedef uint32_t Bits __attribute__((vector_size(4 * VL)));

enum { VECTORS = 3 }; /* that a function computes together */
#define FLOATS(X) ((Floats){0} + (float)(X)) /* not for zeros whose sign counts */
SIMD_INLINE Floats floats_if(Whole mask, Floats a, Floats b) { return (Floats)((mask & (Whole)a) | (~mask & (Whole)b)); }
SIMD_INLINE Floats floats_of(vf v) {
  Floats a;
  memcpy(&a, &v, sizeof a);
  return a;
}
SIMD_INLINE vf vf_of(Floats a) {
  vf v;
  memcpy(&v, &a, sizeof a);
  return v;
}
SIMD_INLINE Floats floats_load(const float *p, ptrdiff_t n) { return floats_of(n >= VL ? vf_load(p) : vf_load_part(p, n)); }
SIMD_INLINE void floats_store(float *p, Floats a, ptrdiff_t n) {
  if (n >= VL) vf_store(p, vf_of(a));
  else vf_store_part(p, vf_of(a), n);
}
SIMD_INLINE Floats floats_min(Floats a, Floats b) { return floats_of(vf_min(vf_of(a), vf_of(b))); } /* a < b ? a : b */
SIMD_INLINE Floats floats_max(Floats a, Floats b) { return floats_of(vf_max(vf_of(a), vf_of(b))); } /* a > b ? a : b */

/* a * b + c: machine.pxd's product_plus. */
SIMD_INLINE Floats floats_plus(Floats a, Floats b, Floats c) {
#if SIMD_ISA == 128
  return (Floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(__aarch64__)
  for (int l = 0; l < VL; l++) c[l] = __builtin_fmaf(a[l], b[l], c[l]);
  return c;
#else
  return a * b + c;
#endif
}

/* Of values whose floor int32 holds. */
SIMD_INLINE Floats floats_floor(Floats a) {
#if SIMD_ISA == 512
  return (Floats)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif SIMD_ISA == 256
  return (Floats)_mm256_floor_ps((__m256)a);
#elif SIMD_ISA == 128
  return (Floats)vrndmq_f32((float32x4_t)a);
#else
  const Whole cut = __builtin_convertvector(a, Whole);
  return __builtin_convertvector(cut + (Whole)(__builtin_convertvector(cut, Floats) > a), Floats);
#endif
}

/* 2^exponent of -126 .. 127 */
SIMD_INLINE Floats floats_two_to(Whole exponent) { return (Floats)(((Bits)exponent + 127) << 23); }

/* A function computes `count` vectors step by step: each step waits for the one before, and a processor looks ahead over few vectors' steps. */
#define EACH for (int v = 0; v < count; v++)

/* x = exponent * ln 2 + the rest that is left in x. */
SIMD_INLINE void reduce_range(Floats *x, Whole *exponent, int count) {
  Floats m[VECTORS];
  EACH m[v] = floats_floor(floats_plus(x[v], FLOATS(1.44269504088896341f), FLOATS(0.5f)));
  EACH exponent[v] = __builtin_convertvector(m[v], Whole);
  EACH x[v] = floats_plus(m[v], FLOATS(2.12194440e-4f), floats_plus(m[v], FLOATS(-0.693359375f), x[v]));
}

SIMD_INLINE void logistic_vectors(Floats *a, int count) {
  const Floats most = FLOATS(16.6355324f), least = FLOATS(-110.0f);
  Floats r[VECTORS], r2[VECTORS], even[VECTORS], odd[VECTORS], p[VECTORS];
  Whole exponent[VECTORS];
  EACH r[v] = floats_max(least, floats_min(most, a[v])) * 0.5f;
  reduce_range(r, exponent, count);
  EACH r2[v] = r[v] * r[v];
  EACH even[v] = floats_plus(r2[v], FLOATS(4.1898667812347412109375e-2f), FLOATS(0.49999141693115234375f));
  EACH odd[v] = floats_plus(r2[v], FLOATS(8.33471305668354034423828125e-3f), FLOATS(0.16666877269744873046875f));
  EACH p[v] = floats_plus(r2[v], floats_plus(r[v], odd[v], even[v]), r[v] + 1.0f);
  EACH p[v] = p[v] * floats_two_to(exponent[v]);
  EACH p[v] = p[v] * p[v];
  EACH a[v] = floats_if(a[v] < FLOATS(-104.0f), FLOATS(0), p[v] / (1.0f + p[v]));
}

SIMD_INLINE void tanh_vectors(Floats *a, int count) {
#ifdef __aarch64__
  const Floats most = FLOATS(8.01773357391357422f);
#else
  const Floats most = FLOATS(7.90738964080810547f);
#endif
  Floats x[VECTORS], x2[VECTORS], p[VECTORS], q[VECTORS];
  EACH x[v] = floats_max(-most, floats_min(most, a[v]));
  EACH x2[v] = x[v] * x[v];
  EACH p[v] = floats_plus(FLOATS(1.394553628e-8f), x2[v], FLOATS(2.102733560e-5f));
  EACH q[v] = floats_plus(FLOATS(8.015776984e-7f), x2[v], FLOATS(3.326951409e-4f));
  EACH p[v] = floats_plus(p[v], x2[v], FLOATS(3.520756727e-3f));
  EACH q[v] = floats_plus(q[v], x2[v], FLOATS(2.597254514e-2f));
  EACH p[v] = floats_plus(p[v], x2[v], FLOATS(1.340216100e-1f));
  EACH q[v] = floats_plus(q[v], x2[v], FLOATS(4.673548340e-1f));
  EACH q[v] = floats_plus(q[v], x2[v], FLOATS(1));
  EACH a[v] = floats_plus(x2[v] * x[v], p[v], x[v]) / q[v];
}

SIMD_INLINE void exp_vectors(Floats *a, int count) {
  const Floats most = FLOATS(88.723f), least = FLOATS(-110.0f);
  Floats r[VECTORS], r2[VECTORS], even[VECTORS], odd[VECTORS], p[VECTORS];
  Whole exponent[VECTORS];
  EACH r[v] = floats_max(least, floats_min(most, a[v]));
  reduce_range(r, exponent, count);
  EACH r2[v] = r[v] * r[v];
  EACH even[v] = floats_plus(r2[v], FLOATS(1.37449637986719608306884765625e-3f), FLOATS(4.166965186595916748046875e-2f));
  EACH odd[v] = floats_plus(r2[v], FLOATS(8.36894474923610687255859375e-3f), FLOATS(0.16666518151760101318359375f));
  EACH even[v] = floats_plus(r2[v], even[v], FLOATS(0.49999988079071044921875f));
  EACH p[v] = floats_plus(r2[v], floats_plus(r[v], odd[v], even[v]), r[v] + 1.0f);
  EACH p[v] = p[v] * floats_two_to(exponent[v] >> 1) * floats_two_to(exponent[v] - (exponent[v] >> 1));
  EACH a[v] = floats_if(a[v] < FLOATS(-104.0f), FLOATS(0), floats_max(a[v], p[v]));
}

/* The CPU's approximation of 1 / a with a step of Newton's iteration; what is NaN then gets the approximation. */
SIMD_INLINE Floats inverse_floats(Floats a) {
#if SIMD_ISA >= 256
#if SIMD_ISA == 512
  const __m256 low = _mm256_rcp_ps(_mm512_castps512_ps256((__m512)a)), high = _mm256_rcp_ps(_mm512_extractf32x8_ps((__m512)a, 1));
  const Floats x = (Floats)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#else
  const Floats x = (Floats)_mm256_rcp_ps((__m256)a);
#endif
  const Floats rest = 1.0f - a * x;
  return floats_if(rest == rest, x + x * rest, x);
#else
  float v[VL];
  Floats x, rest;
  memcpy(v, &a, sizeof a);
  if (tflm_cy_inverses(v, VL, 0) == VL) {
    memcpy(&x, v, sizeof x);
    return x;
  }
  x = 1.0f / a;
  rest = 1.0f - a * x;
  return floats_if(rest == rest, x + x * rest, x);
#endif
}

/* What x * x has lost in x2, from 1 on. */
SIMD_INLINE Floats square_rest_floats(Floats x, Floats x2) {
#if SIMD_ISA == 512
  return (Floats)_mm512_fmsub_ps((__m512)x, (__m512)x, (__m512)x2);
#elif SIMD_ISA == 256
  return (Floats)_mm256_fmsub_ps((__m256)x, (__m256)x, (__m256)x2);
#elif SIMD_ISA == 128
  return (Floats)vfmaq_f32((float32x4_t)-x2, (float32x4_t)x, (float32x4_t)x);
#else
  for (int l = 0; l < VL; l++) x2[l] = (float)((double)x[l] * (double)x[l] - (double)x2[l]);
  return x2;
#endif
}

SIMD_INLINE void erfc_vectors(Floats *a, int count) {
  Floats x[VECTORS], x2[VECTORS], near[VECTORS], e[VECTORS], q[VECTORS], p[VECTORS], d[VECTORS];
  EACH x[v] = floats_max(FLOATS(-11.0f), floats_min(FLOATS(11.0f), a[v]));
  EACH x2[v] = x[v] * x[v];
  EACH near[v] = floats_plus(FLOATS(5.61802298761904239654541015625e-04f), x2[v], FLOATS(-4.91381669417023658752441406250e-03f));
  EACH near[v] = floats_plus(near[v], x2[v], FLOATS(2.67075151205062866210937500000e-02f));
  EACH near[v] = floats_plus(near[v], x2[v], FLOATS(-1.12800106406211853027343750000e-01f));
  EACH near[v] = floats_plus(near[v], x2[v], FLOATS(3.76122951507568359375000000000e-01f));
  EACH near[v] = floats_plus(near[v], x2[v], FLOATS(-1.12837910652160644531250000000e+00f));
  EACH near[v] = floats_plus(x[v], near[v], FLOATS(1));
  EACH e[v] = -x2[v];
  exp_vectors(e, count);
  EACH e[v] = floats_plus(-e[v], square_rest_floats(x[v], x2[v]), e[v]);
  EACH q[v] = inverse_floats(x2[v]);
  EACH p[v] = floats_plus(FLOATS(1.0208116471767425537109375e-01f), q[v], FLOATS(4.2920666933059692382812500e-01f));
  EACH d[v] = floats_plus(FLOATS(1.7251677811145782470703125e-02f), q[v], FLOATS(3.9137163758277893066406250e-01f));
  EACH p[v] = floats_plus(p[v], q[v], FLOATS(3.2379078865051269531250000e-01f));
  EACH d[v] = floats_plus(d[v], q[v], FLOATS(1));
  EACH p[v] = floats_plus(p[v], q[v], FLOATS(5.3971976041793823242187500e-02f));
  EACH d[v] = floats_plus(d[v], q[v], FLOATS(6.2173241376876831054687500e-01f));
  EACH d[v] = floats_plus(d[v], q[v], FLOATS(9.5662862062454223632812500e-02f));
  EACH a[v] = floats_if(x2[v] > FLOATS(1), floats_plus(e[v], p[v] / (x[v] * d[v]), floats_if(x[v] < FLOATS(0), FLOATS(2), FLOATS(0))), near[v]);
}

SIMD_INLINE void gelu_vectors(Floats *a, int count) {
  Floats e[VECTORS];
  EACH e[v] = a[v] * -0.7071067811865476f;
  erfc_vectors(e, count);
  EACH a[v] = 0.5f * a[v] * e[v];
}
#undef EACH

/* y = FUNCTION of VALUE of x, for n values. */
#define OVER_VECTORS(FUNCTION, VALUE)                                                                \
  Floats a[VECTORS];                                                                                 \
  ptrdiff_t i = 0;                                                                                   \
  for (; i + VECTORS * VL <= n; i += VECTORS * VL) {                                                 \
    for (int v = 0; v < VECTORS; v++) a[v] = VALUE(floats_load(x + i + v * VL, VL));                 \
    FUNCTION(a, VECTORS);                                                                            \
    for (int v = 0; v < VECTORS; v++) floats_store(y + i + v * VL, a[v], VL);                        \
  }                                                                                                  \
  for (; i < n; i += VL) {                                                                           \
    a[0] = VALUE(floats_load(x + i, n - i));                                                         \
    FUNCTION(a, 1);                                                                                  \
    floats_store(y + i, a[0], n - i);                                                                \
  }
#define AS_IT_IS(value) (value)
#define SCALED(value) (((value) - top) * beta)

static void logistic_eigen(const float *x, float *y, ptrdiff_t n) { OVER_VECTORS(logistic_vectors, AS_IT_IS) }
static void tanh_eigen(const float *x, float *y, ptrdiff_t n) { OVER_VECTORS(tanh_vectors, AS_IT_IS) }
static void gelu_eigen(const float *x, float *y, ptrdiff_t n) { OVER_VECTORS(gelu_vectors, AS_IT_IS) }
/* y = exp((x - top) * beta) */
static void exp_scaled_eigen(const float *x, float *y, ptrdiff_t n, float top, float beta) { OVER_VECTORS(exp_vectors, SCALED) }
#undef SCALED
#undef AS_IT_IS
#undef OVER_VECTORS

SIMD_INLINE Floats exp_floats(Floats a) {
  exp_vectors(&a, 1);
  return a;
}

/* y *= scale; and y = x - a - b */
static void scale_row_eigen(float *y, ptrdiff_t n, float scale) {
  for (ptrdiff_t i = 0; i < n; i += VL) floats_store(y + i, floats_load(y + i, n - i) * scale, n - i);
}
static void subtract_row_eigen(const float *x, float *y, ptrdiff_t n, float a, float b) {
  for (ptrdiff_t i = 0; i < n; i += VL) floats_store(y + i, floats_load(x + i, n - i) - a - b, n - i);
}

/* row_sum_f32 of a row with at least one block of eight. */
static float row_sum_eigen(const float *p, ptrdiff_t n, ptrdiff_t start) {
  typedef float Eight __attribute__((vector_size(32)));
  const ptrdiff_t blocks = (n - start) / 8;
  Eight a, b, c;
  float total;
  memcpy(&a, p + start, 32);
  if (blocks > 1) {
    memcpy(&b, p + start + 8, 32);
    for (ptrdiff_t i = 2; i + 2 <= blocks; i += 2) {
      memcpy(&c, p + start + 8 * i, 32);
      a = a + c;
      memcpy(&c, p + start + 8 * i + 8, 32);
      b = b + c;
    }
    a = b + a;
    if (blocks & 1) {
      memcpy(&c, p + start + 8 * (blocks - 1), 32);
      a = a + c;
    }
  }
  total = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
  for (ptrdiff_t i = 0; i < start; i++) total = total + p[i];
  for (ptrdiff_t i = start + 8 * blocks; i < n; i++) total = total + p[i];
  return total;
}

/* The largest of n >= VL values; 0: a NaN is among them, or it is a zero, whose sign depends on the order. */
static int row_largest_eigen(const float *x, ptrdiff_t n, float *largest) {
  Floats top = floats_load(x, VL), other = top, v, w;
  Whole nan = top != top;
  int32_t found = 0;
  float best;
  ptrdiff_t i = VL;
  for (; i + 2 * VL <= n; i += 2 * VL) {
    v = floats_load(x + i, VL);
    w = floats_load(x + i + VL, VL);
    nan |= (v != v) | (w != w);
    top = floats_max(v, top);
    other = floats_max(w, other);
  }
  for (; i < n; i += VL) { /* the last vector ends with the row */
    v = floats_load(x + (i + VL <= n ? i : n - VL), VL);
    nan |= v != v;
    top = floats_max(v, top);
  }
  top = floats_max(other, top);
  best = top[0];
  for (int l = 0; l < VL; l++) {
    best = top[l] > best ? top[l] : best;
    found |= nan[l];
  }
  *largest = best;
  return !found && best != 0;
}

/* ---- powers, in sums of two floats */
typedef struct { Floats high, low; } Pairs;

SIMD_INLINE Pairs pairs_sum(Floats x, Floats y) {
  Pairs s;
  s.high = x + y;
  s.low = y - (s.high - x);
  return s;
}
SIMD_INLINE Pairs pairs_split(Floats x) {
  const Floats gamma = 4097.0f * x;
  Pairs s;
  s.high = (x - gamma) + gamma;
  s.low = x - s.high;
  return s;
}
SIMD_INLINE Pairs pairs_product(Floats x, Floats y) {
  const Pairs a = pairs_split(x), b = pairs_split(y);
  Pairs p;
  p.high = x * y;
  p.low = a.high * b.high - p.high;
  p.low = a.high * b.low + p.low;
  p.low = a.low * b.high + p.low;
  p.low = a.low * b.low + p.low;
  return p;
}
SIMD_INLINE Pairs pairs_times(Pairs x, Floats y) {
  const Pairs c = pairs_product(x.high, y), t = pairs_sum(c.high, x.low * y);
  return pairs_sum(t.high, t.low + c.low);
}
SIMD_INLINE Pairs pairs_plus(double value, Pairs y) { /* value + y */
  const Floats high = FLOATS((float)value), low = FLOATS((float)(value - (double)(float)value));
  const Pairs r = pairs_sum(high, y.high);
  return pairs_sum(r.high, (y.low + r.low) + low);
}
SIMD_INLINE Floats floats_rounded(Floats x) { /* below 2^31 */
  const Whole whole = __builtin_convertvector(x + floats_if(x < FLOATS(0), FLOATS(-0.49999997f), FLOATS(0.49999997f)), Whole);
  return __builtin_convertvector(whole, Floats);
}

/* fractional_power of normal numbers whose power is one; the lanes of others are set in `others`. */
SIMD_INLINE Floats power_floats(Floats a, Floats y, Whole *others) {
  const Bits bits = (Bits)a;
  Whole exponent = (Whole)(bits >> 23) - 126, low;
  Floats m = (Floats)((bits & 0x7FFFFFu) | 0x3F000000u), x, p, whole, rest, more;
  Pairs s, f, g;
  low = m < FLOATS(0.70710678118654752440f);
  m = floats_if(low, 2.0f * m, m);
  exponent = exponent + low;
  x = m - 1.0f;
  p = FLOATS(9.7010828554630279541015625e-02f);
  p = floats_plus(p, x, FLOATS(-1.6896486282348632812500000e-01f));
  p = floats_plus(p, x, FLOATS(1.7200836539268493652343750e-01f));
  p = floats_plus(p, x, FLOATS(-1.7892272770404815673828125e-01f));
  p = floats_plus(p, x, FLOATS(2.0505344867706298828125000e-01f));
  p = floats_plus(p, x, FLOATS(-2.4046677350997924804687500e-01f));
  p = floats_plus(p, x, FLOATS(2.8857553005218505859375000e-01f));
  p = floats_plus(p, x, FLOATS(-3.6067414283752441406250000e-01f));
  p = floats_plus(p, x, FLOATS(4.8089790344238281250000000e-01f));
  s = pairs_plus(-7.2134751588268664068692714863573201000690460205078125e-01, pairs_product(x, p));
  s = pairs_plus(1.442695041742110273474963832995854318141937255859375e+00, pairs_times(s, x));
  s = pairs_times(pairs_times(s, x), y);
  g = pairs_product(__builtin_convertvector(exponent, Floats), y);
  f = pairs_sum(g.high, s.high);
  f = pairs_sum(f.high, (s.low + f.low) + g.low);
  *others = ~((a >= FLOATS(0x1p-126f)) & (a < FLOATS(INFINITY)) & (f.high > FLOATS(-120)) & (f.high < FLOATS(120)));
  f.high = floats_if(*others, FLOATS(0), f.high);
  whole = floats_rounded(f.high);
  rest = f.high - whole + f.low;
  more = floats_rounded(rest);
  g = pairs_product(FLOATS(0.693147180559945309417232121458f), rest - more);
  rest = exp_floats(g.high) * (1.0f + g.low);
  rest = rest * floats_two_to(__builtin_convertvector(whole + more, Whole) & ~*others);
  return floats_if(a == FLOATS(1), FLOATS(1), rest);
}

/* y = x^exponent for VL values; 0: some need the definition. */
static int power_eigen(const float *x, float *y, float exponent) {
  Whole others;
  const Floats p = power_floats(floats_load(x, VL), FLOATS(exponent), &others);
  int32_t found = 0;
  for (int l = 0; l < VL; l++) found |= others[l];
  floats_store(y, p, VL);
  return !found;
}

/* ---- float16 */
#if SIMD_ISA == 512
#define FLOATS_OF_HALVES(p) ((Floats)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p))))
#define FLOATS_TO_HALVES(p, a) _mm256_storeu_si256((__m256i *)(p), _mm512_cvtps_ph((__m512)(a), 8))
#define FLOATS_AS_HALVES(a) ((Floats)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)(a), 8)))
#elif SIMD_ISA == 256
#define FLOATS_OF_HALVES(p) ((Floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p))))
#define FLOATS_TO_HALVES(p, a) _mm_storeu_si128((__m128i *)(p), _mm256_cvtps_ph((__m256)(a), 8))
#define FLOATS_AS_HALVES(a) ((Floats)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)(a), 8)))
#elif SIMD_ISA == 128
SIMD_INLINE Floats floats_of_halves(const void *p) { float16x4_t h; memcpy(&h, p, 8); return (Floats)vcvt_f32_f16(h); }
/* Of NaN only the sign is left (half.pxd's eigen_half). */
SIMD_INLINE void floats_to_halves(void *p, Floats a) {
  const uint16x4_t h = vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)a)), sign = vand_u16(h, vdup_n_u16(0x8000)), quiet = vdup_n_u16(0x7E00);
  const uint16x4_t some = vbsl_u16(vcgt_u16(veor_u16(h, sign), vdup_n_u16(0x7C00)), vorr_u16(sign, quiet), h);
  memcpy(p, &some, 8);
}
#define FLOATS_OF_HALVES(p) floats_of_halves(p)
#define FLOATS_TO_HALVES(p, a) floats_to_halves(p, a)
#define FLOATS_AS_HALVES(a) ((Floats)vcvt_f32_f16(vcvt_f16_f32((float32x4_t)(a))))
#endif

#ifdef FLOATS_OF_HALVES
SIMD_INLINE void logistic_half_steps(Floats *a, int count) {
  Floats e[VECTORS], sum;
  for (int v = 0; v < count; v++) e[v] = a[v];
  exp_vectors(e, count);
  for (int v = 0; v < count; v++) {
    e[v] = FLOATS_AS_HALVES(e[v]);
    sum = FLOATS_AS_HALVES(1.0f + e[v]);
    a[v] = floats_if(e[v] == FLOATS(INFINITY), FLOATS(1), e[v] / sum);
  }
}

#define HALVES_EIGEN(NAME, FUNCTION)                                                      \
  static void NAME(const uint16_t *x, uint16_t *y, ptrdiff_t n) {                         \
    Floats a[VECTORS];                                                                    \
    ptrdiff_t i = 0;                                                                      \
    uint16_t part[VL] = {0};                                                              \
    for (; i + VECTORS * VL <= n; i += VECTORS * VL) {                                    \
      for (int v = 0; v < VECTORS; v++) a[v] = FLOATS_OF_HALVES(x + i + v * VL);          \
      FUNCTION(a, VECTORS);                                                               \
      for (int v = 0; v < VECTORS; v++) FLOATS_TO_HALVES(y + i + v * VL, a[v]);           \
    }                                                                                     \
    for (; i < n; i += VL) {                                                              \
      const size_t size = (size_t)(n - i < VL ? n - i : VL) * 2;                          \
      memcpy(part, x + i, size);                                                          \
      a[0] = FLOATS_OF_HALVES(part);                                                      \
      FUNCTION(a, 1);                                                                     \
      FLOATS_TO_HALVES(part, a[0]);                                                       \
      memcpy(y + i, part, size);                                                          \
    }                                                                                     \
  }
HALVES_EIGEN(logistic_half_vectors, logistic_half_steps)
#endif
typedef void (*HalfFunctionEigen)(const uint16_t *, uint16_t *, ptrdiff_t);
#if SIMD_ISA >= 256
HALVES_EIGEN(tanh_half_vectors, tanh_vectors)
static const HalfFunctionEigen logistic_half_eigen = logistic_half_vectors, tanh_half_eigen = tanh_half_vectors;
#elif defined(FLOATS_OF_HALVES)
static const HalfFunctionEigen logistic_half_eigen = logistic_half_vectors, tanh_half_eigen = NULL; /* of libm's */
#else
static const HalfFunctionEigen logistic_half_eigen = NULL, tanh_half_eigen = NULL; /* the definition serves */
#endif

#endif
