/* Vectors of NEON, as every aarch64 has them; with SIMD_DOTPROD products of four bytes are one instruction (SDOT). Part of simd_16.h.
 *
 * vi_dot4 multiplies signed bytes with signed ones (SIMD_ABOVE of simd.h is 0). Without SDOT products of bytes are words, and the sum of two of them is
 * one unless both are -128 * -128: vi_dot4_small adds them so. */
#ifndef TFLM_CY_SIMD_NEON_H
#define TFLM_CY_SIMD_NEON_H

#include <arm_neon.h>

SIMD_INLINE float32x4_t simd_f32(vf a) { return (float32x4_t)a; }
SIMD_INLINE int32x4_t simd_i32(vi a) { return (int32x4_t)a; }
SIMD_INLINE int8x16_t simd_i8(vb a) { return (int8x16_t)a; }
SIMD_INLINE uint8x16_t simd_u8x16(vb a) { return (uint8x16_t)a; }

/* Loads stay behind it: a compiler would begin with those of many steps, for which there are no registers. */
#define SIMD_NO_LOADS_EARLIER __asm__ volatile("" ::: "memory")

/* Fewer than 16 bytes: the first ones and the last ones, which may be the same. */
SIMD_INLINE uint64_t simd_bytes_from(const uint8_t *p, const ptrdiff_t n) { uint64_t x = 0; memcpy(&x, p, (size_t)n); return x; }
static __attribute__((noinline, unused)) vb simd_load_few(const uint8_t *p, ptrdiff_t n) {
  if (n >= 8) {
    const int half = 4 * (int)(16 - n); /* 64 bits are shifted out in two steps */
    return (vb)(uint64x2_t){simd_bytes_from(p, 8), simd_bytes_from(p + n - 8, 8) >> half >> half};
  }
  if (n >= 4) return (vb)(uint64x2_t){simd_bytes_from(p, 4) | simd_bytes_from(p + n - 4, 4) << 8 * (n - 4), 0};
  if (n <= 0) return (vb){0};
  return (vb)(uint64x2_t){p[0] | (uint64_t)p[n / 2] << 8 * (n / 2) | (uint64_t)p[n - 1] << 8 * (n - 1), 0};
}
static __attribute__((noinline, unused)) void simd_store_few(uint8_t *p, vb a, ptrdiff_t n) {
  uint64x2_t v = (uint64x2_t)a;
  uint64_t left = v[0];
  if (n & 8) {
    memcpy(p, &left, 8);
    left = v[1];
    p += 8;
  }
  if (n & 4) {
    memcpy(p, &left, 4);
    left >>= 32;
    p += 4;
  }
  if (n & 2) {
    memcpy(p, &left, 2);
    left >>= 16;
    p += 2;
  }
  if (n & 1) *p = (uint8_t)left;
}
SIMD_INLINE vb vb_load_part(const void *p, ptrdiff_t n) { return n >= 16 ? vb_load(p) : simd_load_few((const uint8_t *)p, n); }
SIMD_INLINE void vb_store_part(void *p, vb a, ptrdiff_t n) {
  if (n >= 16) vb_store(p, a);
  else simd_store_few((uint8_t *)p, a, n);
}

SIMD_INLINE vf vf_load_part(const float *p, ptrdiff_t n) {
  float32x4_t r = vdupq_n_f32(0);
  if (n >= 4) return vf_load(p);
  if (n & 2) r = vcombine_f32(vld1_f32(p), vdup_n_f32(0));
  if (n == 1) r = vld1q_lane_f32(p, r, 0);
  if (n == 3) r = vld1q_lane_f32(p + 2, r, 2);
  return (vf)r;
}
SIMD_INLINE void vf_store_part(float *p, vf a, ptrdiff_t n) {
  if (n >= 4) {
    vf_store(p, a);
    return;
  }
  if (n & 2) vst1_f32(p, vget_low_f32(simd_f32(a)));
  if (n == 1) vst1q_lane_f32(p, simd_f32(a), 0);
  if (n == 3) vst1q_lane_f32(p + 2, simd_f32(a), 2);
}
SIMD_INLINE vi vi_load_part(const int32_t *p, ptrdiff_t n) { return (vi)vf_load_part((const float *)p, n); }
SIMD_INLINE void vi_store_part(int32_t *p, vi a, ptrdiff_t n) { vf_store_part((float *)p, (vf)a, n); }

SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return (vf)vfmaq_f32(simd_f32(c), simd_f32(a), simd_f32(b)); }
SIMD_INLINE vf vf_fma_first(vf a, vf b, vf c) { return vf_fma(a, b, c); }
SIMD_INLINE vf vf_fma_first_at(vf a, const float *b, vf c) { return (vf)vfmaq_n_f32(simd_f32(c), simd_f32(a), *b); }
#define vf_fma_lane(a, b, LANE, c) ((vf)vfmaq_laneq_f32(simd_f32(c), simd_f32(a), simd_f32(b), LANE)) /* b: of all lanes the one */
SIMD_INLINE vf vf_min(vf a, vf b) { return (vf)vbslq_f32(vcltq_f32(simd_f32(a), simd_f32(b)), simd_f32(a), simd_f32(b)); }
SIMD_INLINE vf vf_max(vf a, vf b) { return (vf)vbslq_f32(vcgtq_f32(simd_f32(a), simd_f32(b)), simd_f32(a), simd_f32(b)); }
SIMD_INLINE vf vf_minimum(vf a, vf b) { return (vf)vminq_f32(simd_f32(a), simd_f32(b)); }
SIMD_INLINE vf vf_maximum(vf a, vf b) { return (vf)vmaxq_f32(simd_f32(a), simd_f32(b)); }
SIMD_INLINE vi vi_from_vf(vf a) { return (vi)vcvtnq_s32_f32(simd_f32(a)); }

SIMD_INLINE vi vi_min(vi a, vi b) { return (vi)vminq_s32(simd_i32(a), simd_i32(b)); }
SIMD_INLINE vi vi_max(vi a, vi b) { return (vi)vmaxq_s32(simd_i32(a), simd_i32(b)); }
SIMD_INLINE vi vi_from_s8(const void *p) {
  int8x8_t few = vdup_n_s8(0);
  memcpy(&few, p, 4);
  return (vi)vmovl_s16(vget_low_s16(vmovl_s8(few)));
}
SIMD_INLINE vi vi_from_u8(const void *p) {
  uint8x8_t few = vdup_n_u8(0);
  memcpy(&few, p, 4);
  return (vi)vmovl_u16(vget_low_u16(vmovl_u8(few)));
}
#ifdef SIMD_DOTPROD
SIMD_INLINE vi vi_dot4(vi acc, vb x, vb w) { return (vi)vdotq_s32(simd_i32(acc), simd_i8(x), simd_i8(w)); }
SIMD_INLINE vi vi_dot4_small(vi acc, vb x, vb w) { return vi_dot4(acc, x, w); }
#else
SIMD_INLINE vi vi_dot4(vi acc, vb x, vb w) {
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(simd_i8(x)), vget_low_s8(simd_i8(w)))), high = vpaddlq_s16(vmull_high_s8(simd_i8(x), simd_i8(w)));
  return (vi)vaddq_s32(simd_i32(acc), vpaddq_s32(low, high));
}
SIMD_INLINE vi vi_dot4_small(vi acc, vb x, vb w) {
  const int16x8_t low = vmull_s8(vget_low_s8(simd_i8(x)), vget_low_s8(simd_i8(w))), high = vmull_high_s8(simd_i8(x), simd_i8(w));
  return (vi)vpadalq_s16(simd_i32(acc), vpaddq_s16(low, high));
}
#endif
SIMD_INLINE int32_t vi_sum(vi a) { return vaddvq_s32(simd_i32(a)); }

