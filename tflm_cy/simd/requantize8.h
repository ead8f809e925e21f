/* From int32 sums to bytes, the way of arithmetic/xnnpack/requantize.pxd: vectors of sums times a scale per lane, rounded, packed.
 *
 * Sums may be *raised*: begun RAISED8 higher, which are the bits of 2^23 as a float. Read as a float, a raised sum is then 2^23 plus itself, if it is one
 * of 0 .. 2^23, and one multiplication and addition makes sum * scale of it, rounded once, as converting and multiplying do: 2^23 * scale is exact. Of a
 * sum below 0 it makes something below 0, of a greater one at least 2^23 * scale: right where both are beyond the limits of bytes (requantize8.pxd). */
#ifndef TFLM_CY_SIMD_REQUANTIZE8_H
#define TFLM_CY_SIMD_REQUANTIZE8_H

#include "simd.h"

enum { RAISES8 = SIMD_ISA != 0, RAISED8 = 0x4B000000 }; /* portable C may have no instruction that rounds once */

SIMD_INLINE vf product8(const int magic_bias, vi sum, vf scale) {
  return magic_bias ? vf_fma(vf_from_bits(sum), scale, vf_mul(scale, vf_set1(-0x1p23f))) : vf_mul(vf_from_vi(sum), scale);
}

#ifdef __aarch64__
/* The definition's scaled_half_up, of scales below 256: the 24 bits of a scale times 2^7 are a multiplier of 31 bits. */
#if SIMD_ISA == 128
SIMD_INLINE vi scaled_half_up8(vi x, vf scale) {
  const int32x4_t bits = vreinterpretq_s32_f32(simd_f32(scale)), right = vsubq_s32(vdupq_n_s32(126), vshrq_n_s32(bits, 23));
  const int32x4_t factor = vshlq_n_s32(vorrq_s32(vandq_s32(bits, vdupq_n_s32(0x7FFFFF)), vdupq_n_s32(0x800000)), 7);
  const int32x4_t one = vdupq_n_s32(1), left = vmaxq_s32(vsubq_s32(one, right), vdupq_n_s32(0));
  return (vi)vrshlq_s32(vqdmulhq_s32(vqshlq_s32(simd_i32(x), left), factor), vnegq_s32(vmaxq_s32(right, one)));
}
#else
SIMD_INLINE vi scaled_half_up8(vi x, vf scale) {
  const vi bits = (vi)scale;
  vi y;
  SIMD_LANES(i) {
    const int wanted = 150 - (int)((uint32_t)bits[i] >> 23), right = wanted < 62 ? wanted : 62;
    y[i] = (int32_t)(((int64_t)x[i] * ((bits[i] & 0x7FFFFF) | 0x800000) + ((int64_t)1 << (right - 1))) >> right);
  }
  return y;
}
#endif
SIMD_INLINE vi scaled8(const int magic_bias, const int is_signed, vi sum, vf scale) {
  return is_signed ? vi_from_vf(product8(magic_bias, sum, scale)) : scaled_half_up8(sum, scale); /* sums of uint8 are not raised */
}
#else
SIMD_INLINE vi scaled8(const int magic_bias, const int is_signed, vi sum, vf scale) {
  (void)is_signed;
  return vi_from_vf(product8(magic_bias, sum, scale));
}
#endif

/* What scaled8 gives, with the zero point and limits of the outputs; of raised sums, all three are those of bytes. */
SIMD_INLINE vb bytes8(const int magic_bias, const int is_signed, vi a, vi b, vi c, vi d, vb zero, vb low, vb high) {
  if (magic_bias) {
    const vb out = vb_pack(a, b, c, d);
    return is_signed ? vb_xor(out, vb_set1(128)) : out;
  }
  if (is_signed) return vb_min_s(vb_max_s(vb_pack_s(a, b, c, d, zero), low), high);
  return vb_min_u(vb_max_u(vb_pack_u(a, b, c, d, zero), low), high);
}
#endif
