"""DENSIFY: a sparse constant (float32, float16, int8) written out, once: when it is first run or asked for.

A sparse tensor's values are stored in traversal order: for each level of `traversal_order` either every index (dense)
or only those listed in CSR form (segments into indices). Levels beyond the tensor's rank are positions within blocks;
`block_map` says which dimension each belongs to. A dimension that is no multiple of its block holds as many blocks as fit; what is left
behind them is 0.

Source: LiteRT:tflite/kernels/densify.cc, internal/utils/sparsity_format_converter.cc; SparsityParameters in
schema.fbs.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport CONSTANT, FLOAT16, FLOAT32, INT8, MAX_RANK, Tensor, bytes_of, type_name, type_size
from tflm_cy.ops.operand cimport accept, adopt_type, expect_arity_between, operand, result
from tflm_cy.schema.slots cimport (
    DIMENSION_DENSE_SIZE, DIMENSION_FORMAT, DIMENSION_INDICES, DIMENSION_INDICES_TYPE, DIMENSION_SEGMENTS,
    DIMENSION_SEGMENTS_TYPE, SPARSITY_BLOCK_MAP, SPARSITY_DIM_METADATA, SPARSITY_TRAVERSAL_ORDER,
)
from tflm_cy.schema.table cimport (
    Vector, table_i8, table_i32, table_table, table_u8, table_vector, vector_i32, vector_table,
)

from tflm_cy.graph.refusal import LateRefusalError
from tflm_cy.graph.shown import Shown

cdef enum:
    LEVELS = 2 * MAX_RANK

cdef enum:                       # SparseIndexVector, a union of tables with one vector
    INT32_VECTOR = 1
    UINT16_VECTOR = 2
    UINT8_VECTOR = 3
    VALUES = 0


cdef struct Indices:             # of one of the three widths
    Vector values
    int width


cdef struct Level:
    bint sparse
    int64_t extent               # indices that are possible
    int64_t stride               # bytes of one step in the dense tensor
    Indices segments
    Indices indices


cdef struct Expansion:
    int levels
    const char* values           # stored ones, in order
    int64_t left                 # how many of them are still to come
    int64_t size                 # bytes of each
    bint marks                   # instead of values
    Level[LEVELS] level          # a node keeps those that there are


cdef int prepare(Context context, Node* node) except -1:
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    cdef Expansion expansion
    if x.allocation != CONSTANT:
        raise ValueError("IsConstantTensor(op_context.input) was not true")
    if x.sparsity == NULL:
        raise ValueError("op_context.input->sparsity != nullptr was not true")
    adopt_type(y, x.type)
    context.set_shape(y, x.rank, x.dims)
    if x.type not in (FLOAT32, FLOAT16, INT8):
        raise LateRefusalError(f"Type {type_name(x.type)} not supported.")
    read_sparsity(&expansion, x)
    node.data = memcpy(context.persistent(kept_bytes(&expansion)), &expansion, kept_bytes(&expansion))
    node.invoke = write_out
    context.keep(Shown(y.index, name="Densify_output"))
    context.defer(node, y)
    return 0


cdef int write_out(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    cdef Expansion expansion
    cdef const char* refusal
    memcpy(&expansion, node.data, kept_bytes(<Expansion*>node.data))
    refusal = dense_values(&expansion, <char*>y.data, y.bytes)
    if refusal != NULL:                  # the verifier has looked at it
        return context.fail(refusal)
    return 0


cdef size_t kept_bytes(const Expansion* expansion) noexcept nogil:
    return sizeof(Expansion) - (LEVELS - expansion.levels) * sizeof(Level)


cdef int densify(const Tensor* x, char* dense, size_t bytes) except -1:
    """Write a sparse constant as a dense one of so many bytes."""
    cdef Expansion expansion
    read_sparsity(&expansion, x)
    accept(dense_values(&expansion, dense, bytes))
    return 0


cdef int mark_stored(const Tensor* x, char* marks, size_t bytes) except -1:
    cdef Expansion expansion
    read_sparsity(&expansion, x)
    expansion.marks = True
    accept(dense_values(&expansion, marks, bytes))
    return 0


cdef char* stored_rows(Context context, const Tensor* x) except NULL:
    cdef size_t bytes = bytes_of(x.type, x.rank, x.dims)
    cdef bytearray marks = bytearray(bytes)
    cdef char* rows = <char*>context.persistent(x.dims[0] + 1)
    cdef size_t i
    mark_stored(x, <char*>marks, bytes)
    for i in range(bytes):
        rows[i // <size_t>x.dims[1]] |= (<char*>marks)[i] != 0
    return rows


cdef const char* dense_values(Expansion* expansion, char* dense, size_t bytes) noexcept nogil:
    """NULL, or what is wrong."""
    if bytes == 0:
        return NULL
    memset(dense, 0, bytes)
    return expand(expansion, 0, 0, dense)


cdef Indices read_indices(const uint8_t* dimension, int type_slot, int slot):
    cdef Indices indices
    cdef int type = table_u8(dimension, type_slot, 0)
    indices.values = table_vector(table_table(dimension, slot), VALUES)
    indices.width = 4 if type == INT32_VECTOR else 2 if type == UINT16_VECTOR else 1
    if type < INT32_VECTOR or type > UINT8_VECTOR:
        indices.values.length = 0
    return indices


cdef int64_t at(const Indices* indices, int64_t i) noexcept nogil:
    cdef uint16_t narrow
    cdef int32_t wide
    if indices.width == 4:
        memcpy(&wide, indices.values.data + 4 * i, 4)
        return wide
    if indices.width == 2:
        memcpy(&narrow, indices.values.data + 2 * i, 2)
        return narrow
    return indices.values.data[i]


cdef int64_t sparse_block(const Tensor* x) except -1:
    cdef Vector metadata = table_vector(x.sparsity, SPARSITY_DIM_METADATA)
    if metadata.length == 2:
        return 1
    return table_i32(vector_table(metadata, 2), DIMENSION_DENSE_SIZE, 0) if metadata.length == 3 else 0


cdef int read_sparsity(Expansion* expansion, const Tensor* x) except -1:
    """Give every level its extent and its stride in the dense tensor."""
    cdef Vector order = table_vector(x.sparsity, SPARSITY_TRAVERSAL_ORDER)
    cdef Vector map = table_vector(x.sparsity, SPARSITY_BLOCK_MAP)
    cdef Vector metadata = table_vector(x.sparsity, SPARSITY_DIM_METADATA)
    cdef int64_t[MAX_RANK] strides
    cdef int64_t[MAX_RANK] block
    cdef const uint8_t* dimension
    cdef Level* level
    cdef int d, i, target
    cdef int64_t seen = 0
    if (order.length != metadata.length or order.length != x.rank + map.length or <int>map.length > x.rank
            or x.rank > MAX_RANK):
        raise ValueError(
            f"sparsity of a tensor of rank {x.rank} with {order.length} levels, {map.length} of blocks, "
            f"and metadata for {metadata.length}")
    expansion.levels = order.length
    expansion.size = type_size(x.type)
    expansion.values = <const char*>x.data
    expansion.marks = False
    expansion.left = x.bytes // expansion.size
    for d in range(x.rank - 1, -1, -1):
        strides[d] = expansion.size if d == x.rank - 1 else strides[d + 1] * x.dims[d + 1]
        block[d] = 1
    for i in range(<int>map.length):
        d = vector_i32(map, i)
        if not 0 <= d < x.rank or block[d] != 1:
            raise ValueError(f"block map entry {i} names dimension {d} of {x.rank}, or a dimension twice")
        target = vector_i32(order, x.rank + i)
        if not 0 <= target < expansion.levels:
            raise ValueError(f"traversal order entry {x.rank + i} is {target}")
        block[d] = table_i32(vector_table(metadata, target), DIMENSION_DENSE_SIZE, 0)
        if block[d] < 1:
            raise ValueError(f"blocks of {block[d]} in dimension {d} of size {x.dims[d]}")
    for i in range(expansion.levels):
        target = vector_i32(order, i)
        if not 0 <= target < expansion.levels or seen >> target & 1 or (i < x.rank) != (target < x.rank):
            raise ValueError(f"traversal order entry {i} is {target}: not a permutation of dimensions, then of blocks")
        seen |= <int64_t>1 << target
        level = &expansion.level[i]
        if target < x.rank:
            level.extent = x.dims[target] // block[target]
            level.stride = strides[target] * block[target]
        else:
            d = vector_i32(map, target - x.rank)
            level.extent = block[d]
            level.stride = strides[d]
        dimension = vector_table(metadata, i)
        level.sparse = table_i8(dimension, DIMENSION_FORMAT, 0) != 0
        if level.sparse:
            level.segments = read_indices(dimension, DIMENSION_SEGMENTS_TYPE, DIMENSION_SEGMENTS)
            level.indices = read_indices(dimension, DIMENSION_INDICES_TYPE, DIMENSION_INDICES)
        elif table_i32(dimension, DIMENSION_DENSE_SIZE, 0) != level.extent:
            raise ValueError(
                f"level {i} is dense with {table_i32(dimension, DIMENSION_DENSE_SIZE, 0)} indices, not {level.extent}")
    return 0


cdef const char* expand(Expansion* expansion, int depth, int64_t position, char* dst) noexcept nogil:
    """Write what is stored below one position of the level above."""
    cdef const Level* level = &expansion.level[depth]
    cdef const char* refusal
    cdef int64_t i, index, end
    if depth == expansion.levels:
        if expansion.left == 0:
            return b"the sparse tensor holds fewer values than its segments count"
        if expansion.marks:
            memset(dst, 1, expansion.size)
        else:
            memcpy(dst, expansion.values, expansion.size)
        expansion.values += expansion.size
        expansion.left -= 1
        return NULL
    if not level.sparse:
        for i in range(level.extent):
            refusal = expand(expansion, depth + 1, position * level.extent + i, dst + i * level.stride)
            if refusal != NULL:
                return refusal
        return NULL
    if position + 1 >= level.segments.values.length:
        return NULL
    i = at(&level.segments, position)
    end = at(&level.segments, position + 1)
    if i < 0 or end > level.indices.values.length:
        return b"the segments of a sparse tensor lie outside of its indices"
    while i < end:
        index = at(&level.indices, i)
        if index < 0 or index >= level.extent:
            return b"an index of a sparse tensor lies outside of its dimension"
        refusal = expand(expansion, depth + 1, i, dst + index * level.stride)
        if refusal != NULL:
            return refusal
        i += 1
    return NULL


OPERATORS = {
    "DENSIFY": register(prepare, version=1, reference_version=1, lowest_version=1, sparse_input=0),
}
