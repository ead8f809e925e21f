"""What operators with weights (convolutions, matrix products) share in prepare: weights as bytes, biases, rescaling, and their checks.

    prepare_weights(context, w, &op.weights)       # prepare: int4 and int2 are unpacked once when constant
    weight_bytes(context, w, &op.weights)          # invoke: one signed or unsigned byte per weight

Checks raise ValueError with TensorFlow's key phrase. Source: LiteRT:tflite/kernels/kernel_util.cc.
"""
from libc.math cimport fabs
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.fixed_point cimport Range32, quantize_multiplier
from tflm_cy.arithmetic.multipliers cimport Factor, Multiplier
from tflm_cy.arithmetic.optimized.rounding cimport rounding_of_shift
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT, LONGEST_16BIT
from tflm_cy.arithmetic.sum_rescale cimport ONCE, Rescale, factor_of
from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport (
    FLOAT32, INT2, INT4, INT8, INT16, INT32, INT64, UINT8, Tensor, count, is_constant, type_name, type_size,
    type_size,
)
from tflm_cy.ops.fused_clamp cimport fused_clamp

cdef struct Weights:
    const uint8_t* unpacked      # constants as bytes where the file's form does not serve (int4, int2, padded), else NULL
    int scratch                  # handle of room to unpack such weights that are not constant, else -1

cdef struct Bias:
    void* values                 # one float or int64 per channel; zeros without a bias; NULL when read at each invoke
    int scratch                  # handle of room for them, or -1
    int type                     # what the tensor's bytes are read as


cdef inline void unpack_int4(const uint8_t* packed, int64_t n, int8_t* out) noexcept nogil:
    """Two values a byte, the low nibble first, sign extended."""
    cdef int64_t i
    for i in range(n):
        out[i] = <int8_t>(((packed[i >> 1] >> (4 * (i & 1)) & 15) ^ 8) - 8)


cdef inline void unpack_int2(const uint8_t* packed, int64_t n, int8_t* out) noexcept nogil:
    """Four values a byte, the lowest bits first, sign extended."""
    cdef int64_t i
    for i in range(n):
        out[i] = <int8_t>(((packed[i >> 2] >> (2 * (i & 3)) & 3) ^ 2) - 2)


cdef inline void unpack(const Tensor* w, int8_t* out) noexcept nogil:
    if w.type == INT2:
        unpack_int2(<const uint8_t*>w.data, count(w), out)
    else:
        unpack_int4(<const uint8_t*>w.data, count(w), out)


cdef inline int prepare_weights(Context context, const Tensor* w, Weights* weights) except -1:
    weights.unpacked = NULL
    weights.scratch = -1
    if w.type != INT4 and w.type != INT2:
        return 0
    if is_constant(w):
        weights.unpacked = <const uint8_t*>context.persistent(count(w) + 1)
        unpack(w, <int8_t*>weights.unpacked)
    else:
        weights.scratch = context.request_scratch(count(w) + 1)
    return 0


cdef inline const uint8_t* weight_bytes(Context context, const Tensor* w, const Weights* weights) noexcept nogil:
    cdef int8_t* room
    if weights.unpacked != NULL:
        return weights.unpacked
    if weights.scratch < 0:
        return <const uint8_t*>w.data
    room = <int8_t*>context.scratch(weights.scratch)
    unpack(w, room)
    return <const uint8_t*>room


cdef inline void read_bias(const Tensor* b, int type, ptrdiff_t channels, void* values) noexcept nogil:
    """Copy as float32 or widen to int64."""
    cdef ptrdiff_t c
    for c in range(channels):
        if type == FLOAT32:
            (<float*>values)[c] = (<const float*>b.data)[c]
        elif type == INT64:
            (<int64_t*>values)[c] = (<const int64_t*>b.data)[c]
        elif type == INT16:
            (<int64_t*>values)[c] = (<const int16_t*>b.data)[c]
        else:
            (<int64_t*>values)[c] = (<const int32_t*>b.data)[c]


cdef inline int prepare_bias(Context context, const Tensor* b, ptrdiff_t channels, Bias* bias) except -1:
    """b may be NULL; its type and size are checked by the caller."""
    return prepare_bias_as(context, b, FLOAT32 if b == NULL else b.type, channels, bias)


cdef inline int prepare_bias_as(Context context, const Tensor* b, int type, ptrdiff_t channels, Bias* bias) except -1:
    """The bytes of b, which may be NULL, read as `type`; zeros where they do not suffice, which makes TFLM's node fail (`micro.type_support`)."""
    cdef bint read = b != NULL and count(b) * type_size(b.type) >= channels * type_size(type)
    bias.values = NULL
    bias.scratch = -1
    bias.type = type
    if read and not is_constant(b):
        bias.scratch = context.request_scratch(8 * channels + 8)
        return 0
    bias.values = context.persistent(8 * channels + 8)
    if read:
        read_bias(b, type, channels, bias.values)
    return 0


