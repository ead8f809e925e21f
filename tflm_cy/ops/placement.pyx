"""Values put in other places: REVERSE_SEQUENCE DYNAMIC_UPDATE_SLICE SPARSE_TO_DENSE DILATE UNIQUE.

REVERSE_SEQUENCE: uint8, int16, int32, int64, float32; a length beyond the dimension fails the invoke.
DYNAMIC_UPDATE_SLICE: float16, float32, bool, int4, int8, int16, int32, int64, up to rank 8; the start is clamped so that the update fits.
SPARSE_TO_DENSE: int8, uint8, int32, int64, float32, up to rank 4; an index outside fails the invoke.
DILATE: any type of whole bytes; int32 dilations of at least 1.

UNIQUE: int8, uint8, int16, int32, int64, float32, of a vector, in the order of appearance; -0.0 is 0.0. TensorFlow looks NaN up in an
ordered map: a NaN is the smallest value so far, and when the first value is one everything is equal to it.

Source: LiteRT:tflite/kernels/{reverse_sequence,dynamic_update_slice,sparse_to_dense,dilate,unique}.cc.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tflm_cy.arithmetic.copy_runs cimport copy_runs, fill
from tflm_cy.arithmetic.unique cimport fill_keys, number_values
from tflm_cy.arithmetic.walk cimport Walk, add_axis, begin_walk, finish_walk, walk_copy
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport (
    BOOL, FLOAT16, FLOAT32, INT4, INT8, INT16, INT32, INT64, MAX_RANK, Tensor, UINT8, bytes_of, count, count_range, is_constant,
    type_name, type_size,
)
from tflm_cy.ops.operand cimport (
    accept, adopt_type, expect_arity_between, index_at, operand, result, want_bytes, want_element, want_index_type, want_one,
    want_type_of,
)
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport REVERSE_SEQUENCE_BATCH_DIM, REVERSE_SEQUENCE_SEQ_DIM, UNIQUE_IDX_OUT_TYPE
from tflm_cy.schema.table cimport table_i8, table_i32

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef enum:
    MOST_UPDATED_RANK = 8
    MOST_SPARSE_RANK = 4


cdef struct Reversal:
    int32_t batch_first          # 1: the batch's dimension comes before the sequence's
    int64_t outer                # elements before, between and behind the two dimensions
    int64_t first
    int64_t middle
    int64_t second
    int64_t run


cdef struct Table:
    int32_t numbers              # scratch
    int32_t keys
    int32_t firsts
    uint64_t mask                # capacity - 1, a power of two minus 1


# ---- REVERSE_SEQUENCE
cdef int prepare_reverse_sequence(Context context, Node* node) except -1:
    cdef int sequence = table_i32(node.options, REVERSE_SEQUENCE_SEQ_DIM, 0)
    cdef int batch = table_i32(node.options, REVERSE_SEQUENCE_BATCH_DIM, 0)
    cdef Reversal* op
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* lengths = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if lengths.rank != 1:
        raise ValueError(f"NumDimensions(seq_lengths) != 1: {lengths.rank}")
    if x.type not in (INT32, FLOAT32, UINT8, INT16, INT64):
        raise ValueError(f"Type '{type_name(x.type)}' is not supported by reverse_sequence.")
    want_index_type(lengths, "seq_lengths of REVERSE_SEQUENCE")
    want_type_of(y, x)
    context.set_shape(y, x.rank, x.dims)
    if not (0 <= sequence < x.rank and 0 <= batch < x.rank and sequence != batch):
        raise LateRefusalError(f"REVERSE_SEQUENCE: seq_dim != batch_dim was not true, or one is out of range: {sequence} and {batch}")
    if lengths.dims[0] != x.dims[batch]:
        raise LateRefusalError(f"REVERSE_SEQUENCE: {lengths.dims[0]} lengths for {x.dims[batch]} sequences")
    op = <Reversal*>context.persistent(sizeof(Reversal))
    op.batch_first = batch < sequence
    op.outer = count_range(x, 0, min(batch, sequence))
    op.first = x.dims[min(batch, sequence)]
    op.middle = count_range(x, min(batch, sequence) + 1, max(batch, sequence))
    op.second = x.dims[max(batch, sequence)]
    op.run = count_range(x, max(batch, sequence) + 1, x.rank) * type_size(x.type)
    node.data = op
    node.invoke = reverse_sequence
    return 0


ctypedef fused single:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef inline int64_t step_to(int64_t length, int64_t a) noexcept nogil:
    """From step a to the one that takes its place."""
    return length - 1 - 2 * a if a < length else 0


cdef inline void reverse_step(const Reversal* op, const Tensor* lengths, int64_t a, const single* x, single* y) noexcept nogil:
    """One value of each batch, which follow each other."""
    cdef int64_t row = op.middle * op.second
    cdef const int32_t* short_lengths = <const int32_t*>lengths.data
    cdef const int64_t* long_lengths = <const int64_t*>lengths.data
    cdef int64_t b
    if lengths.type == INT32:
        for b in range(op.second):
            y[b] = x[b + step_to(short_lengths[b], a) * row]
    else:
        for b in range(op.second):
            y[b] = x[b + step_to(long_lengths[b], a) * row]


cdef int reverse_sequence(Context context, Node* node) noexcept nogil:
    cdef const Reversal* op = <const Reversal*>node.data
    cdef const Tensor* lengths = context.input(node, 1)
    cdef const char* x = <const char*>context.input(node, 0).data
    cdef char* y = <char*>context.output(node, 0).data
    cdef int64_t steps = op.second if op.batch_first else op.first
    cdef int64_t row = op.second * op.run
    cdef int64_t o, a, m, b, length
    for a in range(1 if context.input(node, 0).bytes == 0 and lengths.dims[0] > 0 else lengths.dims[0]):     # TensorFlow looks at the first
        if index_at(lengths.type, lengths.data, a) > steps:
            return context.fail(b"REVERSE_SEQUENCE: seq_lengths[i] <= SizeOfDimension(input, seq_dim) was not true")
    if op.run == 0:
        return 0
    if steps == 1:
        copy_bytes(y, x, context.output(node, 0).bytes)
        return 0
    for o in range(op.outer):
        for a in range(op.first):
            for m in range(op.middle):
                if op.batch_first:
                    length = max(<int64_t>0, index_at(lengths.type, lengths.data, a))
                    copy_runs(y, op.run, x + (length - 1) * op.run, -op.run, op.run, length)
                    copy_runs(y + length * op.run, op.run, x + length * op.run, op.run, op.run, op.second - length)
                elif op.run == 1:
                    reverse_step(op, lengths, a, <const uint8_t*>x, <uint8_t*>y)
                elif op.run == 2:
                    reverse_step(op, lengths, a, <const uint16_t*>x, <uint16_t*>y)
                elif op.run == 4:
                    reverse_step(op, lengths, a, <const uint32_t*>x, <uint32_t*>y)
                elif op.run == 8:
                    reverse_step(op, lengths, a, <const uint64_t*>x, <uint64_t*>y)
                else:
                    for b in range(op.second):
                        length = index_at(lengths.type, lengths.data, b)
                        copy_bytes(y + b * op.run, x + b * op.run + step_to(length, a) * op.middle * row, op.run)
                x += row
                y += row
    return 0


# ---- DYNAMIC_UPDATE_SLICE
cdef int prepare_dynamic_update_slice(Context context, Node* node) except -1:
    cdef int d
    expect_arity_between(context, node, 3, 3, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* update = operand(context, node, 1)
    cdef Tensor* start = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    if start.rank != 1 or start.dims[0] != x.rank:
        raise ValueError(f"SizeOfDimension(start_indices, 0) == NumDimensions(operand) was not true: rank {x.rank}")
    if update.rank != x.rank or x.rank > MOST_UPDATED_RANK:
        raise ValueError(f"NumDimensions(update) == NumDimensions(operand) was not true: {update.rank} and {x.rank}")
    for d in range(x.rank):
        if update.dims[d] > x.dims[d]:
            raise ValueError("SizeOfDimension(update, i) <= SizeOfDimension(operand, i) was not true")
    want_type_of(update, x)
    want_index_type(start, "start indices of DYNAMIC_UPDATE_SLICE")
    if <int64_t>x.bytes < bytes_of(x.type, x.rank, x.dims) or <int64_t>update.bytes < bytes_of(x.type, x.rank, update.dims):
        raise ValueError("an input holds less than its shape says")
    adopt_type(y, x.type)
    context.set_shape(y, x.rank, x.dims)
    node.invoke = dynamic_update_slice
    if x.type not in (FLOAT32, FLOAT16, BOOL, INT4, INT8, INT16, INT32, INT64):
        raise LateRefusalError(
            f"DynamicUpdateSlice only currently supports 1-bit/8-bit/32-bit/64-bit integer or float type, got {type_name(x.type)}.")
    return 0


cdef int dynamic_update_slice(Context context, Node* node) noexcept nogil:
    cdef const Tensor* x = context.input(node, 0)
    cdef const Tensor* update = context.input(node, 1)
    cdef const Tensor* start = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t[MOST_UPDATED_RANK] at
    cdef int64_t[MOST_UPDATED_RANK] begin
    cdef int64_t rows = 1
    cdef int64_t width = 1
    cdef int64_t row, to
    cdef int d
    if y.bytes > 0 and count(update) < count(y):
        copy_bytes(y.data, x.data, y.bytes)
    if count(update) == 0:
        return 0
    for d in range(x.rank):
        begin[d] = max(<int64_t>0, index_at(start.type, start.data, d))
        begin[d] = min(begin[d], <int64_t>x.dims[d] - update.dims[d])
        at[d] = 0
    if x.type != INT4:
        copy_update(update, begin, y)
        return 0
    if x.rank > 0:
        rows = count_range(update, 0, update.rank - 1)
        width = update.dims[update.rank - 1]
    for row in range(rows):
        to = 0
        for d in range(x.rank):
            to = to * x.dims[d] + begin[d] + at[d]
        copy_nibbles(<uint8_t*>y.data, to, <const uint8_t*>update.data, row * width, width)
        for d in range(x.rank - 2, -1, -1):
            at[d] += 1
            if at[d] < update.dims[d]:
                break
            at[d] = 0
    return 0


cdef void copy_update(const Tensor* update, const int64_t* begin, Tensor* y) noexcept nogil:
    cdef Walk walk
    cdef int64_t size = type_size(y.type)
    cdef int64_t first = 0
    cdef int d
    begin_walk(&walk, size)
    for d in range(y.rank):
        first = first * y.dims[d] + begin[d]
        add_axis(&walk, update.dims[d], count_range(y, d + 1, y.rank) * size, count_range(update, d + 1, y.rank) * size)
    finish_walk(&walk)
    walk_copy(&walk, <char*>y.data + first * size, <const char*>update.data)


cdef void copy_nibbles(uint8_t* y, int64_t to, const uint8_t* x, int64_t start, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef uint8_t value
    for i in range(n):
        value = x[(start + i) >> 1] >> (4 * ((start + i) & 1)) & 0x0F
        if (to + i) & 1:
            y[(to + i) >> 1] = (y[(to + i) >> 1] & 0x0F) | <uint8_t>(value << 4)
        else:
            y[(to + i) >> 1] = (y[(to + i) >> 1] & 0xF0) | value


# ---- SPARSE_TO_DENSE
cdef int prepare_sparse_to_dense(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef int64_t depth, rows
    expect_arity_between(context, node, 4, 4, 1)
    cdef Tensor* indices = operand(context, node, 0)
    cdef Tensor* shape = operand(context, node, 1)
    cdef Tensor* values = operand(context, node, 2)
    cdef Tensor* default = operand(context, node, 3)
    cdef Tensor* y = result(context, node, 0)
    if indices.rank > 2 or shape.rank != 1 or values.rank > 1:
        raise ValueError("SPARSE_TO_DENSE: Wrong indices dimensions, or shape or values of a wrong rank")
    want_one(default, "the default value of SPARSE_TO_DENSE")
    want_index_type(indices, "indices of SPARSE_TO_DENSE")
    want_index_type(shape, "Dense shape of SPARSE_TO_DENSE")
    if values.type not in (INT32, INT64, INT8, UINT8, FLOAT32):
        raise ValueError(f"Value type {type_name(values.type)} is currently not supported by sparse to dense.")
    want_type_of(default, values)
    depth = indices.dims[1] if indices.rank == 2 else 1
    rows = indices.dims[0] if indices.rank == 2 else count(indices)
    if shape.dims[0] != depth or (values.rank == 0 and rows != 1):     # of several values TensorFlow does not look how many there are
        raise ValueError("SPARSE_TO_DENSE: the sizes of indices, shape and values do not match")
    adopt_type(y, values.type)
    if not is_constant(shape):
        context.set_dynamic(y)
        node.invoke = sparse_to_dense_dynamic
    else:
        accept(read_shape(shape, values.type, dims))
        context.set_shape(y, shape.dims[0], dims)
        node.invoke = sparse_to_dense
    if depth > MOST_SPARSE_RANK:
        raise LateRefusalError(f"SPARSE_TO_DENSE: true_dimensions <= kMaxDimensions was not true: {depth}")
    if values.rank > 0 and count(values) < rows:
        raise OwnRefusalError(f"SPARSE_TO_DENSE: {count(values)} values for {rows} indices")
    return 0


cdef const char* read_shape(const Tensor* shape, int type, int32_t* dims) noexcept nogil:
    cdef int d
    for d in range(shape.dims[0]):
        dims[d] = <int32_t>index_at(shape.type, shape.data, d)
        if dims[d] < 0:
            return b"a dimension of the shape is negative"
    if bytes_of(type, shape.dims[0], dims) < 0:
        return b"the output has too many elements"
    return NULL


cdef int sparse_to_dense_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef const Tensor* shape = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef const char* refusal = read_shape(shape, y.type, dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(y, shape.dims[0], dims) != 0:
        return -1
    return sparse_to_dense(context, node)


cdef int sparse_to_dense(Context context, Node* node) noexcept nogil:
    cdef const Tensor* indices = context.input(node, 0)
    cdef const Tensor* values = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t rows = indices.dims[0] if indices.rank == 2 else count(indices)
    cdef int64_t size = type_size(y.type)
    cdef int64_t row, at, to
    cdef int d
    if y.bytes > 0:
        fill(<char*>y.data, y.bytes, <const char*>context.input(node, 3).data, size)
    for row in range(rows):
        to = 0
        for d in range(y.rank):
            at = index_at(indices.type, indices.data, row * y.rank + d)
            if at < 0 or at >= y.dims[d]:
                return context.fail_with(b"sparse_to_dense: index %ld is outside of %ld", at, y.dims[d])
            to = to * y.dims[d] + at
        copy_bytes(<char*>y.data + to * size, <const char*>values.data + (row * size if values.rank else 0), size)
    return 0


# ---- DILATE
cdef int prepare_dilate(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef const char* refusal
    expect_arity_between(context, node, 3, 3, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* dilations = operand(context, node, 1)
    cdef Tensor* padding = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    want_type_of(y, x)
    want_type_of(padding, x)
    want_element(x)
    if x.rank == 0 or count(padding) < 1:
        raise ValueError("DILATE wants an input of at least one dimension and a padding value")
    if dilations.type != INT32 or dilations.rank != 1 or dilations.dims[0] != x.rank:
        if is_constant(dilations):
            context.set_shape(y, x.rank, x.dims)
        else:
            context.set_dynamic(y)
        raise LateRefusalError(f"DILATE wants INT32 dilations, one for each of {x.rank} dimensions")
    want_bytes(x)
    if not is_constant(dilations):
        context.set_dynamic(y)
        node.invoke = dilate_dynamic
        return 0
    refusal = dilated_dims(x, dilations, dims)
    if refusal != NULL and count(x) == 0 and x.rank == type_size(x.type) == 1:     # a number below 0 that TensorFlow can count
        context.set_shape(y, x.rank, x.dims)
        raise LateRefusalError(refusal.decode())
    accept(refusal)
    context.set_shape(y, x.rank, dims)
    node.invoke = dilate
    return 0


cdef const char* dilated_dims(const Tensor* x, const Tensor* dilations, int32_t* dims) noexcept nogil:
    cdef int64_t by, n
    cdef int d
    for d in range(x.rank):
        by = index_at(INT32, dilations.data, d)
        if by < 1:
            return b"DILATE: dilations must be >= 1"
        n = (<int64_t>x.dims[d] - 1) * by + 1
        if n < 0 or n > 0x7FFFFFFF:
            return b"DILATE: a dimension of the output is out of range"
        dims[d] = <int32_t>n
    if bytes_of(x.type, x.rank, dims) < 0:
        return b"the output has too many elements"
    return NULL


cdef int dilate_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef const Tensor* x = context.input(node, 0)
    cdef const char* refusal = dilated_dims(x, context.input(node, 1), dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    return dilate(context, node)


cdef int dilate(Context context, Node* node) noexcept nogil:
    cdef const Tensor* x = context.input(node, 0)
    cdef const Tensor* dilations = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t size = type_size(x.type)
    cdef int64_t x_step = count(x) * size
    cdef int64_t y_step = count(y) * size
    cdef Walk walk
    cdef int d
    if y.bytes == 0 or count(x) == 0:
        return 0
    if x_step != y_step:
        fill(<char*>y.data, y.bytes, <const char*>context.input(node, 2).data, size)
    begin_walk(&walk, size)
    for d in range(x.rank):
        x_step //= x.dims[d]
        y_step //= y.dims[d]
        add_axis(&walk, x.dims[d], y_step * index_at(INT32, dilations.data, d), x_step)
    finish_walk(&walk)
    walk_copy(&walk, <char*>y.data, <const char*>x.data)
    return 0


# ---- UNIQUE
cdef int prepare_unique(Context context, Node* node) except -1:
    cdef int index_type = INT64 if table_i8(node.options, UNIQUE_IDX_OUT_TYPE, INT32) == INT64 else INT32
    cdef uint64_t capacity = 4
    cdef Table* table
    expect_arity_between(context, node, 1, 1, 2)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    cdef Tensor* indices = result(context, node, 1)
    want_type_of(y, x)
    if indices.type != index_type:
        raise ValueError(f"output_index_tensor->type != {type_name(index_type)}: {type_name(indices.type)}")
    if x.rank != 1:
        raise ValueError(f"NumDimensions(input) != 1: {x.rank}")
    context.set_shape(indices, 1, x.dims)
    context.set_dynamic(y)
    while capacity < 2 * min(<uint64_t>x.dims[0], <uint64_t>1 << 8 * min(<size_t>4, type_size(x.type))):     # as many values as there may be
        capacity *= 2
    table = <Table*>context.persistent(sizeof(Table))
    table.mask = capacity - 1
    table.numbers = context.request_scratch(4 * capacity)
    table.keys = context.request_scratch(8 * <size_t>x.dims[0])
    table.firsts = context.request_scratch(4 * <size_t>x.dims[0])
    node.data = table
    node.invoke = unique
    if x.type not in (INT8, INT16, INT32, INT64, FLOAT32, UINT8):
        raise LateRefusalError(f"Currently Unique doesn't support type: {type_name(x.type)}")
    if node.options == NULL:
        raise LateRefusalError("Unique index output array can only be Int32 or In64, requested: NOTYPE")
    return 0


cdef int64_t keys_of(const Tensor* x, int64_t* keys) noexcept nogil:
    if x.type == FLOAT32:
        return fill_keys(<const float*>x.data, x.dims[0], keys)
    if x.type == UINT8 or x.type == INT8:
        return fill_keys(<const uint8_t*>x.data, x.dims[0], keys)
    if x.type == INT16:
        return fill_keys(<const int16_t*>x.data, x.dims[0], keys)
    if x.type == INT32:
        return fill_keys(<const int32_t*>x.data, x.dims[0], keys)
    return fill_keys(<const int64_t*>x.data, x.dims[0], keys)


cdef int unique(Context context, Node* node) noexcept nogil:
    cdef const Table* table = <const Table*>node.data
    cdef int32_t* numbers = <int32_t*>context.scratch(table.numbers)
    cdef int64_t* keys = <int64_t*>context.scratch(table.keys)
    cdef int32_t* firsts = <int32_t*>context.scratch(table.firsts)
    cdef const Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Tensor* indices = context.output(node, 1)
    cdef int64_t size = type_size(x.type)
    cdef const float* values = <const float*>x.data if keys_of(x, keys) > 0 else NULL
    cdef int32_t found, i
    if indices.type == INT32:
        found = number_values(keys, x.dims[0], values, table.mask, numbers, firsts, <int32_t*>indices.data)
    else:
        found = number_values(keys, x.dims[0], values, table.mask, numbers, firsts, <int64_t*>indices.data)
    if context.resize(y, 1, &found) != 0:
        return -1
    for i in range(found):
        copy_bytes(<char*>y.data + i * size, <const char*>x.data + firsts[i] * size, size)
    return 0


OPERATORS = {
    "DILATE": register(prepare_dilate, version=1, reference_version=1),
    "DYNAMIC_UPDATE_SLICE": register(prepare_dynamic_update_slice, version=5, reference_version=5),
    "REVERSE_SEQUENCE": register(prepare_reverse_sequence, version=1, reference_version=1),
    "SPARSE_TO_DENSE": register(prepare_sparse_to_dense, version=3, reference_version=3),
    "UNIQUE": register(prepare_unique, version=1, reference_version=1),
}
