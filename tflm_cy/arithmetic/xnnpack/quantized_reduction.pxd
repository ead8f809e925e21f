"""MEAN and SUM of int8 and uint8 in XNNPACK's arithmetic: exact sums, then one float32 multiplication and one addition, fused on aarch64, as are
those that make the zero points' share.

    average_sums(sums, ready_average(x.scale, x.zero_point, y.scale, y.zero_point, n, True), -128, 127, y, outputs)

The zero points' share stays a float32 number; the result is rounded half away from zero.

Quirk (`sum_runs_16`): the kernel for AVX2 without VNNI sums a run of int8 in 32 lanes of 16 bits, which overflow in runs of more than EXACT_RUN
elements. Other sums are exact: those of kept last axes, of uint8, and of all other CPUs. A run is what lies together of the last axes, up to one that is kept,
also if its size is 1.
Source: XNNPACK's rsum kernels, bytes checked against TensorFlow 2.21.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.machine cimport product_plus
from tflm_cy.arithmetic.reduction cimport MAX_AXES, FoldShape, advance
from tflm_cy.arithmetic.signatures cimport LaneSum
from tflm_cy.arithmetic.xnnpack.requantize cimport byte8

cdef enum:
    LANES = 32                   # of 16 bits, two neighbours each
    STEPS = 256                  # between two times that the lanes are added up and begin again
    EXACT_RUN = 8192             # elements, whose lanes cannot overflow

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


cdef inline int32_t sum_lanes(const int8_t* x, int64_t steps) noexcept nogil:
    """Of STEPS steps or fewer."""
    cdef uint16_t[LANES] lanes
    cdef int32_t total = 0
    cdef int64_t i
    cdef int lane
    memset(lanes, 0, sizeof(lanes))
    for i in range(steps):
        for lane in range(LANES):
            lanes[lane] += <uint16_t>(x[2 * lane] + x[2 * lane + 1])
        x += 2 * LANES
    for lane in range(LANES):
        total += <int16_t>lanes[lane]
    return total


cdef inline int32_t sum_run_16(const int8_t* x, int64_t n, LaneSum fast) noexcept nogil:
    """fast: a vector kernel for `sum_lanes`, or NULL."""
    cdef int32_t total = 0
    cdef int64_t steps, i
    while n >= 2 * LANES:
        steps = min(n / (2 * LANES), STEPS)
        total += sum_lanes(x, steps) if fast == NULL else fast(x, steps)
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


cdef inline void sum_runs_16(const FoldShape* s, int64_t n, const int8_t* x, int32_t* sums, LaneSum fast) noexcept nogil:
    """As arithmetic.reduction's `sum_narrow`, of runs of n, one or several of which make the last axis there."""
    cdef int64_t[MAX_AXES] index
    cdef int64_t row, run
    cdef int64_t runs = s.dims[s.rank - 1] / n
    cdef int64_t out = 0
    memset(index, 0, sizeof(index))
    for row in range(s.inputs / (runs * n)):
        for run in range(runs):
            sums[out] += sum_run_16(x, n, fast)
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