cdef inline int prepare_bias_micro(Context context, const Tensor* x, const Tensor* b, int wide, ptrdiff_t channels, Bias* bias) except -1:
    """TFLM's kernels do not ask for the bias's type: the activations decide as what its bytes are read, with int16 as `wide`."""
    cdef int type = FLOAT32 if x.type == FLOAT32 else wide if x.type == INT16 else INT32
    return prepare_bias_as(context, b, type, channels, bias)


cdef inline void* bias_values(Context context, const Tensor* b, ptrdiff_t channels, const Bias* bias) noexcept nogil:
    cdef void* room
    if bias.scratch < 0:
        return bias.values
    room = context.scratch(bias.scratch)
    read_bias(b, bias.type, channels, room)
    return room


cdef inline int check_quantized(const Tensor* tensor, str name, str what) except -1:
    if tensor.scale_count == 0:
        raise ValueError(f"{name}: {what} has no quantization (quantization.type != kTfLiteAffineQuantization)")
    if tensor.type == UINT8 and not 0 <= tensor.zero_point <= 255 or tensor.type == INT8 and not -128 <= tensor.zero_point <= 127:
        raise ValueError(f"{name}: zero point {tensor.zero_point} of the {what} lies outside of {type_name(tensor.type)}")
    return 0


cdef inline int check_zero_points(const Tensor* tensor, str name, str what) except -1:
    """All zero points must be 0."""
    cdef int i
    for i in range(tensor.zero_point_count):
        if tensor.zero_points[i] != 0:
            raise ValueError(f"{name}: zero_point of {what} != 0 ({tensor.zero_points[i]} != 0)")
    return 0


cdef inline int check_bias_scale(const Tensor* x, const Tensor* w, const Tensor* b, const Tensor* y, str name) except -1:
    """Per-tensor weights: the bias must be quantized by about x_scale * w_scale."""
    cdef double difference
    if b == NULL:
        return 0
    difference = fabs(<double>x.scale * <double>w.scale - <double>b.scale)
    if not (difference / <double>y.scale <= 0.02):
        raise ValueError(f"{name}: scale_diff / output_scale <= 0.02 was not true (bias scale {b.scale}, input scale {x.scale}, "
                         f"weight scale {w.scale}, output scale {y.scale})")
    return 0


cdef inline int check_product(const Tensor* x, const Tensor* w, str name) except -1:
    """The product of the input scales must not be negative, or NaN, where it is a float32."""
    if not x.scale * w.scale >= 0:
        raise ValueError(f"{name}: input_product_scale >= 0 was not true: {x.scale} * {w.scale}")
    return 0


cdef inline int check_bias_type(const Tensor* x, const Tensor* b, int option, str name) except -1:
    """int32, with int16 activations int64 or int32, as the option says if it does; float32 with float32."""
    if x.type != INT16:
        if b != NULL and (b.type != FLOAT32 if x.type == FLOAT32 else b.type != INT32):
            raise ValueError(f"{name}: bias has type {type_name(b.type)}, expected {'FLOAT32' if x.type == FLOAT32 else 'INT32'}")
        return 0
    if option != FLOAT32 and option != INT32 and option != INT64:
        raise ValueError(f"{name}: quantized_bias_type {type_name(option)} is neither INT32 nor INT64")
    if b == NULL:
        return 0
    if b.type != INT32 and b.type != INT64:
        raise ValueError(f"{name}: bias has type {type_name(b.type)}, expected INT64 or INT32")
    if option != FLOAT32 and b.type != option:
        raise ValueError(f"{name}: bias->type == params->quantized_bias_type was not true")
    return 0


cdef inline int check_bias_width(const Tensor* x, const Tensor* b, int option, str name) except -1:
    """TensorFlow reads an int32 bias as int64 unless the option says what it is; the output has its shape by now."""
    if x.type == INT16 and option == FLOAT32 and b != NULL and b.type == INT32:
        from tflm_cy.graph.refusal import OwnRefusalError
        raise OwnRefusalError(f"{name}: an INT32 bias with int16 activations wants the option quantized_bias_type = INT32")
    return 0


cdef inline bint read_as_bytes(const Tensor* x, const Tensor* w) noexcept nogil:
    """TensorFlow's integer kernels do not look at the type of the weights: they read bytes, as x's type has them (int8 for int16).

    Types of more bytes have enough of them. Zero points of weights count for uint8 only, and must be uint8.
    """
    return type_size(w.type) >= 1 and (x.type != UINT8 or 0 <= w.zero_point <= 255)


