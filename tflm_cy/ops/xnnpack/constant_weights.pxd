"""What the quantized operators with weights share in prepare: weights as rows of bytes or int16, scales, biases, the output's clamp.

Weights and biases of nodes that the delegate takes are constants; it has looked at their types and quantization, but at shapes only as the
file has them. `want_*` raise ValueError.
"""
from libc.math cimport NAN
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport Range32, RangeF
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Requantize, Scaling
from tflm_cy.arithmetic.xnnpack.dynamic_range cimport LANES_8, LANES_16, PACKED_4, PACKED_8, ROWS_NEON
from tflm_cy.arithmetic.xnnpack.generation cimport AVX512, DOTPROD, cpu_has_amx_int8, cpu_has_avx512vnni
from tflm_cy.arithmetic.xnnpack.requantize cimport quantized_range, real_range, scale_of
from tflm_cy.arithmetic.xnnpack.requantize_products cimport requantize_products
from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport FLOAT32, INT2, INT4, INT8, INT32, UINT8, Tensor, count, is_constant, type_name
from tflm_cy.ops.generation cimport generation
from tflm_cy.ops.xnnpack.definitions cimport rounds_twice
from tflm_cy.simd.requantize_fixed cimport RequantizeRow


cdef inline int want_constant(const Tensor* tensor, str name, str what) except -1:
    if not is_constant(tensor) or tensor.data == NULL:
        raise ValueError(f"{name}: the {what} is not a constant")
    return 0


cdef inline int want_activations(const Tensor* x, const Tensor* w, const Tensor* y, str name) except -1:
    """8-bit input and output of one type with weights of that type (or int4, int2), or float32 with int8 (int4, int2) weights."""
    cdef bint narrow = w.type == INT8 or w.type == INT4 or w.type == INT2
    if x.type != y.type or not (((x.type == INT8 or x.type == FLOAT32) and narrow) or (x.type == UINT8 and w.type == UINT8)):
        raise ValueError(
            f"{name}: types {type_name(x.type)} x {type_name(w.type)} -> {type_name(y.type)} are not supported")
    if x.type != FLOAT32 and not (x.scale > 0 and y.scale > 0):
        raise ValueError(f"{name}: the scales of input and output, {x.scale} and {y.scale}, are not positive")
    return 0


cdef inline int32_t weight_at(const Tensor* w, ptrdiff_t i) noexcept nogil:
    """Value i; int4 and int2 lie with the lowest bits first."""
    cdef const uint8_t* bytes = <const uint8_t*>w.data
    if w.type == INT4:
        return ((bytes[i >> 1] >> (4 * (i & 1)) & 15) ^ 8) - 8
    if w.type == INT2:
        return ((bytes[i >> 2] >> (2 * (i & 3)) & 3) ^ 2) - 2
    return <int32_t>bytes[i] if w.type == UINT8 else <int32_t><int8_t>bytes[i]


cdef inline const uint8_t* weight_rows(
    Context context, const Tensor* w, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t row, bint unsigned_int4=False,
) except NULL:
    """Rows of `row` bytes with zeros behind the first `depth`; the file's own bytes where they serve."""
    cdef int32_t flip = 8 if unsigned_int4 else 0
    cdef uint8_t* packed
    cdef ptrdiff_t r, i
    if row == depth and (w.type == INT8 or w.type == UINT8):
        return <const uint8_t*>w.data
    packed = <uint8_t*>context.persistent(rows * row + 1)
    for r in range(rows):
        if w.type == INT8 or w.type == UINT8:
            memcpy(packed + r * row, <const uint8_t*>w.data + r * depth, depth)
            continue
        for i in range(depth):
            packed[r * row + i] = <uint8_t>(((weight_at(w, r * depth + i) + 8) ^ flip) - 8)
    return packed


cdef inline const int16_t* wide_weights(Context context, const Tensor* w, int32_t zero_point) except NULL:
    """All values less the zero point."""
    cdef ptrdiff_t n = count(w)
    cdef int16_t* wide = <int16_t*>context.persistent(2 * n + 2)
    cdef ptrdiff_t i
    for i in range(n):
        wide[i] = <int16_t>(weight_at(w, i) - zero_point)
    return wide


cdef inline int want_scales(const Tensor* w, ptrdiff_t channels, str name) except -1:
    if w.scale_count != 1 and w.scale_count != channels:
        raise ValueError(f"{name}: the weights have {w.scale_count} scales for {channels} channels")
    return 0