SIMD_INLINE vb vb_sub_s(vb a, vb b) { return (vb)vqsubq_s8(simd_i8(a), simd_i8(b)); }
SIMD_INLINE vb vb_min_s(vb a, vb b) { return (vb)vminq_s8(simd_i8(a), simd_i8(b)); }
SIMD_INLINE vb vb_max_s(vb a, vb b) { return (vb)vmaxq_s8(simd_i8(a), simd_i8(b)); }
SIMD_INLINE vb vb_min_u(vb a, vb b) { return (vb)vminq_u8(simd_u8x16(a), simd_u8x16(b)); }
SIMD_INLINE vb vb_max_u(vb a, vb b) { return (vb)vmaxq_u8(simd_u8x16(a), simd_u8x16(b)); }
SIMD_INLINE vb vb_zip8_low(vb a, vb b) { return (vb)vzip1q_s8(simd_i8(a), simd_i8(b)); }
SIMD_INLINE vb vb_zip8_high(vb a, vb b) { return (vb)vzip2q_s8(simd_i8(a), simd_i8(b)); }
SIMD_INLINE vb vb_zip16_low(vb a, vb b) { return (vb)vzip1q_s16((int16x8_t)a, (int16x8_t)b); }
SIMD_INLINE vb vb_zip16_high(vb a, vb b) { return (vb)vzip2q_s16((int16x8_t)a, (int16x8_t)b); }
SIMD_INLINE vb vb_zip32_low(vb a, vb b) { return (vb)vzip1q_s32(simd_i32(a), simd_i32(b)); }
SIMD_INLINE vb vb_zip32_high(vb a, vb b) { return (vb)vzip2q_s32(simd_i32(a), simd_i32(b)); }
SIMD_INLINE vb vb_zip64_low(vb a, vb b) { return (vb)vzip1q_s64((int64x2_t)a, (int64x2_t)b); }
SIMD_INLINE vb vb_zip64_high(vb a, vb b) { return (vb)vzip2q_s64((int64x2_t)a, (int64x2_t)b); }

SIMD_INLINE int16x8_t simd_words(vi a, vi b) { return vqmovn_high_s32(vqmovn_s32(simd_i32(a)), simd_i32(b)); }
SIMD_INLINE vb vb_pack_s(vi a, vi b, vi c, vi d, vb zero) {
  const int16x8_t low = vqaddq_s16(simd_words(a, b), (int16x8_t)zero), high = vqaddq_s16(simd_words(c, d), (int16x8_t)zero);
  return (vb)vqmovn_high_s16(vqmovn_s16(low), high);
}
SIMD_INLINE vb vb_pack_u(vi a, vi b, vi c, vi d, vb zero) {
  const int16x8_t low = vqaddq_s16(simd_words(a, b), (int16x8_t)zero), high = vqaddq_s16(simd_words(c, d), (int16x8_t)zero);
  return (vb)vqmovun_high_s16(vqmovun_s16(low), high);
}
SIMD_INLINE vb vb_pack(vi a, vi b, vi c, vi d) { return (vb)vqmovun_high_s16(vqmovun_s16(simd_words(a, b)), simd_words(c, d)); }

SIMD_INLINE vb vb_gather(const uint8_t *p, ptrdiff_t step, const int pieces) {
  if (pieces == 1) return vb_load(p);
  if (pieces == 2) return (vb)vcombine_u8(vld1_u8(p), vld1_u8(p + step));
  int32_t four[4];
  for (int i = 0; i < 4; i++) memcpy(&four[i], p + i * step, 4);
  return vi_load(four);
}
SIMD_INLINE void vb_scatter(uint8_t *p, ptrdiff_t step, vb a, const int pieces, ptrdiff_t count) {
  if (pieces == 1) {
    vb_store(p, a);
  } else if (pieces == 2) {
    vst1_u8(p, vget_low_u8(simd_u8x16(a)));
    if (count > 1) vst1_u8(p + step, vget_high_u8(simd_u8x16(a)));
  } else {
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
      const int32_t four = a[i];
      if (i < count) memcpy(p + i * step, &four, 4);
    }
  }
}
#endif
