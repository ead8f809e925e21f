"""NON_MAX_SUPPRESSION_V4 and _V5: the best of overlapping boxes.

float32 boxes [n, 4] and scores [n], an int32 limit and float32 thresholds, all scalars. With a sixth input, the sigma of soft suppression,
the chosen scores are an output too; that, not the name, decides. A limit that is not constant makes the outputs dynamic; what
is not used of them is 0.

Source: LiteRT:tflite/kernels/non_max_suppression.cc.
"""
from libc.stdint cimport int32_t
from libc.string cimport memset

from tflm_cy.arithmetic.suppression cimport Candidate, choose
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT32, Tensor, is_constant
from tflm_cy.ops.operand cimport adopt_type, expect_arity_between, index_at, operand, result

cdef enum:                       # inputs
    BOXES = 0
    SCORES = 1
    LIMIT = 2
    OVERLAP = 3
    LEAST = 4
    SIGMA = 5

cdef struct Suppression:
    int32_t heap                 # scratch
    int32_t sides
    int32_t dynamic


cdef int prepare(Context context, Node* node) except -1:
    cdef Suppression* op
    cdef int32_t limit
    cdef int i
    expect_arity_between(context, node, 5, 6, 3 if node.input_count == 6 else 2)
    cdef bint soft = node.input_count == 6
    cdef Tensor* boxes = operand(context, node, BOXES)
    cdef Tensor* scores = operand(context, node, SCORES)
    if boxes.type != FLOAT32 or boxes.rank != 2 or boxes.dims[1] != 4:
        raise ValueError("NON_MAX_SUPPRESSION wants FLOAT32 boxes [n, 4]")
    if scores.type != FLOAT32 or scores.rank != 1 or scores.dims[0] != boxes.dims[0]:
        raise ValueError(f"NON_MAX_SUPPRESSION wants {boxes.dims[0]} FLOAT32 scores")
    for i in range(LIMIT, node.input_count):
        if operand(context, node, i).rank != 0 or context.input(node, i).type != (<int>INT32 if i == LIMIT else <int>FLOAT32):
            raise ValueError(f"NON_MAX_SUPPRESSION: input {i} is no scalar of the right type: NumDimensions != 0")
    adopt_type(result(context, node, 0), INT32)
    adopt_type(result(context, node, node.output_count - 1), INT32)
    context.set_shape(context.output(node, node.output_count - 1), 0, NULL)
    if soft:
        adopt_type(result(context, node, 1), FLOAT32)
    op = <Suppression*>context.persistent(sizeof(Suppression))
    op.heap = context.request_scratch(sizeof(Candidate) * <size_t>boxes.dims[0])
    op.sides = context.request_scratch(5 * sizeof(float) * <size_t>boxes.dims[0])
    op.dynamic = not is_constant(context.input(node, LIMIT))
    node.data = op
    node.invoke = suppress
    for i in range(node.output_count - 1):
        if op.dynamic:
            context.set_dynamic(context.output(node, i))
            continue
        limit = <int32_t>index_at(INT32, context.input(node, LIMIT).data, 0)
        if limit < 0:
            raise ValueError("max_output_size_value >= 0 was not true")
        context.set_shape(context.output(node, i), 1, &limit)
    return 0


cdef int suppress(Context context, Node* node) noexcept nogil:
    cdef const Suppression* op = <const Suppression*>node.data
    cdef bint soft = node.input_count == 6
    cdef const Tensor* boxes = context.input(node, BOXES)
    cdef int32_t limit = <int32_t>index_at(INT32, context.input(node, LIMIT).data, 0)
    cdef float sigma = (<const float*>context.input(node, SIGMA).data)[0] if soft else <float>0
    cdef int32_t* chosen
    cdef float* scores = NULL
    cdef int32_t found, i
    if limit < 0:
        return context.fail(b"max_output_size_value >= 0 was not true")
    if sigma < 0:
        return context.fail(b"Invalid sigma value for soft NMS")
    if op.dynamic:
        for i in range(node.output_count - 1):
            if context.resize(context.output(node, i), 1, &limit) != 0:
                return -1
    chosen = <int32_t*>context.output(node, 0).data
    if soft:
        scores = <float*>context.output(node, 1).data
    found = choose(
        <const float*>boxes.data, <const float*>context.input(node, SCORES).data, boxes.dims[0], limit,
        (<const float*>context.input(node, OVERLAP).data)[0], (<const float*>context.input(node, LEAST).data)[0], sigma,
        <Candidate*>context.scratch(op.heap), <float*>context.scratch(op.sides), chosen, scores)
    (<int32_t*>context.output(node, node.output_count - 1).data)[0] = found
    memset(chosen + found, 0, (limit - found) * sizeof(int32_t))
    if soft:
        memset(scores + found, 0, (limit - found) * sizeof(float))
    return 0


OPERATORS = {
    "NON_MAX_SUPPRESSION_V4": register(prepare, version=1, reference_version=1),
    "NON_MAX_SUPPRESSION_V5": register(prepare, version=1, reference_version=1),
}
