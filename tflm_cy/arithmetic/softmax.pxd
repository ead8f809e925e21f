"""Softmax and log-softmax of rows: float32, 8 bit and int16.

The 8-bit forms know only 256 differences to the row's maximum: their fixed-point exponentials are tabulated once (`fill_exp_table`), which
changes no bit. int16 works with two interpolated tables of 513 entries. Float sums are sequential; expf and logf are the C library's.

Source: LiteRT:tflite/kernels/internal/reference/{softmax,log_softmax}.h, internal/{common.h,quantization_util.cc}.
"""
from libc.math cimport exp, expf, floor, logf, round
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport high_product, multiply, quantize_multiplier, round_shift, wrap32
from tflm_cy.arithmetic.gemmlowp cimport exp_on_negative, leading_zeros, log_at_least_one, reciprocal, wrapping_sum
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.nan_order cimport add_first

cdef struct ExpTable:            # by the distance d = maximum - value of two 8-bit numbers
    int32_t reach                # entries that count; values farther away give the type's lowest output
    int32_t[256] scaled          # -d in Q5.26
    int32_t[256] value           # exp(-d) in Q0.31
    int32_t[256] rounded         # the same in Q12.19

cdef struct LogRange:            # multiplier of the way back from Q5.26 to input steps
    int32_t value
    int32_t right_shift

cdef struct Tables16:
    int32_t value                # multiplier of the differences
    int32_t shift
    int16_t[513] exponential     # exp on [-10, 0]
    int16_t[513] inverse         # 1 / (1 + x) on [0, 1]

ctypedef fused input8:
    int8_t
    uint8_t

ctypedef fused output8:
    int8_t
    uint8_t
    int16_t


cdef inline bint fill_exp_table(ExpTable* table, double input_scale_beta) noexcept nogil:
    """False when a step of the input is smaller than the fixed point can express."""
    cdef Multiplier m = quantize_multiplier(min(input_scale_beta * (1 << 26), 2147483647.0))
    cdef int32_t d
    cdef double reach
    table.reach = 0
    if not input_scale_beta * (1 << 26) > 1.0:
        return False
    reach = floor(31.0 * (1 << 26) / <double>(<int64_t>1 << m.shift))
    for d in range(256):
        if d > reach:
            break
        table.scaled[d] = high_product(wrap32(-<int64_t>d * (<int64_t>1 << m.shift)), m.value)
        table.value[d] = exp_on_negative(table.scaled[d], 5)
        table.rounded[d] = round_shift(table.value[d], 12)
        table.reach = d + 1
    return True


cdef inline void softmax_row_f32(const float* x, float* y, int64_t depth, float beta) noexcept nogil:
    cdef float top = <float>-3.4028234663852886e38
    cdef float total = 0
    cdef int64_t c
    for c in range(depth):
        top = x[c] if top < x[c] else top
    for c in range(depth):
        y[c] = expf((x[c] - top) * beta)
        total = add_first(total, y[c])
    for c in range(depth):
        y[c] = y[c] / total


cdef inline void log_softmax_row_f32(const float* x, float* y, int64_t depth) noexcept nogil:
    cdef float top = <float>-3.4028234663852886e38
    cdef float total = 0
    cdef int64_t c
    for c in range(depth):
        top = x[c] if top < x[c] else top
    for c in range(depth):
        total = add_first(total, expf(x[c] - top))
    total = logf(total)
    for c in range(depth):
        y[c] = x[c] - top - total


cdef inline int32_t sum_of_exps(const ExpTable* table, const input8* x, int64_t depth, int32_t top) noexcept nogil:
    """In Q12.19. Sums of 4096 and more wrap around, as TensorFlow's do."""
    cdef uint32_t total = 0
    cdef int64_t c
    for c in range(depth):
        if top - x[c] < table.reach:
            total += <uint32_t>table.rounded[top - x[c]]
    return <int32_t>total


cdef inline int32_t row_maximum(const input8* x, int64_t depth) noexcept nogil:
    cdef input8 top = x[0]
    cdef int64_t c
    for c in range(depth):
        top = x[c] if x[c] > top else top
    return top


cdef inline void softmax_row_8(const ExpTable* table, const input8* x, output8* y, int64_t depth) noexcept nogil:
    cdef int32_t lowest = -128 if output8 is int8_t else (0 if output8 is uint8_t else -32768)
    cdef int32_t highest = 127 if output8 is int8_t else (255 if output8 is uint8_t else 32767)
    cdef int32_t top, scale, value
    cdef int bits_over_unit = 0
    cdef int exponent
    cdef int64_t c
    if depth == 0:
        return
    top = row_maximum(x, depth)
    scale = reciprocal(sum_of_exps(table, x, depth, top), 12, &bits_over_unit)
    exponent = bits_over_unit + 31 - 8 * <int>sizeof(output8)
    for c in range(depth):           # y may be x: each value is read before its place is written
        value = lowest
        if top - x[c] < table.reach and 0 <= exponent <= 31:      # TensorFlow dies beyond
            value = round_shift(high_product(scale, table.value[top - x[c]]), exponent) + lowest
        y[c] = <output8>max(lowest, min(value, highest))


