/* Vectors of 16 bytes: the part of `simd.h` that C says itself, as the compiler makes it of SSE2 or NEON. What has instructions that a compiler
 * would not find is in simd_neon.h, or in portable C in simd_portable.h. */
#ifndef TFLM_CY_SIMD_16_H
#define TFLM_CY_SIMD_16_H

enum { VL = 4, VB = 16 };
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef vi vb; /* bytes and words are seen through the types below */
typedef int8_t simd_s8 __attribute__((vector_size(16)));
typedef uint8_t simd_u8 __attribute__((vector_size(16)));
typedef int16_t simd_s16 __attribute__((vector_size(16)));
typedef uint16_t simd_u16 __attribute__((vector_size(16)));
typedef uint32_t simd_u32 __attribute__((vector_size(16))); /* sums wrap */

#define SIMD_LANES(i) for (int i = 0; i < 4; i++)
#define SIMD_IF(mask, a, b) (((vi)(mask) & (vi)(a)) | (~(vi)(mask) & (vi)(b)))
#ifdef __clang__
#define SIMD_SHUFFLE(MASK, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SIMD_SHUFFLE(MASK, a, b, ...) __builtin_shuffle(a, b, (MASK){__VA_ARGS__})
#endif

SIMD_INLINE vf vf_load(const float *p) { vf r; memcpy(&r, p, 16); return r; }
SIMD_INLINE void vf_store(float *p, vf a) { memcpy(p, &a, 16); }
SIMD_INLINE vf vf_set1(float x) { return (vf){x, x, x, x}; }
SIMD_INLINE vf vf_add(vf a, vf b) { return a + b; }
SIMD_INLINE vf vf_sub(vf a, vf b) { return a - b; }
SIMD_INLINE vf vf_mul(vf a, vf b) { return a * b; }
SIMD_INLINE vf vf_div(vf a, vf b) { return a / b; }
SIMD_INLINE vf vf_from_vi(vi a) { return __builtin_convertvector(a, vf); }
SIMD_INLINE vf vf_from_bits(vi a) { return (vf)a; }
SIMD_INLINE vi vi_cut_vf(vf a) { return __builtin_convertvector(a, vi); }

SIMD_INLINE vi vi_load(const int32_t *p) { vi r; memcpy(&r, p, 16); return r; }
SIMD_INLINE void vi_store(int32_t *p, vi a) { memcpy(p, &a, 16); }
SIMD_INLINE vi vi_set1(int32_t x) { return (vi){x, x, x, x}; }
SIMD_INLINE vi vi_add(vi a, vi b) { return (vi)((simd_u32)a + (simd_u32)b); }
SIMD_INLINE vi vi_sub(vi a, vi b) { return (vi)((simd_u32)a - (simd_u32)b); }
SIMD_INLINE vi vi_mul(vi a, vi b) { return (vi)((simd_u32)a * (simd_u32)b); }
SIMD_INLINE vi vi_sra(vi a, int n) { return a >> n; }

SIMD_INLINE vb vb_load(const void *p) { vb r; memcpy(&r, p, 16); return r; }
SIMD_INLINE void vb_store(void *p, vb a) { memcpy(p, &a, 16); }
SIMD_INLINE vb vb_set1(int x) { return (vb)((simd_u8){0} + (uint8_t)x); }
SIMD_INLINE vb vb_set1_16(int x) { return (vb)((simd_u16){0} + (uint16_t)x); }
SIMD_INLINE vb vb_set1_32(const void *p) { int32_t x; memcpy(&x, p, 4); return (vb){x, x, x, x}; }
SIMD_INLINE vb vb_xor(vb a, vb b) { return a ^ b; }
SIMD_INLINE vb vb_and(vb a, vb b) { return a & b; }
SIMD_INLINE vb vb_unlane(vb a) { return a; }
SIMD_INLINE vb vb_lane(vb a) { return a; }

#if SIMD_ISA == 128
#include "simd_neon.h"
#else
#include "simd_portable.h"
#endif
#endif