cdef inline int want_bias(const Tensor* b, ptrdiff_t channels, int type, str name) except -1:
    """b may be NULL."""
    if b == NULL:
        return 0
    want_constant(b, name, "bias")
    if b.type != type or count(b) != channels:
        raise ValueError(f"{name}: a bias of {count(b)} values {type_name(b.type)} for {channels} channels, wanted {type_name(type)}")
    return 0


cdef inline int prepare_requantize(
    Context context, const Tensor* x, const Tensor* w, const Tensor* b, const Tensor* y, int activation, ptrdiff_t channels, bint matrix,
    Requantize* out, str name,
) except -1:
    """`matrix`: not the kernels of depthwise convolutions; these add the zero point without saturation where the CPU has AVX-512."""
    cdef int32_t* bias = <int32_t*>context.persistent(4 * channels + 4)
    cdef float* scales = <float*>context.persistent(4 * channels + 4)
    cdef Range32 limits = quantized_range(activation, y.scale, y.zero_point, y.type == INT8)
    cdef float sign = -1 if AARCH64 and matrix and y.type == UINT8 and rounds_twice() else 1
    cdef ptrdiff_t c
    want_scales(w, channels, name)
    want_bias(b, channels, INT32, name)
    for c in range(channels):
        scales[c] = sign * scale_of(x.scale, w.scales[c if w.scale_count > 1 else 0], y.scale)
    if b != NULL:
        memcpy(bias, b.data, 4 * channels)
    out.bias = bias
    out.scales = scales
    out.zero_point = y.zero_point
    out.low = limits.low - y.zero_point
    out.high = limits.high - y.zero_point
    out.wrap_below = NAN
    if matrix and y.type == INT8 and y.zero_point < 0 and generation() == AVX512:
        out.wrap_below = <float>-2147483648.0
    return 0


cdef inline void requantize_rows(
    const void* params, ptrdiff_t group, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, uint8_t* y,
    ptrdiff_t y_row,
) noexcept nogil:
    """Of sums with their bias; uint8 has one scale."""
    cdef Requantize out = (<const Requantize*>params)[0]
    cdef int32_t none = 0
    cdef ptrdiff_t r, o
    out.bias = &none
    for r in range(rows):
        for o in range(n):
            requantize_products(<const uint32_t*>sums + o, &out, 1, y + o)
        sums += sum_row
        y += y_row


cdef inline void requantize_late(const Requantize* out, RequantizeRow* finish, const void** params, ptrdiff_t* y_size) noexcept nogil:
    """Fill in these of a vector kernel's plan, where the kernel does not round as the scales say."""
    if AARCH64 and out.scales != NULL and out.scales[0] < 0:
        finish[0] = requantize_rows
        params[0] = out
        y_size[0] = 1


cdef inline int prepare_scaling(
    Context context, const Tensor* w, const Tensor* b, int activation, ptrdiff_t channels, bint matrix, ptrdiff_t rows, Scaling* out, str name,
) except -1:
    """Dynamic range. matrix: a matrix product, or the convolution that is computed as one; rows: else the positions that a kernel shares out."""
    cdef float* bias = <float*>context.persistent(4 * channels + 4)
    cdef float* scales = <float*>context.persistent(4 * channels + 4)
    cdef RangeF limits = real_range(activation)
    cdef ptrdiff_t c
    if w.block_size == 0:        # else the scales are the caller's
        want_scales(w, channels, name)
    want_bias(b, channels, FLOAT32, name)
    for c in range(channels if w.block_size == 0 else 0):
        scales[c] = w.scales[c if w.scale_count > 1 else 0]
    if b != NULL:
        memcpy(bias, b.data, 4 * channels)
    out.bias = bias
    out.scales = scales
    out.low = limits.low
    out.high = limits.high
    out.rows = rows_of(matrix, w.type)
    if w.type == INT2:
        out.apart = not (AARCH64 and generation() >= DOTPROD)
    else:
        out.apart = AARCH64 and (out.rows != ROWS_NEON or (generation() == DOTPROD and w.type == INT8 and rows > 1))
    out.keeps_nan = AARCH64 or (
        matrix and w.type == INT8 and generation() == AVX512 and cpu_has_avx512vnni() and not cpu_has_amx_int8())
    return 0


cdef inline int rows_of(bint matrix, int weights) except -1:
    """KleidiAI multiplies matrices where the CPU has dot products, but not by int2."""
    if not AARCH64:
        return LANES_16 if generation() == AVX512 else LANES_8
    if not matrix or weights == INT2 or generation() < DOTPROD:
        return ROWS_NEON
    return PACKED_4 if generation() == DOTPROD else PACKED_8
