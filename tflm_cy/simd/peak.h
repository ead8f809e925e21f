/* Multiplications and additions as fast as they go, all in registers: what a kernel's time is compared with. Each returns how many it did. */
#ifndef TFLM_CY_SIMD_PEAK_H
#define TFLM_CY_SIMD_PEAK_H

#include "step8.h"

/* Twelve sums: more than an addition's latency times the units, fewer than there are registers; each in a variable, an array would be stored. */
#define PEAK_SUMS 12
#define PEAK_EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define PEAK_LOOP(ADD) \
  PEAK_EACH(PEAK_BEGIN) \
  for (int64_t r = 0; r < rounds; r++) { PEAK_EACH(ADD) } \
  PEAK_EACH(PEAK_USE)
#define PEAK_USE(i) __asm__ volatile("" : : SIMD_PLACE(s##i));

#if SIMD_ISA != 0
static int64_t peak_f32(int64_t rounds) {
  const vf a = vf_set1(1), b = vf_set1(0);
#define PEAK_BEGIN(i) vf s##i = b;
#define PEAK_ADD(i) s##i = vf_fma(a, b, s##i); SIMD_KEEP(s##i);
  PEAK_LOOP(PEAK_ADD)
#undef PEAK_BEGIN
#undef PEAK_ADD
  return rounds * PEAK_SUMS * VL;
}
#else
static int64_t (*const peak_f32)(int64_t) = NULL; /* no float products without fused multiply-add */
#endif

static int64_t peak_s8(int64_t rounds) {
  vb a = vb_set1(1), b = vb_set1(0);
  SIMD_KEEP(b); /* else products with 0 are left out */
#define PEAK_BEGIN(i) vi s##i = b;
#define PEAK_ADD(i) SIMD_KEEP(a); s##i = dot8(s##i, a, b); SIMD_KEEP(s##i); /* nothing is known of a: no product is computed once for all */
  PEAK_LOOP(PEAK_ADD)
#undef PEAK_BEGIN
#undef PEAK_ADD
  return rounds * PEAK_SUMS * VB / PARTS8;
}

#if defined(__AMX_INT8__) || defined(__AMXINT8__) /* clang before 17 spells it so */
static int64_t peak_tiles(int64_t rounds) {
  _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
  _tile_zero(4); _tile_zero(5); _tile_zero(6); _tile_zero(7);
  for (int64_t r = 0; r < rounds; r++) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  return rounds * 4 * 16 * 16 * 64;
}
#endif

#endif
