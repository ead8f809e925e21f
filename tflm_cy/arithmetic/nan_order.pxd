"""Sums and products that say which of two NaN comes out.

    total = add_first(total, x)                  # NaN + NaN is total, quiet
    add_runs(x, y, y, n)                         # y += x, where x's NaN comes out
    y[i] = add_after(x * v, b)                   # a loop of these stays one that the compiler makes vectors of
    total = fused_first(total, x, v)             # total + x * v: NaN of the total, of x, of v
    if has_nan(x, n): ...                        # else the order shows nowhere

On x86 the first operand's NaN is the result, and a compiler may exchange the operands of `+` and `*`. These say the order to it: with the
instruction itself, which costs nothing, elsewhere with a comparison. `add_after` and `mul_after` have a comparison everywhere; their first
operand is a result, whose NaN is quiet. On aarch64 a signalling NaN comes before a quiet one.
"""
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* Of each operation what it is called, and the instruction of x86 and of aarch64. */
    #if defined(__x86_64__) && defined(__GNUC__) && defined(__AVX__)
    #define TFLM_CY_ORDERED(NAME, TYPE, OP, X86, ARM) \
      static inline TYPE NAME(TYPE a, TYPE b) { __asm__("v" X86 " %2, %1, %0" : "=x"(a) : "x"(a), "x"(b)); return a; }
    #elif defined(__x86_64__) && defined(__GNUC__)
    #define TFLM_CY_ORDERED(NAME, TYPE, OP, X86, ARM) \
      static inline TYPE NAME(TYPE a, TYPE b) { __asm__(X86 " %1, %0" : "+x"(a) : "x"(b)); return a; }
    #elif defined(__aarch64__) && defined(__GNUC__)
    #define TFLM_CY_ORDERED(NAME, TYPE, OP, X86, ARM) \
      static inline TYPE NAME(TYPE a, TYPE b) { TYPE y; __asm__(ARM : "=w"(y) : "w"(a), "w"(b)); return y; }
    #define TFLM_CY_MAX_F32
    #define TFLM_CY_FUSED_F32
    static inline float tflm_cy_max_f32(float a, float b) { float y; __asm__("fmax %s0, %s1, %s2" : "=w"(y) : "w"(a), "w"(b)); return y; }
    static inline float tflm_cy_fused_f32(float total, float a, float b) {
      float y;
      __asm__("fmadd %s0, %s1, %s2, %s3" : "=w"(y) : "w"(a), "w"(b), "w"(total));
      return y;
    }
    #else
    #define TFLM_CY_ORDERED(NAME, TYPE, OP, X86, ARM) static inline TYPE NAME(TYPE a, TYPE b) { return a != a ? a + a : a OP b; }
    #define TFLM_CY_NO_FOURS
    #endif
    TFLM_CY_ORDERED(tflm_cy_add_f32, float, +, "addss", "fadd %s0, %s1, %s2")
    TFLM_CY_ORDERED(tflm_cy_mul_f32, float, *, "mulss", "fmul %s0, %s1, %s2")
    TFLM_CY_ORDERED(tflm_cy_add_f64, double, +, "addsd", "fadd %d0, %d1, %d2")
    TFLM_CY_ORDERED(tflm_cy_mul_f64, double, *, "mulsd", "fmul %d0, %d1, %d2")
    #ifndef TFLM_CY_NO_FOURS
    typedef float tflm_cy_four __attribute__((vector_size(16)));
    TFLM_CY_ORDERED(tflm_cy_add_four, tflm_cy_four, +, "addps", "fadd %0.4s, %1.4s, %2.4s")
    TFLM_CY_ORDERED(tflm_cy_mul_four, tflm_cy_four, *, "mulps", "fmul %0.4s, %1.4s, %2.4s")
    #endif
    #define TFLM_CY_BLOCKS(TYPE, OP) \
      for (; i + (int64_t)(sizeof(TYPE) / 4) <= n; i += sizeof(TYPE) / 4) { \
        TYPE u, v; \
        memcpy(&u, a + i, sizeof u); memcpy(&v, b + i, sizeof v); \
        u = OP(u, v); \
        memcpy(y + i, &u, sizeof u); \
      }
    #ifdef TFLM_CY_NO_FOURS
    #define TFLM_CY_RUNS(OP)
    #elif defined(__x86_64__) && defined(__AVX__)
    typedef float tflm_cy_eight __attribute__((vector_size(32)));
    TFLM_CY_ORDERED(tflm_cy_add_eight, tflm_cy_eight, +, "addps", "")
    TFLM_CY_ORDERED(tflm_cy_mul_eight, tflm_cy_eight, *, "mulps", "")
    #define TFLM_CY_RUNS(OP) TFLM_CY_BLOCKS(tflm_cy_eight, OP##_eight) TFLM_CY_BLOCKS(tflm_cy_four, OP##_four)
    #else
    #define TFLM_CY_RUNS(OP) TFLM_CY_BLOCKS(tflm_cy_four, OP##_four)
    #endif
    #ifdef __aarch64__
    static inline int tflm_cy_signals(float x) {
      uint32_t bits;
      memcpy(&bits, &x, 4);
      return (bits & 0x7FFFFFFF) > 0x7F800000 && !(bits & 0x400000);
    }
    #else
    #define tflm_cy_signals(x) 0
    #endif
    #ifndef TFLM_CY_MAX_F32
    static inline float tflm_cy_max_f32(float a, float b) { return a != a ? a + a : b != b ? b + b : a < b ? b : a; }
    #endif
    #ifndef TFLM_CY_FUSED_F32
    static inline float tflm_cy_fused_f32(float total, float a, float b) { return tflm_cy_add_f32(total, tflm_cy_mul_f32(a, b)); }
    #endif
    static inline float tflm_cy_add_after(float a, float b) { const float y = a + b; return a != a && !tflm_cy_signals(b) ? a : y; }
    static inline float tflm_cy_mul_after(float a, float b) { const float y = a * b; return a != a && !tflm_cy_signals(b) ? a : y; }
    #if defined(__x86_64__) && defined(__GNUC__)
    #define TFLM_CY_ONCE static __attribute__((noinline, unused)) /* long enough for a call */
    #else
    #define TFLM_CY_ONCE static inline
    #endif
    TFLM_CY_ONCE void tflm_cy_add_runs(const float *a, const float *b, float *y, int64_t n) {
      int64_t i = 0;
      TFLM_CY_RUNS(tflm_cy_add)
      for (; i < n; i++) y[i] = tflm_cy_add_f32(a[i], b[i]);
    }
    TFLM_CY_ONCE void tflm_cy_mul_runs(const float *a, const float *b, float *y, int64_t n) {
      int64_t i = 0;
      TFLM_CY_RUNS(tflm_cy_mul)
      for (; i < n; i++) y[i] = tflm_cy_mul_f32(a[i], b[i]);
    }
    static inline void tflm_cy_dot_lanes(const float *a, const float *b, int64_t n, float *lanes) {
      int64_t i = 0;
    #ifndef TFLM_CY_NO_FOURS
      tflm_cy_four total = {0, 0, 0, 0};
      for (; i + 4 <= n; i += 4) {
        tflm_cy_four u, v;
        memcpy(&u, a + i, 16); memcpy(&v, b + i, 16);
        total = tflm_cy_add_four(total, tflm_cy_mul_four(u, v));
      }
      memcpy(lanes, &total, 16);
    #else
      for (int l = 0; l < 4; l++) lanes[l] = 0;
      for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; l++) lanes[l] = tflm_cy_add_f32(lanes[l], tflm_cy_mul_f32(a[i + l], b[i + l]));
    #endif
    }
    """
    float add_first "tflm_cy_add_f32"(float a, float b) noexcept nogil          # a's NaN before b's
    float mul_first "tflm_cy_mul_f32"(float a, float b) noexcept nogil
    float fused_first "tflm_cy_fused_f32"(float total, float a, float b) noexcept nogil   # one rounding on aarch64, two elsewhere
    float max_first "tflm_cy_max_f32"(float a, float b) noexcept nogil          # a NaN comes out
    float add_after "tflm_cy_add_after"(float a, float b) noexcept nogil
    float mul_after "tflm_cy_mul_after"(float a, float b) noexcept nogil
    double add_first_f64 "tflm_cy_add_f64"(double a, double b) noexcept nogil
    double mul_first_f64 "tflm_cy_mul_f64"(double a, double b) noexcept nogil
    void dot_lanes "tflm_cy_dot_lanes"(const float* a, const float* b, int64_t n, float* lanes) noexcept nogil   # full blocks of four
    void add_runs "tflm_cy_add_runs"(const float* a, const float* b, float* y, int64_t n) noexcept nogil   # y may be a or b
    void mul_runs "tflm_cy_mul_runs"(const float* a, const float* b, float* y, int64_t n) noexcept nogil


cdef inline bint has_nan(const float* x, int64_t n) noexcept nogil:
    cdef int found = 0
    cdef int64_t i
    for i in range(n):
        found |= x[i] != x[i]
    return found != 0
