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

/* Whole numbers with the zero point and limits of the outputs; of raised sums, all three are those of bytes. */
SIMD_INLINE vb bytes8(const int magic_bias, const int is_signed, vi a, vi b, vi c, vi d, vb zero, vb low, vb high) {
  if (magic_bias) {
    const vb out = vb_pack(a, b, c, d);
    return is_signed ? vb_xor(out, vb_set1(128)) : out;
  }
  if (is_signed) return vb_min_s(vb_max_s(vb_pack_s(a, b, c, d, zero), low), high);
  return vb_min_u(vb_max_u(vb_pack_u(a, b, c, d, zero), low), high);
}
#endif
