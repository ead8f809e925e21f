"""SEGMENT_SUM and UNSORTED_SEGMENT_SUM, _PROD, _MAX, _MIN: rows joined by the segment that each belongs to.

float32 and int32, with int32 segments. SEGMENT_SUM wants segments that start at 0 and go up by 0 or 1; it is not in BUILTIN_REF. Of segments
of several dimensions it takes the first ones, as many as the data has rows.
The unsorted ones take segments of any leading shape of the data; a negative one is left out, and a segment without rows holds 0, 1,
the lowest or the highest number. Segments (or data, for SEGMENT_SUM) that are not constant make the output dynamic.

Source: LiteRT:tflite/kernels/{segment_sum,unsorted_segment}.cc.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.segment cimport JOIN_BEFORE, JOIN_LARGEST, JOIN_PRODUCT, JOIN_SMALLEST, JOIN_SUM, join_segments
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT32, MAX_RANK, Tensor, bytes_of, count, count_range, is_constant, type_name
from tflm_cy.ops.combining cimport combine_of
from tflm_cy.ops.operand cimport accept, expect_arity_between, index_at, operand, result, want_type_of

cdef struct Segments:
    int32_t joining
    int32_t sorted


cdef int prepare_segments(Context context, Node* node, int joining, bint is_sorted) except -1:
    cdef int32_t[MAX_RANK + 1] dims
    cdef Segments* op
    cdef int rank = 0
    expect_arity_between(context, node, 2 if is_sorted else 3, 2 if is_sorted else 3, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* segments = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if x.type != FLOAT32 and x.type != INT32:
        raise ValueError(f"data->type == kTfLiteInt32 || data->type == kTfLiteFloat32 was not true: {type_name(x.type)}")
    if segments.type != INT32 or (not is_sorted and operand(context, node, 2).type != INT32):
        raise ValueError(f"segment_ids->type != INT32: {type_name(segments.type)}")
    want_type_of(y, x)
    op = <Segments*>context.persistent(sizeof(Segments))
    op.joining = joining
    op.sorted = is_sorted
    node.data = op
    if is_constant(segments) and is_constant(x if is_sorted else context.input(node, 2)):
        accept(shape_of_segments(context, node, &rank, dims))
        context.set_shape(y, rank, dims)
        node.invoke = join
        return 0
    context.set_dynamic(y)
    node.invoke = join_dynamic
    return 0


cdef const char* shape_of_segments(Context context, const Node* node, int* rank, int32_t* dims) noexcept nogil:
    """The output's shape; what is wrong with the segments, if anything is."""
    cdef const Segments* op = <const Segments*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef const Tensor* segments = context.input(node, 1)
    cdef const Tensor* number = context.input(node, 2)
    cdef const int32_t* ids = <const int32_t*>segments.data
    cdef int64_t largest = -1
    cdef int64_t total = row_count(op, segments)
    cdef int shared = min(segments.rank, 1) if op.sorted else segments.rank
    cdef int64_t i
    cdef int d
    if op.sorted and (segments.rank < 1 or x.rank < 1):
        return b"SEGMENT_SUM: the data and segment_ids need a dimension"
    if shared > x.rank:
        return b"segment_ids_rank <= data_rank was not true"
    for d in range(shared):
        if segments.dims[d] != x.dims[d]:
            return b"the shape of segment_ids must be the data's leading dimensions"
    if count(segments) < total:
        return b"SEGMENT_SUM: a row of the data has no segment"
    for i in range(total):
        if op.sorted and not (ids[i] == 0 if i == 0 else ids[i] == largest or ids[i] == largest + 1):
            return b"segment_ids must start at 0 and go up by 0 or 1: delta == 0 || delta == 1 was not true"
        largest = max(largest, <int64_t>ids[i])
    if op.sorted:
        largest += 1
    else:
        if number.rank > 1 or count(number) != 1:
            return b"num_segments must be one number"
        if index_at(INT32, number.data, 0) <= largest:
            return b"max_index < num_segments_ was not true"
        largest = index_at(INT32, number.data, 0)
        if largest < 0:
            return b"num_segments_ >= 0 was not true"
    rank[0] = x.rank - shared + 1
    dims[0] = <int32_t>largest
    for d in range(shared, x.rank):
        dims[d - shared + 1] = x.dims[d]
    if rank[0] > MAX_RANK or bytes_of(x.type, rank[0], dims) < 0:
        return b"the output has too many elements"
    return NULL


cdef int64_t row_count(const Segments* op, const Tensor* segments) noexcept nogil:
    """How many rows are joined, each of which has a segment."""
    if op.sorted:
        return segments.dims[0] if segments.rank > 0 else 0
    return count(segments)


cdef int join_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK + 1] dims
    cdef int rank = 0
    cdef const char* refusal = shape_of_segments(context, node, &rank, dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), rank, dims) != 0:
        return -1
    return join(context, node)


cdef int join(Context context, Node* node) noexcept nogil:
    cdef const Segments* op = <const Segments*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef const Tensor* segments = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef const int32_t* ids = <const int32_t*>segments.data
    cdef int64_t rows = row_count(op, segments)
    cdef int64_t width = count_range(x, 1 if op.sorted else segments.rank, x.rank)
    if count(y) == 0:
        return 0
    if x.type == FLOAT32:
        join_segments(combine_of(x.type), op.joining, <const float*>x.data, ids, rows, width, <float*>y.data, count(y))
    else:
        join_segments(combine_of(x.type), op.joining, <const int32_t*>x.data, ids, rows, width, <int32_t*>y.data, count(y))
    return 0


cdef int prepare_segment_sum(Context context, Node* node) except -1:
    return prepare_segments(context, node, JOIN_BEFORE, True)


cdef int prepare_sum(Context context, Node* node) except -1:
    return prepare_segments(context, node, JOIN_SUM, False)


cdef int prepare_prod(Context context, Node* node) except -1:
    return prepare_segments(context, node, JOIN_PRODUCT, False)


cdef int prepare_max(Context context, Node* node) except -1:
    return prepare_segments(context, node, JOIN_LARGEST, False)


cdef int prepare_min(Context context, Node* node) except -1:
    return prepare_segments(context, node, JOIN_SMALLEST, False)


OPERATORS = {
    "SEGMENT_SUM": register(prepare_segment_sum, version=1, reference_version=0),
    "UNSORTED_SEGMENT_MAX": register(prepare_max, version=1, reference_version=1),
    "UNSORTED_SEGMENT_MIN": register(prepare_min, version=1, reference_version=1),
    "UNSORTED_SEGMENT_PROD": register(prepare_prod, version=1, reference_version=1),
    "UNSORTED_SEGMENT_SUM": register(prepare_sum, version=1, reference_version=1),
}