cdef inline int set_activation_range(int activation, const Tensor* y, Rescale* out) except -1:
    cdef Range32 r = fused_clamp(activation, y)
    out.low = r.low
    out.high = r.high
    out.zero_point = y.zero_point
    return 0


cdef enum:
    ROUND_ONCE = -1

cdef struct Multipliers:         # of a convolution's channels, before they are taken apart
    double x_scale
    double y_scale
    const float* scales          # of the filter; uint8: NULL
    bint per_channel
    ptrdiff_t channels
    ptrdiff_t up                 # channels below round halves up, the others away from zero; ROUND_ONCE: all do
    Factor* factors              # NULL: without memory yet


cdef inline double multiplier_of(const Multipliers* m, ptrdiff_t c) noexcept nogil:
    """A double product per channel; uint8 has the float32 product of the input scales as x_scale."""
    return m.x_scale / m.y_scale if m.scales == NULL else m.x_scale * <double>m.scales[c if m.per_channel else 0] / m.y_scale


cdef inline bint are_small(const Multipliers* m) noexcept nogil:
    """No multiplier is negative, infinite, NaN, or leads to a left shift."""
    return are_below(m, 0.99)


cdef inline bint are_below(const Multipliers* m, double most) noexcept nogil:
    cdef double factor = m.x_scale / m.y_scale
    cdef ptrdiff_t c
    cdef bint small = True
    if m.scales == NULL:
        return 0 <= factor < most
    for c in range(m.channels if m.per_channel else 1):
        small &= 0 <= factor * m.scales[c] < most
    return small


cdef inline void fill_factors(const Multipliers* m) noexcept nogil:
    cdef Multiplier multiplier
    cdef ptrdiff_t c
    for c in range(m.channels):
        multiplier = quantize_multiplier(multiplier_of(m, c))
        m.factors[c] = factor_of(multiplier, rounding_of_shift(ONCE, multiplier.shift) if m.up == ROUND_ONCE else c < m.up)


cdef inline int prepare_rescale(
    Context context, const Tensor* x, const Tensor* w, const Tensor* b, const Tensor* y, int activation, ptrdiff_t channels,
    bint wide, ptrdiff_t up, Rescale* out, str name,
) except -1:
    """The multipliers of a convolution; channels below `up` round halves up, the others away from zero; ROUND_ONCE: all once."""
    cdef Multipliers m
    plan_rescale(context, x, w, b, y, activation, channels, wide, up, out, &m, name)
    return own_factors(context, &m, out)


cdef inline int own_factors(Context context, Multipliers* m, Rescale* out) except -1:
    """Fill the multipliers in, in memory that is theirs as long as the node lives."""
    if m.factors == NULL:
        m.factors = <Factor*>context.unfilled(m.channels * sizeof(Factor) + 1)
        fill_factors(m)
    out.factors = m.factors
    return 0


cdef inline int plan_rescale(
    Context context, const Tensor* x, const Tensor* w, const Tensor* b, const Tensor* y, int activation, ptrdiff_t channels,
    bint wide, ptrdiff_t up, Rescale* out, Multipliers* m, str name,
) except -1:
    """As prepare_rescale, all but `own_factors`."""
    check_quantized(x, name, "input")
    check_quantized(w, name, "filter")
    if w.scale_count != 1 and w.scale_count != channels:
        raise ValueError(f"{name}: filter has {w.scale_count} scales for {channels} output channels")
    if w.scale_count > 1:
        if x.type == UINT8:
            raise ValueError(f"{name}: per-channel scales with uint8 (input->type == kTfLiteInt8 || input->type == kTfLiteInt16 was not true)")
        if w.quantized_dimension < 0 or w.quantized_dimension >= w.rank or w.dims[w.quantized_dimension] != channels:
            raise ValueError(f"{name}: quantized_dimension {w.quantized_dimension} of the filter does not count its {channels} channels")
    set_activation_range(activation, y, out)
    if x.type == UINT8:
        check_bias_scale(x, w, b, y, name)
        check_product(x, w, name)
    m.x_scale = <double><float>(x.scale * w.scale) if x.type == UINT8 else <double>x.scale
    m.y_scale = y.scale
    m.scales = NULL if x.type == UINT8 else w.scales
    m.per_channel = w.scale_count > 1
    m.channels = channels
    m.up = up
    m.factors = NULL
    out.factors = NULL
    out.wide = wide
    out.longest = LONGEST_16BIT if x.type == INT16 else LONGEST_8BIT
    return 0
