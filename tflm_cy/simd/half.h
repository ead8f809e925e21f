/* Vectors of half the width, of floats or int32, for channels behind the last whole vector: some CPUs take half the time for them.
 * Where a vector has eight floats anyway, a half one is a whole one, and HALF says that there are none. */
#ifndef TFLM_CY_SIMD_HALF_H
#define TFLM_CY_SIMD_HALF_H

#include "simd.h"

#if SIMD_ISA == 512
typedef __m256 vhalf;
enum { HALF = VL / 2 };
SIMD_INLINE vhalf vhalf_load(const float *p) { return _mm256_loadu_ps(p); }
SIMD_INLINE void vhalf_store(float *p, vhalf v) { _mm256_storeu_ps(p, v); }
SIMD_INLINE vhalf vhalf_set1(float x) { return _mm256_set1_ps(x); }
SIMD_INLINE vhalf vhalf_of(vf v) { return _mm512_castps512_ps256(v); }
SIMD_INLINE vf vhalf_whole(vhalf v) { return _mm512_castps256_ps512(v); }
SIMD_INLINE vhalf vhalf_fma_first(vhalf a, vhalf b, vhalf sum) { SIMD_FMA_FIRST(a, b, sum); return sum; }
#ifndef TFLM_CY_EMULATE_AVX512
SIMD_INLINE vhalf vhalf_fma_first_at(vhalf a, const float *b, vhalf sum) {
  __asm__("vfmadd231ps %2%{1to8%}, %1, %0" : "+v"(sum) : "v"(a), "m"(*b));
  return sum;
}
#else
SIMD_INLINE vhalf vhalf_fma_first_at(vhalf a, const float *b, vhalf sum) { return vhalf_fma_first(a, vhalf_set1(*b), sum); }
#endif
SIMD_INLINE vhalf vhalf_min(vhalf a, vhalf b) { return _mm256_min_ps(a, b); }
SIMD_INLINE vhalf vhalf_max(vhalf a, vhalf b) { return _mm256_max_ps(a, b); }
SIMD_INLINE vhalf vhalf_load_part(const float *p, ptrdiff_t n) { return vhalf_of(vf_load_part(p, n)); }
SIMD_INLINE void vhalf_store_part(float *p, vhalf v, ptrdiff_t n) { vf_store_part(p, vhalf_whole(v), n); }
typedef __m256i vihalf;
SIMD_INLINE vihalf vihalf_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
SIMD_INLINE vihalf vihalf_set1(int32_t x) { return _mm256_set1_epi32(x); }
SIMD_INLINE vihalf vihalf_add(vihalf a, vihalf b) { return _mm256_add_epi32(a, b); }
SIMD_INLINE vihalf vihalf_mul(vihalf a, vihalf b) { return _mm256_mullo_epi32(a, b); }
SIMD_INLINE vihalf vihalf_of(vi v) { return _mm512_castsi512_si256(v); }
SIMD_INLINE vihalf vihalf_dot4(vihalf acc, vihalf u, vihalf s) { return _mm256_dpbusd_epi32(acc, u, s); }
SIMD_INLINE vi vihalf_whole(vihalf a) { return _mm512_castsi256_si512(a); }
SIMD_INLINE vi vihalf_pair(vihalf a, vihalf b) { return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1); }
SIMD_INLINE vf vhalf_pair(vhalf a, vhalf b) { return _mm512_castsi512_ps(vihalf_pair(_mm256_castps_si256(a), _mm256_castps_si256(b))); }
#else
typedef vf vhalf;
enum { HALF = 0 };
SIMD_INLINE vhalf vhalf_load(const float *p) { return vf_load(p); }
SIMD_INLINE void vhalf_store(float *p, vhalf v) { vf_store(p, v); }
SIMD_INLINE vhalf vhalf_set1(float x) { return vf_set1(x); }
SIMD_INLINE vhalf vhalf_of(vf v) { return v; }
SIMD_INLINE vf vhalf_whole(vhalf v) { return v; }
SIMD_INLINE vhalf vhalf_fma_first(vhalf a, vhalf b, vhalf sum) { return vf_fma_first(a, b, sum); }
SIMD_INLINE vhalf vhalf_fma_first_at(vhalf a, const float *b, vhalf sum) { return vf_fma_first_at(a, b, sum); }
SIMD_INLINE vhalf vhalf_min(vhalf a, vhalf b) { return vf_minimum(a, b); }
SIMD_INLINE vhalf vhalf_max(vhalf a, vhalf b) { return vf_maximum(a, b); }
typedef vi vihalf;
SIMD_INLINE vihalf vihalf_load(const void *p) { return vi_load((const int32_t *)p); }
SIMD_INLINE vihalf vihalf_set1(int32_t x) { return vi_set1(x); }
SIMD_INLINE vihalf vihalf_add(vihalf a, vihalf b) { return vi_add(a, b); }
SIMD_INLINE vihalf vihalf_mul(vihalf a, vihalf b) { return vi_mul(a, b); }
SIMD_INLINE vi vihalf_whole(vihalf a) { return a; }
#endif
#endif
