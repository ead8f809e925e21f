"""FULLY_CONNECTED: inputs x (flattened to rows of the weights' depth), weights [outputs, depth], optional bias [outputs].

float32 in fully_connected_float.pyx, float32 values with integer weights in fully_connected_hybrid.pyx, integers in
fully_connected_integer.pyx, each with a table of its types.

Quirks: weights of depth 0 give zeros and the bias is ignored; elements that do not fill a last row of x are ignored. TFLM knows neither
shuffled weights nor activations that do not clamp, and ignores both.

Source: LiteRT:tflite/kernels/fully_connected.cc.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_RELU6, ACT_SIGN_BIT
from tflm_cy.graph.context cimport MICRO, Context, Node, defers, register
from tflm_cy.graph.tensor cimport FLOAT32, MAX_RANK, Tensor, count, shape_of
from tflm_cy.ops.fully_connected_float cimport prepare_float
from tflm_cy.ops.fully_connected_hybrid cimport prepare_hybrid
from tflm_cy.ops.fully_connected_integer cimport prepare_integer, prepare_shuffled
from tflm_cy.ops.fully_connected_layer cimport Matrix
from tflm_cy.schema.option_slots cimport (
    FULLY_CONNECTED_FUSED_ACTIVATION_FUNCTION, FULLY_CONNECTED_KEEP_NUM_DIMS, FULLY_CONNECTED_WEIGHTS_FORMAT,
)
from tflm_cy.schema.table cimport table_bool, table_i8

cdef enum:                       # FullyConnectedOptionsWeightsFormat
    SHUFFLED_4X16 = 1


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* w = context.input(node, 1)
    cdef Tensor* b = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef Matrix m
    cdef int activation = table_i8(node.options, FULLY_CONNECTED_FUSED_ACTIVATION_FUNCTION, 0)
    cdef bint shuffled = table_i8(node.options, FULLY_CONNECTED_WEIGHTS_FORMAT, 0) == SHUFFLED_4X16 and node.arithmetic != MICRO
    if node.input_count < 2 or node.input_count > 3 or x == NULL or w == NULL or node.output_count != 1 + shuffled or y == NULL:
        raise ValueError("FULLY_CONNECTED wants an input, weights, an optional bias and one output, with shuffled weights two")
    if activation < ACT_NONE or activation > ACT_SIGN_BIT:
        activation = ACT_NONE                    # what TensorFlow does not know is none
    if w.rank != 2:
        raise ValueError(f"FULLY_CONNECTED: NumDimensions(filter) != 2 ({w.rank} != 2)")
    if w.type != FLOAT32:
        context.materialize(w)
    m.rows = w.dims[0]
    m.depth = w.dims[1]
    set_output_shape(context, node, &m, x, y)
    if m.depth == 0:
        node.invoke = nothing_to_sum
        return 0
    if b != NULL and count(b) != m.rows:
        raise ValueError(f"FULLY_CONNECTED: NumElements(bias) != SizeOfDimension(filter, 0) ({count(b)} != {m.rows})")
    if x.type == FLOAT32 and w.type != FLOAT32 and not shuffled:
        prepare_hybrid(context, node, &m, activation)
        return 0
    if activation > ACT_RELU6 and node.arithmetic != MICRO:     # TFLM leaves others out
        raise ValueError("FULLY_CONNECTED: params->activation == kTfLiteActRelu6 was not true: only clipping activations can be fused")
    if shuffled:
        prepare_shuffled(context, node, &m)
    elif x.type == FLOAT32:
        prepare_float(context, node, &m, activation)
    else:
        prepare_integer(context, node, &m, activation)
    return 0


cdef int set_output_shape(Context context, const Node* node, Matrix* m, const Tensor* x, Tensor* y) except -1:
    """[batches, outputs], or x's shape with another last dimension (keep_num_dims)."""
    cdef int32_t[MAX_RANK] dims
    cdef int64_t total = count(x)
    cdef int rank = 2
    cdef int d
    if m.depth == 0:
        total = 1
        for d in range(x.rank - 1):
            total *= x.dims[d]
    m.batches = total if m.depth == 0 else total / m.depth
    if m.batches > 0x7FFFFFFF:
        raise ValueError(f"FULLY_CONNECTED: {m.batches} rows are too many")
    dims[0] = <int32_t>m.batches
    dims[1] = <int32_t>m.rows
    if node.arithmetic == MICRO and y.rank > 0 and y.dims[y.rank - 1] == m.rows and count(y) == m.batches * m.rows:
        return 0                                 # TFLM leaves the shape as it is
    if table_bool(node.options, FULLY_CONNECTED_KEEP_NUM_DIMS, False):
        if x.rank < 1 or (m.depth != 0 and x.dims[x.rank - 1] != m.depth):
            raise ValueError(f"FULLY_CONNECTED: keep_num_dims wants rows of {m.depth}, the input has the shape {shape_of(x)}")
        rank = x.rank
        for d in range(rank):
            dims[d] = x.dims[d]
        dims[rank - 1] = <int32_t>m.rows
    context.set_shape(y, rank, dims)
    return 0


cdef int nothing_to_sum(Context context, Node* node) noexcept nogil:
    """Depth 0: zeros, whatever the bias."""
    cdef Tensor* y = context.output(node, 0)
    memset(y.data, 0, y.bytes)
    return 0


OPERATORS = {
    "FULLY_CONNECTED": defers(register(prepare, version=14, reference_version=14, lowest_version=1, sparse_input=1), 1),
}
