"""EMBEDDING_LOOKUP and EMBEDDING_LOOKUP_SPARSE: rows of a table, picked by indices that arrive while invoking.

EMBEDDING_LOOKUP: rows of any type of whole bytes; uint8, int8, int4 and int2 rows to float32 when
the output is float32, scaled per tensor or per row: value * scale; int4 and int2 are shifted to the top of a byte and
the scale divided by 16 or 64.

EMBEDDING_LOOKUP_SPARSE adds up weighted rows by the leading indices of a sparse tensor; its output is dynamic.

A negative or too large index fails the invoke.

Source: LiteRT:tflite/kernels/{embedding_lookup,embedding_lookup_sparse}.cc.
"""
from libc.math cimport sqrtf
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memset

from tflm_cy.arithmetic.copy_runs cimport copy_run
from tflm_cy.arithmetic.machine cimport AARCH64, plus_product
from tflm_cy.arithmetic.nan_order cimport add_first, fused_first, mul_first
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT2, INT4, INT8, INT32, MAX_RANK, Tensor, UINT8, count, count_range, type_name, type_size
from tflm_cy.ops.operand cimport expect_arity_between, index_at, operand, result, want_bytes, want_element
from tflm_cy.schema.option_slots cimport EMBEDDING_LOOKUP_SPARSE_COMBINER
from tflm_cy.schema.table cimport table_i8

from tflm_cy.graph.refusal import LateRefusalError

cdef enum:
    MEAN = 1
    SQRTN = 2


