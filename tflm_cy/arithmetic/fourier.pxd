"""Fourier transforms in float64 of powers of two, radix 2, of one vector or of several at once, each in a lane of its own.

    transform_lanes(re, im, n, turns, step, lanes)   # in place: sums of x[k] e^(+2 pi i j k / n); [n, lanes], lanes LANES or 1,
                                                     # the points before in the order of their reversed bits
    j = next_reversed(j, n)                          # of 0, 1, 2 .., n a power of two

`turns` are the factors of n * step points (spectrum.pxd's `fill_turns`).
"""
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include "x86.h"
    #if defined(__GNUC__)
    #define TFLM_CY_INLINED __attribute__((always_inline)) static inline
    #else
    #define TFLM_CY_INLINED static inline
    #endif
    enum { TFLM_CY_LANES = 8, TFLM_CY_CACHED_POINTS = 2048 }; /* these are 32 kB */
    #define TFLM_CY_PAIR(RE, IM) \
      do { \
        double *ra = re + lanes * i, *ia = im + lanes * i, *rb = ra + lanes * half, *ib = ia + lanes * half; \
        for (int l = 0; l < lanes; l++) { \
          const double r = RE, m = IM; \
          rb[l] = ra[l] - r; \
          ib[l] = ia[l] - m; \
          ra[l] = ra[l] + r; \
          ia[l] = ia[l] + m; \
        } \
      } while (0)
    /* The steps from pairs `half` apart to those `last` apart, of `count` points; `n` is the whole transform's length. */
    TFLM_CY_INLINED void tflm_cy_transform_steps(
        double *restrict re, double *restrict im, int64_t count, int64_t half, int64_t last, int64_t n, const double *turns, int64_t step, const int lanes) {
      for (; half <= last; half *= 2) {
        const int64_t far = 2 * (n / (2 * half)) * step;
        for (int64_t first = 0; first < count; first += 2 * half) {
          int64_t i = first;
          TFLM_CY_PAIR(rb[l], ib[l]);
          for (int64_t k = 1; k < half; k++) {
            const double c = turns[k * far], s = turns[k * far + 1];
            i = first + k;
            if (2 * k == half) TFLM_CY_PAIR(-ib[l], rb[l]);
            else TFLM_CY_PAIR(c * rb[l] - s * ib[l], c * ib[l] + s * rb[l]);
          }
        }
      }
    }
    #undef TFLM_CY_PAIR
    /* The first steps by pieces that stay in a cache. */
    TFLM_CY_INLINED void tflm_cy_transform_of(double *re, double *im, int64_t n, const double *turns, int64_t step, const int lanes) {
      const int64_t piece = n < TFLM_CY_CACHED_POINTS / lanes ? n : TFLM_CY_CACHED_POINTS / lanes;
      for (int64_t i = 0; i < n; i += piece)
        tflm_cy_transform_steps(re + lanes * i, im + lanes * i, piece, 1, piece / 2, n, turns, step, lanes);
      tflm_cy_transform_steps(re, im, n, piece, n / 2, n, turns, step, lanes);
    }
    #if defined(__x86_64__) && defined(__GNUC__)
    __attribute__((target("avx2"), noinline)) static void tflm_cy_transform_avx2(double *re, double *im, int64_t n, const double *turns, int64_t step) {
      tflm_cy_transform_of(re, im, n, turns, step, TFLM_CY_LANES);
    }
    #define TFLM_CY_HAS_AVX2 (x86_features() & X86_AVX2)
    #else
    #define TFLM_CY_HAS_AVX2 0
    #define tflm_cy_transform_avx2(RE, IM, N, TURNS, STEP)
    #endif
    static void tflm_cy_transform_lanes(double *re, double *im, int64_t n, const double *turns, int64_t step, int lanes) {
      if (lanes == 1) tflm_cy_transform_of(re, im, n, turns, step, 1);
      else if (TFLM_CY_HAS_AVX2) tflm_cy_transform_avx2(re, im, n, turns, step);
      else tflm_cy_transform_of(re, im, n, turns, step, TFLM_CY_LANES);
    }
    """
    void transform_lanes "tflm_cy_transform_lanes"(
        double* re, double* im, int64_t n, const double* turns, int64_t step, int lanes) noexcept nogil
    enum:
        LANES "TFLM_CY_LANES"


cdef inline int64_t next_reversed(int64_t j, int64_t n) noexcept nogil:
    cdef int64_t bit = n >> 1
    while j & bit:
        j ^= bit
        bit >>= 1
    return j | bit
