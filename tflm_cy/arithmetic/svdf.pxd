"""SVDF: a rank-decomposed filter with a memory of past feature products, one step.

The state of all batches and filters is one buffer that moves left by one element per step, across filters and batches; the element that
arrives from a neighbour is overwritten by the new feature product.

int8 activations have an int16 state with zero point 0 in TensorFlow Lite and, in TensorFlow Lite Micro, also an int8 state with a zero point
of its own; the rest is the same.

Source: LiteRT:tflite/kernels/internal/reference/svdf.h, tflite-micro:tensorflow/lite/micro/kernels/svdf_common.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint32_t
from libc.string cimport memmove, memset

from tflm_cy.arithmetic.eigen cimport activate
from tflm_cy.arithmetic.fixed_point cimport multiply, wrap32
from tflm_cy.arithmetic.hybrid cimport (
    RowScale,
    accumulate_dot_f32,
    accumulate_dots_f32,
    accumulate_rows,
    all_zero,
    fold_lanes,
    quantize_row_by,
)
from tflm_cy.arithmetic.hybrid_neon cimport product_flags
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.matrix_vector cimport multiply_rows_s8, widen_s8
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.nan_order cimport add_first
from tflm_cy.arithmetic.row_kernels cimport RowKernels

cdef struct SvdfShape:
    ptrdiff_t batches, inputs, filters, memory, rank
    int32_t activation                  # of the float forms
    bint dotprod                        # hybrid_neon.pxd
    const RowKernels* fast              # or NULL

cdef struct SvdfScales:
    Multiplier feature
    Multiplier time
    int32_t x_zero_point
    int32_t state_zero_point
    int32_t y_zero_point

ctypedef fused state_type:
    int8_t
    int16_t


cdef inline void svdf_s8(const SvdfShape* s, const SvdfScales* q, const int8_t* x, const int8_t* feature, const state_type* time,
                         const int32_t* bias, state_type* state, int8_t* y, int16_t* wide, int32_t* products) noexcept nogil:
    """`wide` holds `inputs`, `products` holds `filters` numbers."""
    cdef int32_t low = -128 if state_type is int8_t else -32768
    cdef int32_t high = 127 if state_type is int8_t else 32767
    cdef ptrdiff_t b, f, m, u, units = s.filters / s.rank
    cdef uint32_t total
    cdef int32_t value
    cdef state_type* row
    memmove(state, state + 1, (s.batches * s.filters * s.memory - 1) * sizeof(state_type))
    for b in range(s.batches):
        widen_s8(x + b * s.inputs, s.inputs, q.x_zero_point, wide)
        multiply_rows_s8(feature, s.filters, s.inputs, wide, s.fast, products)
        row = state + b * s.filters * s.memory
        for f in range(s.filters):
            value = wrap32(<long long>multiply(products[f], q.feature.value, q.feature.shift) + q.state_zero_point)
            row[f * s.memory + s.memory - 1] = <state_type>max(low, min(value, high))
        for u in range(units):
            total = 0 if bias == NULL else <uint32_t>bias[u]
            for f in range(u * s.rank, (u + 1) * s.rank):
                for m in range(s.memory):
                    total += <uint32_t>(<int32_t>time[f * s.memory + m] * (row[f * s.memory + m] - q.state_zero_point))
            value = wrap32(<long long>multiply(<int32_t>total, q.time.value, q.time.shift) + q.y_zero_point)
            y[b * units + u] = <int8_t>max(-128, min(value, 127))


cdef inline void apply_time_f32(const SvdfShape* s, const float* time, const float* bias, float* state, const float* products,
                                float* lanes, float* y) noexcept nogil:
    """The new products enter the state; their dot product with the time weights, summed over each rank. `lanes` holds `rank` numbers."""
    cdef ptrdiff_t i, k, u, f, units = s.filters / s.rank
    cdef float total
    for i in range(s.batches * s.filters):
        state[i * s.memory + s.memory - 1] = products[i]
    for i in range(s.batches * units):
        u = i % units
        for k in range(s.rank):
            f = u * s.rank + k
            lanes[k] = accumulate_dot_f32(0, time + f * s.memory, state + (i / units * s.filters + f) * s.memory, s.memory)
        total = sum_lanes(lanes, s.rank)
        y[i] = total if bias == NULL else add_first(bias[u], total)
    activate(y, s.batches * units, s.activation, s.fast)


cdef inline float sum_lanes(const float* v, ptrdiff_t n) noexcept nogil:
    """Four lanes over the full blocks of four, then the rest; of two NaN the earlier of a lane or of the rest comes out."""
    cdef float[4] lanes = [0, 0, 0, 0]
    cdef ptrdiff_t i
    cdef float total
    for i in range(n - n % 4):
        lanes[i & 3] = add_first(lanes[i & 3], v[i])
    total = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) if AARCH64 else fold_lanes(lanes)
    for i in range(n - n % 4, n):
        total = add_first(total, v[i])
    return total


cdef inline void svdf_f32(const SvdfShape* s, const float* x, const float* feature, const float* time, const float* bias, float* state, float* y,
                          float* products, float* lanes) noexcept nogil:
    """`products` holds batches * filters numbers."""
    cdef ptrdiff_t b
    memmove(state, state + 1, (s.batches * s.filters * s.memory - 1) * sizeof(float))
    memset(products, 0, s.batches * s.filters * sizeof(float))
    for b in range(s.batches):
        accumulate_dots_f32(products + b * s.filters, feature, s.filters, s.inputs, x + b * s.inputs, s.fast, products + b * s.filters)
    apply_time_f32(s, time, bias, state, products, lanes, y)


cdef inline void svdf_hybrid(const SvdfShape* s, const float* x, const int8_t* feature, float feature_scale, bint asymmetric,
                             const int32_t* row_sums, bint minimum, const float* time, const float* bias, float* state, float* y,
                             float* products, float* lanes, int16_t* quantized) noexcept nogil:
    """int8 feature weights; `time` is dequantized. An input that is zero in every batch leaves the products 0."""
    cdef RowScale scale
    cdef ptrdiff_t b, i
    memmove(state, state + 1, (s.batches * s.filters * s.memory - 1) * sizeof(float))
    for i in range(s.batches * s.filters):
        products[i] = 0
    if not all_zero(x, s.batches * s.inputs):
        for b in range(s.batches):
            quantize_row_by(s.fast, asymmetric, x + b * s.inputs, s.inputs, quantized, &scale)
            accumulate_rows(feature, s.filters, s.inputs, quantized, scale.scale * feature_scale, NULL, scale.zero_point, row_sums, minimum,
                            product_flags(s.filters, s.inputs, s.batches, s.dotprod), s.fast, products + b * s.filters)
    apply_time_f32(s, time, bias, state, products, lanes, y)