cdef int prepare_embedding_lookup(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef int d
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* lookup = operand(context, node, 0)
    cdef Tensor* value = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if lookup.rank != 1 or lookup.type != INT32:
        raise ValueError("lookup must be an INT32 vector: NumDimensions(lookup) != 1")
    if value.rank < 2:
        raise ValueError(f"NumDimensions(value) >= 2 was not true: {value.rank}")
    want_bytes(value)
    for d in range(value.rank):
        dims[d] = value.dims[d]
    dims[0] = lookup.dims[0]
    if y.type == FLOAT32 and value.type != FLOAT32:
        if value.type not in (UINT8, INT8, INT4, INT2):
            raise ValueError(f"rows of {type_name(value.type)} cannot be looked up as FLOAT32")
        if value.scale_count < 1 or value.zero_points == NULL or value.zero_points[0] != 0:
            raise ValueError(
                "qparams->zero_point->data[0] == 0 was not true: quantized rows want scales and no zero point")
        if value.scale_count > 1 and (value.quantized_dimension != 0 or value.scale_count != value.dims[0]):
            raise ValueError(f"qparams->scale->size == row_size was not true: {value.scale_count} and {value.dims[0]}")
        if (value.type == INT4 and count_range(value, 1, value.rank) % 2 != 0) or (
                value.type == INT2 and count_range(value, 1, value.rank) % 4 != 0):
            raise ValueError("packed rows must fill whole bytes")
        context.set_shape(y, value.rank, dims)
        node.invoke = lookup_scaled
        return 0
    if y.type != value.type or (value.scale_count > 1):
        raise ValueError(f"rows of {type_name(value.type)} cannot be looked up as {type_name(y.type)}")
    want_element(value)
    context.set_shape(y, value.rank, dims)
    node.invoke = lookup_rows
    return 0


cdef int bad_row(Context context, int64_t row, int64_t rows) noexcept nogil:
    return context.fail_with(b"Embedding Lookup: index out of bounds. Got %ld, and bounds are [0, %ld]", row, rows - 1)


cdef int lookup_rows(Context context, Node* node) noexcept nogil:
    cdef Tensor* lookup = context.input(node, 0)
    cdef Tensor* value = context.input(node, 1)
    cdef char* y = <char*>context.output(node, 0).data
    cdef int64_t size = count_range(value, 1, value.rank) * type_size(value.type)
    cdef int64_t i, row
    for i in range(lookup.dims[0]):
        row = index_at(INT32, lookup.data, i)
        if row < 0 or row >= value.dims[0]:
            return bad_row(context, row, value.dims[0])
        if size > 0:
            copy_run(y + i * size, <const char*>value.data + row * size, size)
    return 0


cdef int lookup_scaled(Context context, Node* node) noexcept nogil:
    cdef Tensor* lookup = context.input(node, 0)
    cdef Tensor* value = context.input(node, 1)
    cdef float* y = <float*>context.output(node, 0).data
    cdef const int8_t* packed = <const int8_t*>value.data
    cdef int64_t size = count_range(value, 1, value.rank)
    cdef int64_t i, j, row
    cdef float scale
    for i in range(lookup.dims[0]):
        row = index_at(INT32, lookup.data, i)
        if row < 0 or row >= value.dims[0]:
            return bad_row(context, row, value.dims[0])
        scale = value.scales[row] if value.scale_count > 1 else value.scale
        if value.type == INT4:
            scale = scale / 16
            for j in range(size):
                y[j] = <int8_t>(packed[(row * size + j) >> 1] << (4 - 4 * (j & 1)) & 0xF0) * scale
        elif value.type == INT2:
            scale = scale / 64
            for j in range(size):
                y[j] = <int8_t>(packed[(row * size + j) >> 2] << (6 - 2 * (j & 3)) & 0xC0) * scale
        else:   # uint8 rows are read as int8 too
            for j in range(size):
                y[j] = packed[row * size + j] * scale
        y += size
    return 0


cdef int prepare_sparse(Context context, Node* node) except -1:
    expect_arity_between(context, node, 5, 5, 1)
    cdef Tensor* ids = operand(context, node, 0)
    cdef Tensor* indices = operand(context, node, 1)
    cdef Tensor* shape = operand(context, node, 2)
    cdef Tensor* weights = operand(context, node, 3)
    cdef Tensor* value = operand(context, node, 4)
    cdef Tensor* y = result(context, node, 0)
    if ids.rank != 1 or indices.rank != 2 or shape.rank != 1 or weights.rank != 1 or value.rank < 2:
        raise ValueError("NumDimensions(ids) != 1, or another input of EMBEDDING_LOOKUP_SPARSE has a wrong rank")
    if ids.type != INT32 or indices.type != INT32 or shape.type != INT32 or weights.type != FLOAT32 or value.type != FLOAT32:
        raise ValueError("EMBEDDING_LOOKUP_SPARSE wants INT32 ids, indices and shape, FLOAT32 weights and values")
    if y.type != FLOAT32:
        raise ValueError(f"output->type != kTfLiteFloat32 ({type_name(y.type)})")
    if indices.dims[0] != ids.dims[0] or indices.dims[0] != weights.dims[0]:
        raise ValueError("SizeOfDimension(indices, 0) != SizeOfDimension(ids, 0), or there are not as many weights")
    context.set_dynamic(y)
    if shape.dims[0] != indices.dims[1] or shape.dims[0] < 1 or shape.dims[0] + value.rank - 2 > MAX_RANK:
        raise LateRefusalError("SizeOfDimension(dense_shape, 0) != lookup_rank")
    node.invoke = sparse
    return 0


cdef void finish_bucket(float* y, int64_t elements, int64_t first, int64_t n, int combiner, float total, float squares) noexcept nogil:
    cdef float divisor = total if combiner == MEAN else sqrtf(squares) if combiner == SQRTN else <float>1
    cdef int64_t i
    for i in range(max(first, 0), min(first + n, elements)):
        y[i] = y[i] / divisor


cdef int sparse(Context context, Node* node) noexcept nogil:
    cdef const int32_t* ids = <const int32_t*>context.input(node, 0).data
    cdef const Tensor* indices = context.input(node, 1)
    cdef const int32_t* shape = <const int32_t*>context.input(node, 2).data
    cdef const float* weights = <const float*>context.input(node, 3).data
    cdef const Tensor* value = context.input(node, 4)
    cdef const float* row
    cdef Tensor* y = context.output(node, 0)
    cdef int combiner = table_i8(node.options, EMBEDDING_LOOKUP_SPARSE_COMBINER, 0)
    cdef int64_t n = count_range(value, 1, value.rank)
    cdef int leading = indices.dims[1] - 1
    cdef int32_t[MAX_RANK] dims
    cdef int64_t elements, bucket, step, i, k
    cdef int64_t current = 0
    cdef int64_t added = 0
    cdef float total = 0
    cdef float squares = 0
    cdef int d
    for d in range(leading):
        dims[d] = shape[d]
        if dims[d] < 0:
            return context.fail(b"EMBEDDING_LOOKUP_SPARSE: a dimension is negative")
    for d in range(1, value.rank):
        dims[leading + d - 1] = value.dims[d]
    if context.resize(y, leading + value.rank - 1, dims) != 0:
        return -1
    elements = count(y)
    if y.bytes > 0:
        memset(y.data, 0, y.bytes)
    for i in range(indices.dims[0]):
        if ids[i] < 0 or ids[i] >= value.dims[0]:
            return context.fail_with(b"Embedding Lookup Sparse: index out of bounds. Got %ld, and bounds are [0, %ld]", ids[i], value.dims[0] - 1)
        bucket = 0
        step = 1
        for d in range(leading - 1, -1, -1):
            bucket += (<const int32_t*>indices.data)[i * indices.dims[1] + d] * step
            step = <int32_t>(step * shape[d])
        bucket = <int32_t>(<int32_t>bucket * n)
        if bucket != current:
            if combiner != 0 and added > 0:
                finish_bucket(<float*>y.data, elements, current, n, combiner, total, squares)
            added = 0
            total = 0
            squares = 0
            current = bucket
        added += 1
        squares = plus_product(squares, weights[i], weights[i])
        total += weights[i]
        row = <const float*>value.data + ids[i] * n
        for k in range(max(-current, 0), min(n, elements - current)):
            if AARCH64:
                (<float*>y.data)[current + k] = fused_first((<float*>y.data)[current + k], row[k], weights[i])
            else:
                (<float*>y.data)[current + k] = add_first(mul_first(weights[i], row[k]), (<float*>y.data)[current + k])
    if combiner != 0 and added > 0:
        finish_bucket(<float*>y.data, elements, current, n, combiner, total, squares)
    return 0


OPERATORS = {
    "EMBEDDING_LOOKUP": register(prepare_embedding_lookup, version=5, reference_version=5),
    "EMBEDDING_LOOKUP_SPARSE": register(prepare_sparse, version=1, reference_version=1),
}