cdef inline void log_softmax_row_8(const ExpTable* table, LogRange back, const input8* x, input8* y, int64_t depth) noexcept nogil:
    cdef int32_t lowest = -128 if input8 is int8_t else 0
    cdef int32_t highest = 127 if input8 is int8_t else 255
    cdef int32_t top, log_sum, reach, value
    cdef int64_t c
    if depth == 0:
        return
    top = row_maximum(x, depth)
    log_sum = log_at_least_one(sum_of_exps(table, x, depth, top))
    # values from which the result would fall below Q5.26's range are left out
    reach = round_shift(high_product(wrapping_sum(log_sum, -INT32_MAX - 1), back.value), back.right_shift)
    for c in range(depth):
        y[c] = <input8>lowest
        if top - x[c] < table.reach and x[c] - top > reach:
            value = round_shift(wrapping_sum(table.scaled[top - x[c]], -log_sum), 22) + highest
            y[c] = <input8>max(lowest, min(value, highest))


cdef inline double exp_at(double x) noexcept nogil:
    return exp(x)


cdef inline double inverse_at(double x) noexcept nogil:
    return 1.0 / (1.0 + x)


cdef inline int16_t table_entry(double here, double middle, double next, double inverse_step) noexcept nogil:
    """The value less half of the error that the interpolation has in the middle of the interval."""
    cdef double sample = round(here * inverse_step)
    cdef double interpolated = round((next * inverse_step + sample) / 2.0)
    cdef double bias = round((interpolated - round(middle * inverse_step)) / 2.0)
    return <int16_t>max(-32768.0, min(sample - bias, 32767.0))


cdef inline void fill_tables16(Tables16* t) noexcept nogil:
    cdef double inverse_step = 65536.0 / (2.0 / 65535 * 32767 - 2.0 / 65535 * -32768)
    cdef double low_e = 10.0 / 65535 * (-32768 - 32767)
    cdef double step_e = (0.0 - low_e) / 512
    cdef double high_i = 1.0 / 65535 * (32767 + 32768)
    cdef double step_i = (high_i - 0.0) / 512
    cdef int i
    for i in range(512):
        t.exponential[i] = table_entry(exp_at(low_e + i * step_e), exp_at(low_e + i * step_e + step_e / 2),
                                       exp_at(low_e + (i + 1) * step_e), inverse_step)
        t.inverse[i] = table_entry(inverse_at(i * step_i), inverse_at(i * step_i + step_i / 2),
                                   inverse_at((i + 1) * step_i), inverse_step)
    t.exponential[512] = <int16_t>max(-32768.0, min(round(exp_at(0.0) * inverse_step), 32767.0))
    t.inverse[512] = <int16_t>max(-32768.0, min(round(inverse_at(high_i) * inverse_step), 32767.0))


cdef inline int32_t interpolate(int32_t x, const int16_t* table) noexcept nogil:
    """An int16 looked up between two neighbours of 513 entries."""
    cdef int32_t i = 256 + (x >> 7)
    return table[i] + (((table[i + 1] - table[i]) * (x & 0x7F) + (1 << 6)) >> 7)


cdef inline void softmax_row_s16(const Tables16* t, const int16_t* x, int16_t* y, int64_t depth) noexcept nogil:
    cdef int32_t top = -32768
    cdef int64_t total = 0
    cdef int64_t c
    cdef int32_t value, inverse, shift
    cdef int head
    for c in range(depth):
        top = max(top, <int32_t>x[c])
    for c in range(depth):
        value = wrapping_sum(multiply(x[c] - top, t.value, t.shift), 32767)
        y[c] = <int16_t>interpolate(max(-32768, min(value, 32767)), t.exponential)
        total += y[c]
    total = max(<int64_t>2, min(total, <int64_t>INT32_MAX))
    head = leading_zeros(<uint32_t>total)
    value = <int32_t>(((total << (head - 1)) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16)
    inverse = interpolate(max(-32768, min(value, 32767)), t.inverse)
    shift = 31 - head
    for c in range(depth):
        value = <int32_t>((<int64_t>y[c] * inverse + (1 << (shift - 1))) >> shift)
        y[c] = <int16_t>max(0, min(value, 32767))
