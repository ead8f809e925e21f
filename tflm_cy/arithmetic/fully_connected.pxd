"""FULLY_CONNECTED: y[b, o] = x[b] . w[o] + bias[o].

The quantized reference kernel rescales in double, not in fixed point: `round((double)sum * scale)`, half away from zero.
The sum is an int32 (wrapping), or an int64 with an int64 bias. The optimized one rescales int32 sums in fixed point, halves up.

Shuffled weights lie in blocks of 4 rows and 16 columns, less 128 as int8; so do the values, whose operands are an output of the operator.

Source: LiteRT:tflite/kernels/internal/reference/{fully_connected.h,integer_ops/fully_connected.h}.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport INT32_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.fixed_point cimport clamp32, multiply
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.product_f32 cimport Run, finish_f32, multiply_rows, repair_nans, whole_eights
from tflm_cy.arithmetic.product_s16 cimport accumulate_one, accumulate_two, activation, shift_values, subtract_weight_zero, weight8
from tflm_cy.arithmetic.rounding cimport cut32_f64, round_away_f64
from tflm_cy.arithmetic.sum_rescale cimport Rescale, rescale_sums

cdef struct DoubleRescale:
    const int64_t* bias          # one per output
    const double* scales         # one per output; vector kernels read whole vectors
    int32_t zero_point
    int32_t low
    int32_t high
    ptrdiff_t longest            # products that fit an int32 (product_s16)
    bint wide                    # the sum is an int64
    const Rescale* fixed         # not NULL: fixed point instead, and only `longest` counts of the above


cdef inline int32_t rescale_whole(int32_t total, const DoubleRescale* out, ptrdiff_t o) noexcept nogil:
    """The output of one sum, bias included."""
    cdef int32_t v = <int32_t>(<uint32_t>round_away_f64(<double>total * out.scales[o]) + <uint32_t>out.zero_point)
    v = out.low if v < out.low else v
    return out.high if v > out.high else v


cdef inline void rescale_double(const int64_t* sums, const DoubleRescale* out, ptrdiff_t n, activation* y) noexcept nogil:
    cdef ptrdiff_t o
    cdef int64_t total
    cdef int32_t v
    if out.fixed != NULL:
        rescale_sums(sums, out.fixed, n, y)
        return
    for o in range(n):
        total = sums[o] + out.bias[o]
        if not out.wide:
            total = <int32_t><uint32_t>total
        v = <int32_t>(<uint32_t>round_away_f64(<double>total * out.scales[o]) + <uint32_t>out.zero_point)
        v = out.low if v < out.low else v
        y[o] = <activation>(out.high if v > out.high else v)


cdef inline void fully_connected_quantized(
    const activation* x, int32_t x_zero_point, ptrdiff_t batches, const weight8* w, int32_t w_zero_point, ptrdiff_t rows, ptrdiff_t depth,
    const DoubleRescale* out, int16_t* shifted, int64_t* sums, activation* y,
) noexcept nogil:
    """shifted: 2 * depth values; sums: 2 * rows."""
    cdef ptrdiff_t b = 0
    cdef ptrdiff_t i
    while b < batches:
        for i in range(2 * rows):
            sums[i] = 0
        shift_values(x + b * depth, depth, x_zero_point, shifted)
        if b + 1 < batches:
            shift_values(x + (b + 1) * depth, depth, x_zero_point, shifted + depth)
            accumulate_two(shifted, shifted + depth, w, rows, depth, depth, out.longest, sums, sums + rows)
            subtract_weight_zero(shifted + depth, depth, w_zero_point, rows, sums + rows)
            rescale_double(sums + rows, out, rows, y + (b + 1) * rows)
        else:
            accumulate_one(shifted, w, rows, depth, depth, out.longest, sums)
        subtract_weight_zero(shifted, depth, w_zero_point, rows, sums)
        rescale_double(sums, out, rows, y + b * rows)
        b += 2


cdef inline void fully_connected_u8_s16(
    const uint8_t* x, int32_t x_zero_point, ptrdiff_t batches, const uint8_t* w, int32_t w_zero_point, ptrdiff_t rows, ptrdiff_t depth,
    const DoubleRescale* out, int16_t* shifted, int64_t* sums, int16_t* y,
) noexcept nogil:
    """shifted: depth values; sums: rows."""
    cdef ptrdiff_t b, i
    for b in range(batches):
        for i in range(rows):
            sums[i] = 0
        shift_values(x + b * depth, depth, x_zero_point, shifted)
        accumulate_one(shifted, w, rows, depth, depth, out.longest, sums)
        subtract_weight_zero(shifted, depth, w_zero_point, rows, sums)
        rescale_double(sums, out, rows, y + b * rows)


cdef inline void shuffle_values(const uint8_t* x, ptrdiff_t batches, ptrdiff_t depth, uint8_t* operands) noexcept nogil:
    """One row as it is, four rows in turn, 16 values each; less 128, as int8."""
    cdef ptrdiff_t b, d, j
    cdef ptrdiff_t at = 0
    for d in range(0, depth, 16):
        for b in range(batches):
            for j in range(16):
                operands[at] = x[b * depth + d + j] ^ 0x80
                at += 1


cdef inline void fully_connected_shuffled(
    const int8_t* operands, ptrdiff_t batches, const int8_t* w, const int32_t* bias, ptrdiff_t rows, ptrdiff_t depth, Multiplier m,
    int32_t low, int32_t high, int16_t* y,
) noexcept nogil:
    """rows: a multiple of 4; depth: of 16; batches: 1 or 4."""
    cdef ptrdiff_t o, b, d, j
    cdef const int8_t* block
    cdef uint32_t total
    for o in range(rows):
        for b in range(batches):
            total = <uint32_t>bias[o]
            for d in range(0, depth, 16):
                block = w + (o / 4 * depth + d) * 4 + o % 4 * 16
                for j in range(16):
                    total += <uint32_t>(<int32_t>block[j] * <int32_t>operands[d * batches + b * 16 + j])
            y[b * rows + o] = <int16_t>clamp32(multiply(<int32_t>total, m.value, m.shift), low, high)


cdef inline void fully_connected_f32(
    const float* x, ptrdiff_t batches, const float* packed, const float* bias, ptrdiff_t rows, ptrdiff_t depth, float low, float high,
    bint weights_first, float* sums, float* y,
) noexcept nogil:
    """packed: pack_columns(w, rows, depth, depth, 1); weights_first: see nan_sum; sums: 2 * (rows + 3) floats."""
    cdef ptrdiff_t b = 0
    cdef Run all
    cdef float* sums2 = sums + rows + 3
    cdef float* out = y
    all.x = 0
    all.k = 0
    all.n = depth
    all.rounded = whole_eights(depth)
    while b < batches:
        multiply_rows(x, x + depth if b + 1 < batches else NULL, &all, 1, packed, rows, depth, sums, sums2)
        if finish_f32(sums, bias, rows, low, high, out):
            repair_nans(x, &all, 1, packed, rows, depth, weights_first, sums, bias, out)
        if b + 1 < batches and finish_f32(sums2, bias, rows, low, high, out + rows):
            repair_nans(x + depth, &all, 1, packed, rows, depth, weights_first, sums2, bias, out + rows)
        x += 2 * depth
        out += 2 * rows
        b += 2
