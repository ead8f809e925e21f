"""MEAN and SUM of int8 and uint8 in XNNPACK's arithmetic: exact sums, then one float32 multiplication and one addition, fused on aarch64, as are
those that make the zero points' share.

    average_sums(sums, ready_average(x.scale, x.zero_point, y.scale, y.zero_point, n, True), -128, 127, y, outputs)

The zero points' share stays a float32 number; the result is rounded half away from zero.

Quirk (`sum_runs_16`): the kernel for AVX2 without VNNI sums a run of int8 in 32 lanes of 16 bits, which overflow in runs of more than FITTING
elements. Others fit: those of kept last axes, of uint8, and of all other CPUs. A run is what lies together of the last axes, up to one that is kept,
also if its size is 1.
Source: XNNPACK's rsum kernels, bytes checked against TensorFlow 2.21.
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.machine cimport product_plus
from tflm_cy.arithmetic.reduction cimport MAX_AXES, FoldShape, advance
from tflm_cy.arithmetic.xnnpack.requantize cimport byte8

cdef extern from *:
    """
    /* Of `steps` times 64 bytes: the sum of 32 lanes of 16 bits, each of two neighbours at a time. */
    #ifdef __AVX2__
    #include <immintrin.h>
    static inline int32_t tflm_cy_sum_of_lanes(const int8_t *x, int64_t steps) {
      const __m256i ones = _mm256_set1_epi8(1);
      __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
      int32_t sums[8], total = 0;
      for (int64_t i = 0; i < steps; i++, x += 64) {
        low = _mm256_add_epi16(low, _mm256_maddubs_epi16(ones, _mm256_loadu_si256((const __m256i *)x)));
        high = _mm256_add_epi16(high, _mm256_maddubs_epi16(ones, _mm256_loadu_si256((const __m256i *)(x + 32))));
      }
      low = _mm256_add_epi32(_mm256_madd_epi16(low, _mm256_set1_epi16(1)), _mm256_madd_epi16(high, _mm256_set1_epi16(1)));
      _mm256_storeu_si256((__m256i *)sums, low);
      for (int j = 0; j < 8; j++) total += sums[j];
      return total;
    }
    #else
    static inline int32_t tflm_cy_sum_of_lanes(const int8_t *x, int64_t steps) {
      uint16_t lanes[32] = {0};
      int32_t total = 0;
      for (int64_t i = 0; i < steps; i++, x += 64)
        for (int j = 0; j < 32; j++) lanes[j] = (uint16_t)(lanes[j] + x[2 * j] + x[2 * j + 1]);
      for (int j = 0; j < 32; j++) total += (int16_t)lanes[j];
      return total;
    }
    #endif
    """
    int32_t sum_of_lanes "tflm_cy_sum_of_lanes"(const int8_t* x, int64_t steps) noexcept nogil

cdef enum:
    LANES = 32                   # of 16 bits, two neighbours each
    STEPS = 256                  # between two times that the lanes are added up and begin again
    FITTING = 8192

cdef struct Average:
    float scale
    float offset


cdef inline Average ready_average(
    float x_scale, int32_t x_zero_point, float y_scale, int32_t y_zero_point, int64_t n, bint mean,
) noexcept nogil:
    """n: elements of a sum."""
    cdef Average a
    a.scale = x_scale / y_scale
    if mean:
        a.scale = a.scale * (<float>1.0 / <float>n)
    a.offset = product_plus(-(<float>n * <float>x_zero_point), a.scale, <float>y_zero_point)
    return a


cdef inline int32_t sum_run_16(const int8_t* x, int64_t n) noexcept nogil:
    cdef int32_t total = 0
    cdef int64_t steps, i
    while n >= 2 * LANES:
        steps = min(n / (2 * LANES), STEPS)
        total += sum_of_lanes(x, steps)
        x += steps * 2 * LANES
        n -= steps * 2 * LANES
    for i in range(n):
        total += x[i]
    return total


cdef inline int64_t last_run(int32_t rank, const int32_t* dims, uint32_t reduced) noexcept nogil:
    """Elements of a run; `reduced` has bit d set when axis d is reduced."""
    cdef int64_t n = 1
    cdef int d = rank - 1
    while d >= 0 and (reduced >> d) & 1:
        n *= dims[d]
        d -= 1
    return n


cdef inline void sum_runs_16(const FoldShape* s, int64_t n, const int8_t* x, int32_t* sums) noexcept nogil:
    """As arithmetic.reduction's `sum_narrow`, of runs of n, one or several of which make the last axis there."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t row, run
    cdef int64_t runs = s.dims[s.rank - 1] / n
    cdef int64_t out = 0
    memset(index, 0, sizeof(index))
    for row in range(s.inputs / (runs * n)):
        for run in range(runs):
            sums[out] += sum_run_16(x, n)
            x += n
        out = advance(s, s.rank - 1, index, out)


cdef inline void average_sums(const int32_t* sums, Average a, int32_t low, int32_t high, byte8* y, int64_t outputs) noexcept nogil:
    cdef int64_t i
    cdef int32_t whole
    cdef float v, rest
    for i in range(outputs):
        v = product_plus(<float>sums[i], a.scale, a.offset)
        if v != v:                              # of scales that are not finite: what x86 makes of NaN has the low byte 0
            y[i] = 0
            continue
        v = v if v > <float>low else <float>low
        v = v if v < <float>high else <float>high
        whole = <int32_t>v                      # roundf by hand: vectors have no rounding of halves away from zero
        rest = v - <float>whole
        y[i] = <byte8>(whole + (1 if rest >= <float>0.5 else 0) - (1 if rest <= <float>-0.5 else 0))
