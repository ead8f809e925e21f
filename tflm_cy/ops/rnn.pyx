"""RNN and UNIDIRECTIONAL_SEQUENCE_RNN: basic recurrent cells on float32, weights float32 or int8 (hybrid; uint8 is read as int8).

RNN takes one step [batch, input]; the sequence is [time, batch, input] (time_major) or [batch, time, input], whose batches go one after the
other. The hidden state is a variable tensor.

Source: LiteRT:tflite/kernels/{basic_rnn,unidirectional_sequence_rnn}.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_SIGN_BIT
from tflm_cy.arithmetic.hybrid cimport has_minimum, sum_rows
from tflm_cy.arithmetic.rnn cimport RnnMatrix, RnnShape, rnn_step_f32, rnn_step_hybrid
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, UINT8, VARIABLE, Tensor, is_constant, type_name
from tflm_cy.ops.generation cimport has_dotprod
from tflm_cy.ops.operand cimport expect_arity
from tflm_cy.schema.option_slots cimport (
    RNN_ASYMMETRIC_QUANTIZE_INPUTS, RNN_FUSED_ACTIVATION_FUNCTION, SEQUENCE_RNN_ASYMMETRIC_QUANTIZE_INPUTS,
    SEQUENCE_RNN_FUSED_ACTIVATION_FUNCTION, SEQUENCE_RNN_TIME_MAJOR,
)
from tflm_cy.schema.table cimport table_bool, table_i8
from tflm_cy.simd.table cimport row_kernels

cdef enum:                       # inputs
    X = 0
    WEIGHTS = 1
    RECURRENT = 2
    BIAS = 3
    STATE = 4

cdef struct Rnn:
    RnnShape shape
    ptrdiff_t batches
    ptrdiff_t steps
    bint time_major
    bint asymmetric
    bint known_weights
    RnnMatrix w                  # hybrid
    RnnMatrix r
    int32_t quantized            # scratch handle


cdef int prepare_step(Context context, Node* node) except -1:
    return prepare(context, node, 2, True, table_i8(node.options, RNN_FUSED_ACTIVATION_FUNCTION, 0),
                   table_bool(node.options, RNN_ASYMMETRIC_QUANTIZE_INPUTS, False))


cdef int prepare_sequence(Context context, Node* node) except -1:
    return prepare(context, node, 3, table_bool(node.options, SEQUENCE_RNN_TIME_MAJOR, False),
                   table_i8(node.options, SEQUENCE_RNN_FUSED_ACTIVATION_FUNCTION, 0),
                   table_bool(node.options, SEQUENCE_RNN_ASYMMETRIC_QUANTIZE_INPUTS, False))


cdef int prepare(Context context, Node* node, int rank, bint time_major, int activation, bint asymmetric) except -1:
    cdef Tensor* x
    cdef Tensor* w
    cdef Tensor* r
    cdef Tensor* bias
    cdef Tensor* h
    cdef Tensor* y
    cdef Rnn* s
    cdef int32_t[3] dims
    cdef int d
    expect_arity(context, node, 5, 1)
    x, w, r, bias = context.input(node, X), context.input(node, WEIGHTS), context.input(node, RECURRENT), context.input(node, BIAS)
    h, y = context.input(node, STATE), context.output(node, 0)
    if x.rank != rank:
        raise ValueError(f"RNN: an input of {x.rank} dimensions, expected {rank}")
    if x.type != FLOAT32 or y.type != FLOAT32 or bias.type != FLOAT32 or h.type != FLOAT32:
        raise ValueError(f"input->type != kTfLiteFloat32 ({type_name(x.type)}): input, output, bias and state must be float32")
    if w.type != r.type or w.type not in (FLOAT32, INT8, UINT8):
        raise ValueError(f"Type {type_name(w.type)} not currently supported.")
    if activation < ACT_NONE or activation > ACT_SIGN_BIT:
        activation = ACT_NONE                    # what TensorFlow does not know is none
    if h.allocation != VARIABLE:
        raise ValueError("hidden_state != nullptr was not true: the hidden state must be a variable tensor")
    s = <Rnn*>context.persistent(sizeof(Rnn))
    s.time_major, s.asymmetric, s.shape.activation = time_major, asymmetric, activation
    s.batches = x.dims[0] if rank == 2 or not time_major else x.dims[1]
    s.steps = 1 if rank == 2 else x.dims[0] if time_major else x.dims[1]
    s.shape.inputs = x.dims[rank - 1]
    s.shape.fast = row_kernels()
    s.shape.dotprod = has_dotprod()
    if w.rank != 2 or w.dims[1] != s.shape.inputs:
        raise ValueError("input->dims->data[1] != input_weights->dims->data[1]: input and weights do not fit")
    s.shape.units = w.dims[0]
    if bias.rank != 1 or bias.dims[0] != w.dims[0] or r.rank != 2 or r.dims[0] != w.dims[0] or r.dims[1] != w.dims[0]:
        raise ValueError("input_weights->dims->data[0] != bias->dims->data[0]: bias or recurrent weights do not fit")
    if h.rank != 2 or h.dims[0] != s.batches or h.dims[1] != w.dims[0]:
        raise ValueError("hidden_state->dims->data[0] != batch_size: the state is not [batch, units]")
    for d in range(rank):
        dims[d] = x.dims[d]
    dims[rank - 1] = w.dims[0]
    context.set_shape(y, rank, dims)
    node.data = s
    if w.type == FLOAT32:
        node.invoke = run_f32
        return 0
    s.quantized = context.request_scratch(max(s.shape.inputs, s.shape.units) * sizeof(int16_t))
    s.w.row_sums = <int32_t*>context.persistent(s.shape.units * sizeof(int32_t) + 4)
    s.r.row_sums = <int32_t*>context.persistent(s.shape.units * sizeof(int32_t) + 4)
    s.known_weights = is_constant(w) and is_constant(r)
    if s.known_weights:
        inspect(&s.w, w)
        inspect(&s.r, r)
    node.invoke = run_hybrid
    return 0


cdef void inspect(RnnMatrix* m, const Tensor* w) noexcept nogil:
    m.columns = w.dims[1]
    m.scale = w.scale
    m.minimum = has_minimum(<const int8_t*>w.data, w.dims[0], w.dims[1])
    sum_rows(<const int8_t*>w.data, w.dims[0], w.dims[1], m.row_sums)


cdef int run_f32(Context context, Node* node) noexcept nogil:
    cdef Rnn* s = <Rnn*>node.data
    cdef const float* x = <const float*>context.input(node, X).data
    cdef const float* w = <const float*>context.input(node, WEIGHTS).data
    cdef const float* r = <const float*>context.input(node, RECURRENT).data
    cdef const float* bias = <const float*>context.input(node, BIAS).data
    cdef float* h = <float*>context.input(node, STATE).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef ptrdiff_t b, t, at
    if s.time_major:
        for t in range(s.steps):
            at = t * s.batches
            rnn_step_f32(&s.shape, w, NULL, r, bias, s.batches, x + at * s.shape.inputs, NULL, h, y + at * s.shape.units, s.shape.units)
        return 0
    for b in range(s.batches):
        for t in range(s.steps):
            at = b * s.steps + t
            rnn_step_f32(&s.shape, w, NULL, r, bias, 1, x + at * s.shape.inputs, NULL, h + b * s.shape.units, y + at * s.shape.units, s.shape.units)
    return 0


cdef int run_hybrid(Context context, Node* node) noexcept nogil:
    cdef Rnn* s = <Rnn*>node.data
    cdef const float* x = <const float*>context.input(node, X).data
    cdef const float* bias = <const float*>context.input(node, BIAS).data
    cdef float* h = <float*>context.input(node, STATE).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int16_t* q = <int16_t*>context.scratch(s.quantized)
    cdef ptrdiff_t b, t, at
    if not s.known_weights:
        inspect(&s.w, context.input(node, WEIGHTS))
        inspect(&s.r, context.input(node, RECURRENT))
    s.w.w = <const int8_t*>context.input(node, WEIGHTS).data
    s.r.w = <const int8_t*>context.input(node, RECURRENT).data
    if s.time_major:
        for t in range(s.steps):
            at = t * s.batches
            rnn_step_hybrid(&s.shape, &s.w, NULL, &s.r, bias, s.asymmetric, s.batches, x + at * s.shape.inputs, NULL, h,
                            y + at * s.shape.units, s.shape.units, q)
        return 0
    for b in range(s.batches):
        for t in range(s.steps):
            at = b * s.steps + t
            rnn_step_hybrid(&s.shape, &s.w, NULL, &s.r, bias, s.asymmetric, 1, x + at * s.shape.inputs, NULL, h + b * s.shape.units,
                            y + at * s.shape.units, s.shape.units, q)
    return 0


OPERATORS = {
    "RNN": register(prepare_step, version=3, reference_version=3),
    "UNIDIRECTIONAL_SEQUENCE_RNN": register(prepare_sequence, version=3, reference_version=3),
}
