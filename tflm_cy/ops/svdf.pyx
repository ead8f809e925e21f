"""SVDF: int8 with an int16 or int8 state, float32, and hybrid (float32 activations, int8 weights).

| x | feature weights | time weights | state | bias | activation |
| --- | --- | --- | --- | --- | --- |
| int8 | int8 | int16 | int16 | int32 | must be RELU, yet the output is only clamped to int8 |
| int8 | int8 | int8 | int8 | int32 | ignored (TensorFlow's process dies; this is TensorFlow Lite Micro's kernel) |
| float32 | float32 | float32 | float32 | float32 | NONE, RELU, RELU_N1_TO_1, RELU6, TANH |
| float32 | int8 | int8 | float32 | float32 | as float32 |

The bias may be omitted. The state is a variable tensor, which the graph keeps from one invoke to the next.

Source: LiteRT:tflite/kernels/svdf.cc, tflite-micro:tensorflow/lite/micro/kernels/svdf_common.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_RELU, ACT_SIGN_BIT, quantize_multiplier
from tflm_cy.arithmetic.hybrid cimport has_minimum, sum_rows
from tflm_cy.arithmetic.micro.svdf cimport svdf_f32_in_order
from tflm_cy.arithmetic.svdf cimport SvdfScales, SvdfShape, svdf_f32, svdf_hybrid, svdf_s8
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT16, INT32, UINT8, VARIABLE, Tensor, count, is_constant, type_name
from tflm_cy.ops.generation cimport has_dotprod
from tflm_cy.schema.option_slots cimport SVDF_ASYMMETRIC_QUANTIZE_INPUTS, SVDF_FUSED_ACTIVATION_FUNCTION, SVDF_RANK
from tflm_cy.schema.table cimport table_bool, table_i8, table_i32

from tflm_cy.graph.refusal import LateRefusalError
from tflm_cy.simd.table cimport row_kernels

cdef enum:                       # inputs
    X = 0
    FEATURE = 1
    TIME = 2
    BIAS = 3
    STATE = 4

cdef struct Svdf:
    SvdfShape shape
    SvdfScales scales
    bint asymmetric
    bint minimum                 # a feature weight is -128
    bint known_weights
    int32_t* row_sums            # hybrid: of the feature weights
    float* time                  # hybrid: dequantized time weights
    int32_t products             # scratch handles
    int32_t lanes
    int32_t vector


cdef int prepare(Context context, Node* node) except -1:
    cdef Svdf* s
    cdef SvdfShape* shape
    cdef Tensor* x
    cdef Tensor* feature
    cdef Tensor* time
    cdef Tensor* bias
    cdef Tensor* state
    cdef Tensor* y
    cdef int32_t[2] dims
    if node.input_count != 5 or node.output_count != 1:
        raise ValueError(f"SVDF wants 5 inputs and 1 output, this one has {node.input_count} and {node.output_count}")
    x, feature, time = context.input(node, X), context.input(node, FEATURE), context.input(node, TIME)
    bias, state, y = context.input(node, BIAS), context.input(node, STATE), context.output(node, 0)
    if x == NULL or feature == NULL or time == NULL or state == NULL or y == NULL:
        raise ValueError("SVDF: only the bias may be omitted")
    if x.rank != 2 or feature.rank != 2 or time.rank != 2 or state.rank != 2:
        raise ValueError("SVDF: input, weights and state must have two dimensions")
    if state.allocation != VARIABLE:
        raise ValueError("state != nullptr was not true: the state of SVDF must be a variable tensor")
    s = <Svdf*>context.persistent(sizeof(Svdf))
    shape = &s.shape
    shape.batches, shape.inputs = x.dims[0], x.dims[1]
    shape.filters, shape.memory = feature.dims[0], time.dims[1]
    shape.rank = table_i32(node.options, SVDF_RANK, 0)
    if node.arithmetic != MICRO:
        shape.fast = row_kernels()
        shape.dotprod = has_dotprod()
    shape.activation = table_i8(node.options, SVDF_FUSED_ACTIVATION_FUNCTION, 0)
    if shape.rank <= 0 or shape.filters % shape.rank:
        raise ValueError(f"num_filters % rank != 0: {shape.filters} filters, rank {shape.rank}")
    if shape.memory < 1:
        raise ValueError("SVDF: a memory of no steps")
    if feature.dims[1] != shape.inputs:
        raise ValueError(f"input->dims->data[1] != weights_feature->dims->data[1] ({shape.inputs} != {feature.dims[1]})")
    if time.dims[0] != shape.filters:
        raise ValueError(f"weights_time->dims->data[0] != num_filters ({time.dims[0]} != {shape.filters})")
    if bias != NULL and count(bias) != shape.filters / shape.rank:
        raise ValueError(f"bias->dims->data[0] != num_units ({count(bias)} != {shape.filters / shape.rank})")
    if state.dims[0] != shape.batches or state.dims[1] != shape.memory * shape.filters:
        raise ValueError("SVDF: the state's shape is not [batch, filters * memory]")
    dims[0] = x.dims[0]
    dims[1] = <int32_t>(shape.filters / shape.rank)
    context.set_shape(y, 2, dims)
    node.data = s
    if count(state) == 0:
        node.invoke = nothing
    elif x.type == INT8:
        prepare_int8(context, node, s)
    elif x.type == FLOAT32:
        prepare_float(context, node, s)
    else:
        raise ValueError(f"input->type == kTfLiteFloat32 || input->type == kTfLiteInt8 was not true ({type_name(x.type)})")
    return 0


cdef int expect(const Tensor* tensor, int type, str what) except -1:
    if tensor != NULL and tensor.type != type:
        raise ValueError(f"SVDF: {what} of type {type_name(tensor.type)}, expected {type_name(type)}")
    return 0


cdef int prepare_int8(Context context, Node* node, Svdf* s) except -1:
    cdef Tensor* x = context.input(node, X)
    cdef Tensor* feature = context.input(node, FEATURE)
    cdef Tensor* time = context.input(node, TIME)
    cdef Tensor* state = context.input(node, STATE)
    cdef Tensor* y = context.output(node, 0)
    expect(feature, INT8, "feature weights")
    if node.arithmetic != MICRO and (
            x.scale_count == 0 or feature.scale_count == 0 or time.scale_count == 0 or state.scale_count == 0 or y.scale_count == 0):
        raise ValueError("SVDF: quantization.type != kTfLiteNoQuantization was not true for one of input, weights, state, output")
    if s.shape.activation != ACT_RELU and node.arithmetic != MICRO:       # which ignores it
        raise LateRefusalError(f"params->activation != kTfLiteActRelu ({s.shape.activation} != 1)")
    expect(time, INT8 if state.type == INT8 else INT16, "time weights")
    expect(state, INT8 if time.type == INT8 else INT16, "state")
    expect(context.input(node, BIAS), INT32, "bias")
    expect(y, INT8, "output")
    s.scales.feature = quantize_multiplier(<float>(<float>(x.scale * feature.scale) / state.scale))
    s.scales.time = quantize_multiplier(<float>(<float>(state.scale * time.scale) / y.scale))
    s.scales.x_zero_point = x.zero_point
    s.scales.y_zero_point = y.zero_point
    s.scales.state_zero_point = state.zero_point if state.type == INT8 else 0
    s.vector = context.request_scratch(s.shape.inputs * sizeof(int16_t))
    s.products = context.request_scratch(s.shape.filters * sizeof(int32_t))
    node.invoke = step_s8 if time.type == INT8 else step_s8_s16
    return 0


cdef int prepare_float(Context context, Node* node, Svdf* s) except -1:
    cdef Tensor* feature = context.input(node, FEATURE)
    cdef Tensor* time = context.input(node, TIME)
    expect(context.input(node, STATE), FLOAT32, "state")
    expect(context.input(node, BIAS), FLOAT32, "bias")
    expect(context.output(node, 0), FLOAT32, "output")
    if s.shape.activation < ACT_NONE or s.shape.activation > ACT_SIGN_BIT:
        s.shape.activation = ACT_NONE            # what TensorFlow does not know is none
    s.products = context.request_scratch(s.shape.batches * s.shape.filters * sizeof(float))
    s.lanes = context.request_scratch(s.shape.rank * sizeof(float))
    if feature.type == FLOAT32:
        expect(time, FLOAT32, "time weights")
        node.invoke = step_f32_in_order if node.arithmetic == MICRO else step_f32
        return 0
    if feature.type != INT8 and feature.type != UINT8:
        raise ValueError(f"Type {type_name(feature.type)} not currently supported.")
    expect(time, feature.type, "time weights")
    s.asymmetric = table_bool(node.options, SVDF_ASYMMETRIC_QUANTIZE_INPUTS, False)
    s.vector = context.request_scratch(s.shape.inputs * sizeof(int16_t))
    s.row_sums = <int32_t*>context.persistent(s.shape.filters * sizeof(int32_t))
    s.time = <float*>context.persistent(s.shape.filters * s.shape.memory * sizeof(float))
    s.known_weights = is_constant(feature) and is_constant(time)
    if s.known_weights:
        unpack_weights(context, node)
    node.invoke = step_hybrid
    return 0


cdef void unpack_weights(Context context, Node* node) noexcept nogil:
    cdef Svdf* s = <Svdf*>node.data
    cdef Tensor* time = context.input(node, TIME)
    cdef const int8_t* feature = <const int8_t*>context.input(node, FEATURE).data
    cdef ptrdiff_t i
    sum_rows(feature, s.shape.filters, s.shape.inputs, s.row_sums)
    s.minimum = has_minimum(feature, s.shape.filters, s.shape.inputs)
    for i in range(s.shape.filters * s.shape.memory):
        s.time[i] = <float>(<const int8_t*>time.data)[i] * time.scale


cdef inline void* data_of(Tensor* tensor) noexcept nogil:
    return NULL if tensor == NULL else tensor.data


cdef int nothing(Context context, Node* node) noexcept nogil:
    """No batch or no filter."""
    return 0


cdef int step_s8_s16(Context context, Node* node) noexcept nogil:
    cdef Svdf* s = <Svdf*>node.data
    svdf_s8(&s.shape, &s.scales, <const int8_t*>context.input(node, X).data, <const int8_t*>context.input(node, FEATURE).data,
            <const int16_t*>context.input(node, TIME).data, <const int32_t*>data_of(context.input(node, BIAS)),
            <int16_t*>context.input(node, STATE).data, <int8_t*>context.output(node, 0).data, <int16_t*>context.scratch(s.vector),
            <int32_t*>context.scratch(s.products))
    return 0


cdef int step_s8(Context context, Node* node) noexcept nogil:
    cdef Svdf* s = <Svdf*>node.data
    svdf_s8(&s.shape, &s.scales, <const int8_t*>context.input(node, X).data, <const int8_t*>context.input(node, FEATURE).data,
            <const int8_t*>context.input(node, TIME).data, <const int32_t*>data_of(context.input(node, BIAS)),
            <int8_t*>context.input(node, STATE).data, <int8_t*>context.output(node, 0).data, <int16_t*>context.scratch(s.vector),
            <int32_t*>context.scratch(s.products))
    return 0


cdef int step_f32(Context context, Node* node) noexcept nogil:
    cdef Svdf* s = <Svdf*>node.data
    svdf_f32(&s.shape, <const float*>context.input(node, X).data, <const float*>context.input(node, FEATURE).data,
             <const float*>context.input(node, TIME).data, <const float*>data_of(context.input(node, BIAS)),
             <float*>context.input(node, STATE).data, <float*>context.output(node, 0).data, <float*>context.scratch(s.products),
             <float*>context.scratch(s.lanes))
    return 0


cdef int step_f32_in_order(Context context, Node* node) noexcept nogil:
    cdef Svdf* s = <Svdf*>node.data
    svdf_f32_in_order(
        &s.shape, <const float*>context.input(node, X).data, <const float*>context.input(node, FEATURE).data,
        <const float*>context.input(node, TIME).data, <const float*>data_of(context.input(node, BIAS)),
        <float*>context.input(node, STATE).data, <float*>context.output(node, 0).data)
    return 0


cdef int step_hybrid(Context context, Node* node) noexcept nogil:
    cdef Svdf* s = <Svdf*>node.data
    if not s.known_weights:
        unpack_weights(context, node)
    svdf_hybrid(&s.shape, <const float*>context.input(node, X).data, <const int8_t*>context.input(node, FEATURE).data,
                context.input(node, FEATURE).scale, s.asymmetric, s.row_sums, s.minimum, s.time,
                <const float*>data_of(context.input(node, BIAS)), <float*>context.input(node, STATE).data,
                <float*>context.output(node, 0).data, <float*>context.scratch(s.products), <float*>context.scratch(s.lanes),
                <int16_t*>context.scratch(s.vector))
    return 0


OPERATORS = {
    "SVDF": register(prepare, version=4, reference_version=4),
}
