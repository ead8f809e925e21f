"""Constants that have a structure of their own: strings, and sparse tensors. Each check returns None, or what is
wrong.

A string tensor is `count, offsets[count + 1], characters` in 32-bit integers counted from the start of the buffer;
string `i` lies between two offsets. (TensorFlow reads such a buffer unchecked and dies.)

A sparse tensor is a tree, level by level in traversal order: a dense level has `dense_size` children per node; a
compressed one has, for node `i`, the children `segments[i]` to `segments[i + 1]`, whose coordinates stand in
`indices`. The leaves are the stored values. After the levels of the tensor's own dimensions come those of the blocks;
`block_map` says which dimension a block cuts.

Source of the rules: google-ai-edge/LiteRT:tflite/string_util.h, tflite/core/tools/verifier.cc, and the schema's
comment on SparsityParameters."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tflm_cy.schema.slots cimport (
    DIMENSION_DENSE_SIZE, DIMENSION_FORMAT, DIMENSION_INDICES, DIMENSION_INDICES_TYPE, DIMENSION_SEGMENTS,
    DIMENSION_SEGMENTS_TYPE, SPARSITY_BLOCK_MAP, SPARSITY_DIM_METADATA, SPARSITY_TRAVERSAL_ORDER,
)
from tflm_cy.schema.span cimport Span
from tflm_cy.schema.table cimport (
    Vector, load_i32, load_u16, load_u32, table_i8, table_i32, table_table, table_u8, table_vector, vector_i32,
    vector_table,
)

cdef enum:
    MOST_LEVELS = 32         # of a sparse tensor's tree
    DENSE = 0
    SPARSE_CSR = 1


cdef object string_error(Span span, uint64_t elements):
    """The string buffer `span` must hold exactly `elements` strings."""
    cdef uint64_t count, header, index
    cdef uint32_t previous, offset
    if span.size < 8:
        return f"a string buffer has a count and an offset, this one has {span.size} bytes"
    count = load_u32(span.data)
    header = 4 * (count + 2)
    if header > span.size:
        return f"{count} strings need {header} bytes of offsets, the buffer has {span.size}"
    if count != elements:
        return f"the buffer holds {count} strings, the shape has {elements}"
    previous = <uint32_t>header
    for index in range(count + 1):
        offset = load_u32(span.data + 4 * (index + 1))
        if offset < previous or offset > span.size:
            return f"string {index} starts at byte {offset}, outside {previous} to {span.size}"
        previous = offset
    return None


cdef struct Indices:
    const uint8_t* data      # NULL: absent or of an unknown kind
    uint32_t length
    int width


cdef inline Indices sparse_indices(const uint8_t* dimension, int type_slot, int slot) noexcept nogil:
    """One of the three kinds of vectors of a compressed level."""
    cdef Indices indices
    cdef Vector values
    cdef int kind = table_u8(dimension, type_slot, 0)
    indices.data = NULL
    indices.length = 0
    indices.width = 4 if kind == 1 else 2 if kind == 2 else 1
    if kind < 1 or kind > 3:             # a table of an unknown kind has not been verified
        return indices
    values = table_vector(table_table(dimension, slot), 0)
    indices.data = values.data
    indices.length = values.length
    return indices


cdef inline int64_t index_at(Indices indices, uint64_t at) noexcept nogil:
    if indices.width == 4:
        return load_i32(indices.data + 4 * at)
    return load_u16(indices.data + 2 * at) if indices.width == 2 else indices.data[at]


cdef uint32_t highest(const Indices* indices) noexcept nogil:
    """The largest index, a negative one as an unsigned number; loops of their own, which compilers make fast."""
    cdef uint32_t most = 0
    cdef uint16_t most_of_two = 0
    cdef uint8_t most_of_one = 0
    cdef uint32_t at
    if indices.width == 4:
        for at in range(indices.length):
            most = max(most, <uint32_t>load_i32(indices.data + 4 * <size_t>at))
        return most
    if indices.width == 2:
        for at in range(indices.length):
            most_of_two = max(most_of_two, <uint16_t>load_u16(indices.data + 2 * <size_t>at))
        return most_of_two
    for at in range(indices.length):
        most_of_one = max(most_of_one, indices.data[at])
    return most_of_one


cdef object sparsity_error(const uint8_t* sparsity, Vector shape, uint64_t* stored):
    """Is the tree consistent with the dense shape? `stored[0]` becomes the number of its leaves."""
    cdef Vector order = table_vector(sparsity, SPARSITY_TRAVERSAL_ORDER)
    cdef Vector levels = table_vector(sparsity, SPARSITY_DIM_METADATA)
    cdef Vector blocks = table_vector(sparsity, SPARSITY_BLOCK_MAP)
    cdef uint64_t nodes = 1
    cdef int64_t sizes[MOST_LEVELS]
    cdef int64_t size
    cdef bint seen[MOST_LEVELS]
    cdef uint32_t rank = shape.length, level
    cdef int32_t dimension, mapped
    cdef const uint8_t* metadata
    if order.data == NULL or levels.data == NULL:
        return "traversal_order and dim_metadata are both needed"
    if order.length != levels.length or order.length < rank or order.length > MOST_LEVELS:
        return (f"{order.length} dimensions to traverse and {levels.length} described, at rank {rank} "
                f"(at most {MOST_LEVELS} are supported)")
    if blocks.length != order.length - rank:
        return f"{order.length - rank} block dimensions, but {blocks.length} in block_map"
    for level in range(order.length):
        seen[level] = False
        sizes[level] = vector_i32(shape, level) if level < rank else 0
    for level in range(order.length):
        dimension = vector_i32(order, level)
        if dimension < 0 or dimension >= <int64_t>order.length or seen[dimension]:
            return f"traversal_order has {dimension} in place {level}"
        if (dimension < <int64_t>rank) != (level < rank):
            return f"traversal_order has {dimension} in place {level}"
        seen[dimension] = True
    for level in range(rank, order.length):
        # block_map stands in the order of the dimensions, the levels in the order of traversal.
        dimension = vector_i32(order, level)
        mapped = vector_i32(blocks, dimension - rank)
        size = table_i32(vector_table(levels, level), DIMENSION_DENSE_SIZE, 0)
        if mapped < 0 or mapped >= <int64_t>rank:
            return f"block_map has {mapped} at rank {rank}"
        if size <= 0 or table_i8(vector_table(levels, level), DIMENSION_FORMAT, 0) != DENSE:
            return f"block dimension {dimension} is not dense with a positive size"
        sizes[dimension] = size
        sizes[mapped] //= size               # what is left beyond the last whole block is 0, as TensorFlow's converter writes it
    for level in range(order.length):
        size = sizes[vector_i32(order, level)]
        metadata = vector_table(levels, level)
        problem = level_error(metadata, size, &nodes)
        if problem is not None:
            return f"dim_metadata[{level}]: {problem}"
    stored[0] = nodes
    return None


cdef object level_error(const uint8_t* metadata, int64_t size, uint64_t* nodes):
    """One level of the tree: `nodes[0]` parents become the number of their children."""
    cdef int kind = table_i8(metadata, DIMENSION_FORMAT, 0)
    cdef Indices segments, indices
    cdef int64_t previous, value
    cdef uint64_t at
    if kind == DENSE:
        value = table_i32(metadata, DIMENSION_DENSE_SIZE, 0)
        if value != size:
            return f"dense_size is {value}, the dimension has {size}"
        if value and nodes[0] > (<uint64_t>1 << 62) // <uint64_t>value:
            return "the number of stored values overflows"
        nodes[0] *= <uint64_t>value
        return None
    if kind != SPARSE_CSR:
        return f"unknown format {kind}"
    segments = sparse_indices(metadata, DIMENSION_SEGMENTS_TYPE, DIMENSION_SEGMENTS)
    indices = sparse_indices(metadata, DIMENSION_INDICES_TYPE, DIMENSION_INDICES)
    if segments.data == NULL or indices.data == NULL:
        return "array_segments and array_indices are both needed"
    if segments.length != nodes[0] + 1:
        return f"array_segments has {segments.length} entries for {nodes[0]} parents"
    previous = 0
    for at in range(segments.length):
        value = index_at(segments, at)
        if value < previous:
            return f"array_segments[{at}] is {value} after {previous}"
        previous = value
    if previous != indices.length:
        return f"array_segments ends at {previous}, array_indices has {indices.length} entries"
    if highest(&indices) >= size:
        for at in range(indices.length):
            value = index_at(indices, at)
            if value < 0 or value >= size:
                return f"array_indices[{at}] is {value}, the dimension has {size}"
    nodes[0] = indices.length
    return None
