"""Eight floats side by side, with exactly the operations that the xnnpack arithmetic is defined by. In the kernels for AVX-512
(`simd/isa_avx512.pyx`) they are sixteen: functions of single values (`unary.pxd`) count in LANES.

    cdef f32x8 v = load8(x)
    v = min8(high, max8(low, fma8(v, scale, bias)))     # lane by lane
    store8(y, v)

`+ - * /` between `f32x8` round as floats do; `& | << +` between `i32x8` wrap. A scalar operand must be a float (an int), not a double.
- fma8 rounds once. max8, min8 are the CPU's instructions, and a denormal counts as zero while its DAZ (FZ) is set. On x86-64 the SECOND
  operand is returned when one is NaN or both are zeros; on aarch64 a NaN stays, and +0 is greater than -0. A comparison and a choice in C
  would return it as it is, which is why these are functions.
- fma_first8, add8, mul8: fma8, + and * whose operands the compiler may not exchange, which shows in the result of two NaNs. A choice
  between x and its product is made of mul8: of `*` clang makes a product with 1 where x is chosen, which loses denormals and quiets NaN.
- less8, equal8 give all ones in a lane where it holds, `select8` chooses by them.
- `part` functions touch the first n lanes of memory only, n in 1 .. LANES; the others read +0.

Lanes never depend on each other: this is scalar arithmetic, eight at a time. Without AVX2 or NEON the lanes are loops.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t

cdef extern from *:
    """
    #include <math.h>
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #if defined(SIMD_ISA) && defined(__AVX512F__)
    #if SIMD_ISA == 512
    #define TFLM_CY_SIXTEEN
    #endif
    #endif
    #ifdef TFLM_CY_SIXTEEN
    enum { tflm_cy_lanes = 16 };
    #else
    enum { tflm_cy_lanes = 8 };
    #endif
    typedef float tflm_cy_f32x8 __attribute__((vector_size(4 * tflm_cy_lanes)));
    typedef int32_t tflm_cy_i32x8 __attribute__((vector_size(4 * tflm_cy_lanes)));
    #ifdef __AVX2__
    #include "store_part.h"
    #endif
    #ifdef TFLM_CY_SIXTEEN
    static inline tflm_cy_f32x8 tflm_cy_splat8(float v) { return (tflm_cy_f32x8)_mm512_set1_ps(v); }
    #else
    static inline tflm_cy_f32x8 tflm_cy_splat8(float v) { return (tflm_cy_f32x8){v, v, v, v, v, v, v, v}; }
    #endif
    static inline tflm_cy_f32x8 tflm_cy_load8(const float *p) { tflm_cy_f32x8 v; memcpy(&v, p, sizeof(v)); return v; }
    static inline void tflm_cy_store8(float *p, tflm_cy_f32x8 v) { memcpy(p, &v, sizeof(v)); }
    static inline tflm_cy_i32x8 tflm_cy_bits8(tflm_cy_f32x8 v) { return (tflm_cy_i32x8)v; }
    static inline tflm_cy_f32x8 tflm_cy_floats8(tflm_cy_i32x8 v) { return (tflm_cy_f32x8)v; }
    static inline tflm_cy_i32x8 tflm_cy_less8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) { return a < b; }
    static inline tflm_cy_i32x8 tflm_cy_equal8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) { return a == b; }
    #if defined(__AVX2__) && !defined(TFLM_CY_SIXTEEN)
    static inline tflm_cy_f32x8 tflm_cy_select8(tflm_cy_i32x8 which, tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      return (tflm_cy_f32x8)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)which);
    }
    #define tflm_cy_select_by_sign8(x, a, b) tflm_cy_select8((tflm_cy_i32x8)(x), a, b)
    #else
    static inline tflm_cy_f32x8 tflm_cy_select8(tflm_cy_i32x8 which, tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      return (tflm_cy_f32x8)((which & (tflm_cy_i32x8)a) | (~which & (tflm_cy_i32x8)b));
    }
    #define tflm_cy_select_by_sign8(x, a, b) tflm_cy_select8((tflm_cy_i32x8)(x) >> 31, a, b)
    #endif
    #if defined(TFLM_CY_SIXTEEN)
    static inline __mmask16 tflm_cy_first(ptrdiff_t n) { return (__mmask16)((1u << n) - 1); }
    static inline tflm_cy_f32x8 tflm_cy_load_part8(const float *p, ptrdiff_t n) {
      return (tflm_cy_f32x8)_mm512_maskz_loadu_ps(tflm_cy_first(n), p);
    }
    static inline void tflm_cy_store_part8(float *p, tflm_cy_f32x8 v, ptrdiff_t n) {
      _mm512_mask_storeu_ps(p, tflm_cy_first(n), (__m512)v);
    }
    static inline tflm_cy_f32x8 tflm_cy_fma8(tflm_cy_f32x8 a, tflm_cy_f32x8 b, tflm_cy_f32x8 c) {
      return (tflm_cy_f32x8)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    }
    static inline tflm_cy_f32x8 tflm_cy_fma_first8(tflm_cy_f32x8 a, tflm_cy_f32x8 b, tflm_cy_f32x8 c) {
      __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "vm"(b)); return c;
    }
    static inline tflm_cy_f32x8 tflm_cy_max8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      return (tflm_cy_f32x8)_mm512_max_ps((__m512)a, (__m512)b);
    }
    static inline tflm_cy_f32x8 tflm_cy_min8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      return (tflm_cy_f32x8)_mm512_min_ps((__m512)a, (__m512)b);
    }
    static inline tflm_cy_f32x8 tflm_cy_nearest8(tflm_cy_f32x8 v) { return (tflm_cy_f32x8)_mm512_roundscale_ps((__m512)v, 8); }
    static inline tflm_cy_f32x8 tflm_cy_floor8(tflm_cy_f32x8 v) { return (tflm_cy_f32x8)_mm512_roundscale_ps((__m512)v, 9); }
    static inline tflm_cy_f32x8 tflm_cy_ceil8(tflm_cy_f32x8 v) { return (tflm_cy_f32x8)_mm512_roundscale_ps((__m512)v, 10); }
    static inline tflm_cy_i32x8 tflm_cy_truncate8(tflm_cy_f32x8 v) { return (tflm_cy_i32x8)_mm512_cvttps_epi32((__m512)v); }
    static inline tflm_cy_i32x8 tflm_cy_lookup8(const int32_t *table, tflm_cy_i32x8 i) {
      return (tflm_cy_i32x8)_mm512_i32gather_epi32((__m512i)i, table, 4);
    }
    static inline tflm_cy_f32x8 tflm_cy_add8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      __asm__("vaddps %2, %1, %0" : "=v"(a) : "v"(a), "v"(b)); return a;
    }
    static inline tflm_cy_f32x8 tflm_cy_mul8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      __asm__("vmulps %2, %1, %0" : "=v"(a) : "v"(a), "v"(b)); return a;
    }
    #elif defined(__AVX2__)
    static inline __m256i tflm_cy_first(ptrdiff_t n) {
      return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    static inline tflm_cy_f32x8 tflm_cy_load_part8(const float *p, ptrdiff_t n) {
      return (tflm_cy_f32x8)_mm256_maskload_ps(p, tflm_cy_first(n));
    }
    static inline void tflm_cy_store_part8(float *p, tflm_cy_f32x8 v, ptrdiff_t n) { tflm_cy_store_part(p, (__m256)v, n); }
    static inline tflm_cy_f32x8 tflm_cy_fma8(tflm_cy_f32x8 a, tflm_cy_f32x8 b, tflm_cy_f32x8 c) {
      return (tflm_cy_f32x8)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    }
    static inline tflm_cy_f32x8 tflm_cy_fma_first8(tflm_cy_f32x8 a, tflm_cy_f32x8 b, tflm_cy_f32x8 c) {
      __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "xm"(b)); return c;
    }
    static inline tflm_cy_f32x8 tflm_cy_max8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      return (tflm_cy_f32x8)_mm256_max_ps((__m256)a, (__m256)b);
    }
    static inline tflm_cy_f32x8 tflm_cy_min8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      return (tflm_cy_f32x8)_mm256_min_ps((__m256)a, (__m256)b);
    }
    static inline tflm_cy_f32x8 tflm_cy_nearest8(tflm_cy_f32x8 v) { return (tflm_cy_f32x8)_mm256_round_ps((__m256)v, 8); }
    static inline tflm_cy_f32x8 tflm_cy_floor8(tflm_cy_f32x8 v) { return (tflm_cy_f32x8)_mm256_round_ps((__m256)v, 9); }
    static inline tflm_cy_f32x8 tflm_cy_ceil8(tflm_cy_f32x8 v) { return (tflm_cy_f32x8)_mm256_round_ps((__m256)v, 10); }
    static inline tflm_cy_i32x8 tflm_cy_truncate8(tflm_cy_f32x8 v) { return (tflm_cy_i32x8)_mm256_cvttps_epi32((__m256)v); }
    static inline tflm_cy_i32x8 tflm_cy_lookup8(const int32_t *table, tflm_cy_i32x8 i) {
      return (tflm_cy_i32x8)_mm256_i32gather_epi32(table, (__m256i)i, 4);
    }
    #define TFLM_CY_LOOKUP_FOUR
    static inline tflm_cy_i32x8 tflm_cy_lookup_four8(const int32_t *table, tflm_cy_i32x8 i) {
      return (tflm_cy_i32x8)_mm256_permutevar_ps(_mm256_broadcast_ps((const __m128 *)table), (__m256i)i);
    }
    static inline tflm_cy_f32x8 tflm_cy_add8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      __asm__("vaddps %2, %1, %0" : "=x"(a) : "x"(a), "x"(b)); return a;
    }
    static inline tflm_cy_f32x8 tflm_cy_mul8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      __asm__("vmulps %2, %1, %0" : "=x"(a) : "x"(a), "x"(b)); return a;
    }
    #elif defined(__aarch64__)
    #include <arm_neon.h>
    typedef union { tflm_cy_f32x8 v; float32x4_t h[2]; } tflm_cy_halves;
    #define TFLM_CY_HALVES(result) \
      tflm_cy_halves r; \
      for (int i = 0; i < 2; i++) r.h[i] = (result); \
      return r.v
    static inline tflm_cy_f32x8 tflm_cy_load_part8(const float *p, ptrdiff_t n) {
      tflm_cy_f32x8 r = tflm_cy_splat8(0.0f);
      for (ptrdiff_t l = 0; l < n; l++) r[l] = p[l];
      return r;
    }
    static inline void tflm_cy_store_part8(float *p, tflm_cy_f32x8 v, ptrdiff_t n) { for (ptrdiff_t l = 0; l < n; l++) p[l] = v[l]; }
    static inline tflm_cy_f32x8 tflm_cy_fma8(tflm_cy_f32x8 a, tflm_cy_f32x8 b, tflm_cy_f32x8 c) {
      tflm_cy_halves x = {a}, y = {b}, z = {c};
      TFLM_CY_HALVES(vfmaq_f32(z.h[i], x.h[i], y.h[i]));
    }
    static inline tflm_cy_f32x8 tflm_cy_fma_first8(tflm_cy_f32x8 a, tflm_cy_f32x8 b, tflm_cy_f32x8 c) { return tflm_cy_fma8(a, b, c); }
    static inline tflm_cy_f32x8 tflm_cy_max8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      tflm_cy_halves x = {a}, y = {b};
      TFLM_CY_HALVES(vmaxq_f32(x.h[i], y.h[i]));
    }
    static inline tflm_cy_f32x8 tflm_cy_min8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      tflm_cy_halves x = {a}, y = {b};
      TFLM_CY_HALVES(vminq_f32(x.h[i], y.h[i]));
    }
    static inline tflm_cy_f32x8 tflm_cy_nearest8(tflm_cy_f32x8 v) { tflm_cy_halves x = {v}; TFLM_CY_HALVES(vrndnq_f32(x.h[i])); }
    static inline tflm_cy_f32x8 tflm_cy_floor8(tflm_cy_f32x8 v) { tflm_cy_halves x = {v}; TFLM_CY_HALVES(vrndmq_f32(x.h[i])); }
    static inline tflm_cy_f32x8 tflm_cy_ceil8(tflm_cy_f32x8 v) { tflm_cy_halves x = {v}; TFLM_CY_HALVES(vrndpq_f32(x.h[i])); }
    static inline tflm_cy_i32x8 tflm_cy_truncate8(tflm_cy_f32x8 v) {
      tflm_cy_i32x8 r;
      for (int l = 0; l < 8; l++) r[l] = fabsf(v[l]) < 2147483648.0f ? (int32_t)v[l] : INT32_MIN;
      return r;
    }
    static inline tflm_cy_i32x8 tflm_cy_lookup8(const int32_t *table, tflm_cy_i32x8 i) {
      tflm_cy_i32x8 r;
      for (int l = 0; l < 8; l++) r[l] = table[i[l]];
      return r;
    }
    static inline float32x4_t tflm_cy_add4(float32x4_t a, float32x4_t b) {
      __asm__("fadd %0.4s, %1.4s, %2.4s" : "=w"(a) : "w"(a), "w"(b)); return a;
    }
    static inline float32x4_t tflm_cy_mul4(float32x4_t a, float32x4_t b) {
      __asm__("fmul %0.4s, %1.4s, %2.4s" : "=w"(a) : "w"(a), "w"(b)); return a;
    }
    static inline tflm_cy_f32x8 tflm_cy_add8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      tflm_cy_halves x = {a}, y = {b};
      TFLM_CY_HALVES(tflm_cy_add4(x.h[i], y.h[i]));
    }
    static inline tflm_cy_f32x8 tflm_cy_mul8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      tflm_cy_halves x = {a}, y = {b};
      TFLM_CY_HALVES(tflm_cy_mul4(x.h[i], y.h[i]));
    }
    #else
    static inline tflm_cy_f32x8 tflm_cy_add8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) { return a + b; }
    static inline tflm_cy_f32x8 tflm_cy_mul8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) { return a * b; }
    #define TFLM_CY_LANES(result) for (int l = 0; l < 8; l++) r[l] = (result); return r
    static inline tflm_cy_f32x8 tflm_cy_load_part8(const float *p, ptrdiff_t n) { tflm_cy_f32x8 r; TFLM_CY_LANES(l < n ? p[l] : 0.0f); }
    static inline void tflm_cy_store_part8(float *p, tflm_cy_f32x8 v, ptrdiff_t n) { for (ptrdiff_t l = 0; l < n; l++) p[l] = v[l]; }
    static inline tflm_cy_f32x8 tflm_cy_fma8(tflm_cy_f32x8 a, tflm_cy_f32x8 b, tflm_cy_f32x8 c) {
      tflm_cy_f32x8 r; TFLM_CY_LANES(fmaf(a[l], b[l], c[l]));
    }
    static inline tflm_cy_f32x8 tflm_cy_fma_first8(tflm_cy_f32x8 a, tflm_cy_f32x8 b, tflm_cy_f32x8 c) { return tflm_cy_fma8(a, b, c); }
    static inline tflm_cy_f32x8 tflm_cy_max8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      tflm_cy_f32x8 r; TFLM_CY_LANES(a[l] > b[l] ? a[l] : b[l]);
    }
    static inline tflm_cy_f32x8 tflm_cy_min8(tflm_cy_f32x8 a, tflm_cy_f32x8 b) {
      tflm_cy_f32x8 r; TFLM_CY_LANES(a[l] < b[l] ? a[l] : b[l]);
    }
    static inline tflm_cy_f32x8 tflm_cy_nearest8(tflm_cy_f32x8 v) { tflm_cy_f32x8 r; TFLM_CY_LANES(rintf(v[l])); }
    static inline tflm_cy_f32x8 tflm_cy_floor8(tflm_cy_f32x8 v) { tflm_cy_f32x8 r; TFLM_CY_LANES(floorf(v[l])); }
    static inline tflm_cy_f32x8 tflm_cy_ceil8(tflm_cy_f32x8 v) { tflm_cy_f32x8 r; TFLM_CY_LANES(ceilf(v[l])); }
    static inline tflm_cy_i32x8 tflm_cy_truncate8(tflm_cy_f32x8 v) {
      tflm_cy_i32x8 r; TFLM_CY_LANES(fabsf(v[l]) < 2147483648.0f ? (int32_t)v[l] : INT32_MIN);
    }
    static inline tflm_cy_i32x8 tflm_cy_lookup8(const int32_t *table, tflm_cy_i32x8 i) { tflm_cy_i32x8 r; TFLM_CY_LANES(table[i[l]]); }
    #endif
    #ifndef TFLM_CY_LOOKUP_FOUR
    #define tflm_cy_lookup_four8(table, i) tflm_cy_lookup8(table, (i) & 3)
    #endif
    """
    enum:
        LANES "tflm_cy_lanes"
    ctypedef float f32x8 "tflm_cy_f32x8"
    ctypedef int32_t i32x8 "tflm_cy_i32x8"
    f32x8 splat8 "tflm_cy_splat8"(float v) noexcept nogil
    f32x8 load8 "tflm_cy_load8"(const float* p) noexcept nogil
    void store8 "tflm_cy_store8"(float* p, f32x8 v) noexcept nogil
    f32x8 load_part8 "tflm_cy_load_part8"(const float* p, ptrdiff_t n) noexcept nogil
    void store_part8 "tflm_cy_store_part8"(float* p, f32x8 v, ptrdiff_t n) noexcept nogil
    f32x8 add8 "tflm_cy_add8"(f32x8 a, f32x8 b) noexcept nogil                # of two NaNs a's
    f32x8 mul8 "tflm_cy_mul8"(f32x8 a, f32x8 b) noexcept nogil
    f32x8 fma8 "tflm_cy_fma8"(f32x8 a, f32x8 b, f32x8 c) noexcept nogil       # a * b + c
    f32x8 fma_first8 "tflm_cy_fma_first8"(f32x8 a, f32x8 b, f32x8 c) noexcept nogil     # the same; of NaN a's, then b's
    f32x8 max8 "tflm_cy_max8"(f32x8 a, f32x8 b) noexcept nogil
    f32x8 min8 "tflm_cy_min8"(f32x8 a, f32x8 b) noexcept nogil
    f32x8 nearest8 "tflm_cy_nearest8"(f32x8 v) noexcept nogil                 # ties to even
    f32x8 floor8 "tflm_cy_floor8"(f32x8 v) noexcept nogil
    f32x8 ceil8 "tflm_cy_ceil8"(f32x8 v) noexcept nogil
    i32x8 bits8 "tflm_cy_bits8"(f32x8 v) noexcept nogil                       # the same bits
    f32x8 floats8 "tflm_cy_floats8"(i32x8 v) noexcept nogil
    i32x8 truncate8 "tflm_cy_truncate8"(f32x8 v) noexcept nogil               # to integers; outside of int32: INT32_MIN
    i32x8 less8 "tflm_cy_less8"(f32x8 a, f32x8 b) noexcept nogil
    i32x8 equal8 "tflm_cy_equal8"(f32x8 a, f32x8 b) noexcept nogil
    f32x8 select8 "tflm_cy_select8"(i32x8 which, f32x8 a, f32x8 b) noexcept nogil
    f32x8 select_by_sign8 "tflm_cy_select_by_sign8"(f32x8 x, f32x8 a, f32x8 b) noexcept nogil      # a where x has its sign bit set
    i32x8 lookup8 "tflm_cy_lookup8"(const int32_t* table, i32x8 i) noexcept nogil
    i32x8 lookup_four8 "tflm_cy_lookup_four8"(const int32_t* table, i32x8 i) noexcept nogil     # in four entries, by the low two bits
