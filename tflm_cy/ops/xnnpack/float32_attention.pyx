"""odml.scaled_dot_product_attention, as a custom operator or as a STABLEHLO_COMPOSITE, whose decomposition is not run then.

float32 q, k, v and an optional mask, each of four dimensions; attributes `scale` (default 1 / sqrt(depth)) and `logit_cap`, a FlexBuffer.
Batches broadcast. Refused though TensorFlow runs it: groups of heads with several batches of keys for a single one of queries, where it
mixes batches.

Which products there are (of a single head of keys, of as many as there are of queries, of groups), and the default scale, are those of the shapes at
the first allocation; the shapes themselves are those of the operands. XNNPACK keeps more of the first ones, and then refuses others or mixes
what is not the same head's.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.math cimport sqrt
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.xnnpack.attention cimport (
    Attention, Operand, Query, Unit, cap_logits, mask_logits, order_of_product, query_of, rows_of_unit, scale_query, turn_values, unit_count,
    unit_of,
)
from tflm_cy.arithmetic.xnnpack.softmax cimport SoftmaxRow
from tflm_cy.arithmetic.xnnpack.unary cimport Parameters, map8, tanh8
from tflm_cy.graph.context cimport Context, Node, elide, iteration_space, register
from tflm_cy.graph.passes.partition cimport partition_in_preparation
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, count, shape_of, type_name
from tflm_cy.ops.kernels.packed cimport plan_packed, request_workers
from tflm_cy.ops.kernels.row_bands cimport band_begin, count_bands
from tflm_cy.ops.xnnpack.definitions cimport definitions, product_rules
from tflm_cy.ops.xnnpack.limits cimport float_limits
from tflm_cy.ops.xnnpack.packed_matrix cimport multiply_matrix, pack_matrix, packed_matrix_bytes, set_product
from tflm_cy.ops.xnnpack.rank cimport read_sides
from tflm_cy.schema.flexbuffer import float_slot
from tflm_cy.schema.option_slots cimport STABLE_HLO_COMPOSITE_COMPOSITE_ATTRIBUTES
from tflm_cy.schema.table cimport Vector, table_vector
from tflm_cy.simd.conv_f32 cimport ConvF32
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import OwnRefusalError

cdef str NAME = "odml.scaled_dot_product_attention"
cdef str WANTED = f"{NAME} wants FLOAT32 values in four dimensions"

cdef enum:
    LEAST_TILE = 12              # rows of both products that are computed at once,
    MOST_TILE = 96
    TILE_LOGITS = 32768          # whose logits stay in a cache

cdef enum:                       # memory of each worker
    KEYS, VALUES, TURNED, ROWS, LOGITS, ROOMS

cdef struct AttentionNode:
    Attention attention
    ConvF32 logits               # plans of both products
    ConvF32 values
    bint vector                  # they serve, else the scalar definition
    SoftmaxRow softmax
    ptrdiff_t tile
    ptrdiff_t bands              # of a unit's rows, which threads share
    ptrdiff_t[ROOMS] bytes
    int[ROOMS] scratch


cdef bint see_operand(Context context, Node* node, int i, Tensor* seen) except? -1:
    """The four dimensions that XNNPACK sees of an operand; False where it has others."""
    cdef const Tensor* x = context.input(node, i)
    if x == NULL or x.type != FLOAT32 or x.rank == 0:
        raise ValueError(WANTED)
    seen[0] = x[0]
    seen.rank = 4
    read_sides(context, x, seen.dims)
    if seen.dims[1] == 0 or seen.dims[2] == 0 or (seen.dims[3] == 0 and (i < 2 or x.rank == 4)):
        raise ValueError(WANTED)
    return x.rank == 4


cdef Operand operand_of(const Tensor* x) noexcept:
    cdef Operand o
    o.batches, o.rows, o.heads = x.dims[0], x.dims[1], x.dims[2]
    return o


cdef ptrdiff_t common(ptrdiff_t a, ptrdiff_t b, str what) except -1:
    if a != b and a != 1 and b != 1:
        raise ValueError(f"{NAME}: {what} {a} and {b} do not fit each other")
    return b if a == 1 else a


cdef int set_mask(Attention* a, const Tensor* mask) except -1:
    """Up to four dimensions; the missing ones are leading 1s."""
    cdef ptrdiff_t[4] dims
    cdef int d
    if mask.type != FLOAT32 or not 1 <= mask.rank <= 4 or count(mask) == 0:
        raise ValueError(f"{NAME}: a mask of type {type_name(mask.type)} and shape {shape_of(mask)}")
    dims[:] = [1, 1, 1, 1]
    for d in range(mask.rank):
        dims[4 - mask.rank + d] = mask.dims[d]
    a.mask.batches, a.mask.heads, a.mask.rows, a.mask_keys = dims[0], dims[1], dims[2], dims[3]
    if a.mask_keys != 1 and a.mask_keys != a.keys:
        raise ValueError(f"{NAME}: a mask for {a.mask_keys} of {a.keys} keys")
    a.batches = common(a.batches, a.mask.batches, "batches")
    a.heads = common(a.heads, a.mask.heads, "heads")
    a.queries = common(a.queries, a.mask.rows, "queries")
    return 0


cdef int set_shapes(Attention* a, const Tensor* q, const Tensor* k, const Tensor* v, const Tensor* mask, bint equal_at_first) except -1:
    cdef bint grouped
    a.q, a.k, a.v = operand_of(q), operand_of(k), operand_of(v)
    a.depth = q.dims[3]
    a.one_head = a.k.heads == 1 and not equal_at_first
    grouped = not a.one_head and a.k.heads != a.q.heads
    if k.dims[3] != a.depth or v.dims[3] != a.depth or a.q.heads % a.k.heads != 0:
        raise ValueError(f"{NAME}: shapes {shape_of(q)}, {shape_of(k)} and {shape_of(v)} do not fit each other")
    a.keys = a.k.batches * a.k.rows if a.one_head else a.k.rows
    a.batches = a.q.batches if a.one_head else common(a.q.batches, a.k.batches, "batches")
    a.heads, a.queries = a.q.heads, a.q.rows
    if count(q) == 0 or count(k) == 0 or count(v) == 0:
        if a.one_head or grouped or mask != NULL or count(q) != 0 or count(k) != 0 or count(v) != 0:
            raise ValueError(f"{NAME}: batches of the shapes {shape_of(q)}, {shape_of(k)} and {shape_of(v)} do not fit each other")
    if mask != NULL:
        set_mask(a, mask)
    if grouped and (a.batches != a.q.batches or a.queries != a.q.rows):
        raise ValueError(f"{NAME}: groups of heads want the batches and rows of the queries {shape_of(q)} for keys and mask")
    if a.one_head:
        if a.v.batches * a.v.rows * a.v.heads != a.keys:
            raise ValueError(f"{NAME}: values {shape_of(v)} for {a.keys} keys")
        return 0
    if a.v.rows != a.keys or a.heads % a.v.heads != 0 or (not grouped and a.v.heads != 1 and a.v.heads != a.heads):
        raise ValueError(f"{NAME}: values {shape_of(v)} for keys {shape_of(k)}")
    if grouped and a.v.batches != 1 and a.v.batches != a.batches:
        raise ValueError(f"{NAME}: values {shape_of(v)} for queries {shape_of(q)}")
    a.batches = common(a.batches, a.v.batches, "batches")
    return 0


cdef int set_attributes(Context context, Node* node, Attention* a, int depth) except -1:
    """depth: that the default scale is of."""
    cdef Vector attributes
    cdef bytes content = b""
    if context.operator_name(node) == "STABLEHLO_COMPOSITE":
        attributes = table_vector(node.options, STABLE_HLO_COMPOSITE_COMPOSITE_ATTRIBUTES)
        if attributes.data != NULL:
            content = (<const char*>attributes.data)[:attributes.length]
    elif node.custom_options != NULL:
        content = (<const char*>node.custom_options)[:node.custom_options_size]
    scale = float_slot(content, "scale")
    cap = float_slot(content, "logit_cap")
    a.scale = <float>(1 / sqrt(<double>depth)) if scale is None else <float>scale
    a.has_cap = cap is not None
    a.cap = <float>cap if a.has_cap else <float>0
    return 0


cdef int prepare(Context context, Node* node) except -1:
    cdef AttentionNode* op = <AttentionNode*>context.persistent(sizeof(AttentionNode))
    cdef Attention* a = &op.attention
    cdef Tensor* y = context.output(node, 0)
    cdef Tensor[3] seen
    cdef tuple first
    cdef int32_t[4] dims
    cdef bint equal
    cdef bint fits = True
    cdef int i
    if node.output_count != 1 or y == NULL or y.type != FLOAT32:
        raise ValueError(f"{NAME} wants one FLOAT32 output")
    for i in range(3):
        fits = see_operand(context, node, i, &seen[i]) and fits
    shapes = partition_in_preparation(<Subgraph>context).first_shapes
    if not fits and node.index not in shapes:
        raise ValueError(WANTED)
    first = shapes.setdefault(node.index, (shape_of(&seen[0]), shape_of(&seen[1])))
    equal = first[0][2] == first[1][2] > 1
    set_shapes(a, &seen[0], &seen[1], &seen[2], context.input(node, 3) if node.input_count > 3 else NULL, equal)
    dims[:] = [<int32_t>a.batches, <int32_t>a.queries, <int32_t>a.heads, <int32_t>a.depth]
    context.set_shape(y, 4, dims)
    if not fits:
        raise OwnRefusalError(WANTED)
    if count(y) == 0:
        return elide(node)
    set_attributes(context, node, a, first[0][3])
    a.tanh = kernels().float32.tanh if kernels().float32.tanh != NULL else <UnaryKernel>map_tanh
    op.softmax = definitions().softmax
    node.data = op
    node.invoke = attend
    return plan_products(context, node, op)


cdef int plan_products(Context context, Node* node, AttentionNode* op) except -1:
    cdef const Attention* a = &op.attention
    cdef ptrdiff_t rows = rows_of_unit(a)
    cdef ptrdiff_t units = unit_count(a)
    cdef int i
    op.tile = min(rows, max(<ptrdiff_t>LEAST_TILE, min(<ptrdiff_t>MOST_TILE, TILE_LOGITS / max(a.keys, <ptrdiff_t>1))))
    set_product(
        &op.logits, op.tile, a.depth, a.keys, float_limits(0),
        order_of_product(a, product_rules(), a.q.batches, a.q.heads, a.q.rows, a.keys))
    set_product(
        &op.values, op.tile, a.keys, a.depth, float_limits(0),
        order_of_product(a, product_rules(), a.batches, a.heads, a.queries, a.depth))
    op.vector = plan_packed(&op.logits) and plan_packed(&op.values)
    if op.vector:
        request_workers(context, &op.logits)
        request_workers(context, &op.values)
    op.bytes[KEYS] = packed_matrix_bytes(&op.logits, op.vector)
    op.bytes[VALUES] = packed_matrix_bytes(&op.values, op.vector)
    op.bytes[TURNED] = sizeof(float) * a.depth * a.keys if are_turned(a) else 0
    op.bytes[ROWS] = sizeof(float) * op.tile * a.depth
    op.bytes[LOGITS] = sizeof(float) * op.tile * a.keys
    for i in range(ROOMS):
        op.scratch[i] = context.request_scratch(context.for_all_workers(op.bytes[i]))
    op.bands = count_bands(units, rows, context.workers)
    return context.parallelize(
        node, attend_range, iteration_space(units * op.bands, 1), units * a.keys * <double>a.depth * (2 + rows * 0.05))


cdef bint are_turned(const Attention* a) noexcept nogil:
    """Values of a single head of keys that are not a matrix as they lie."""
    return a.one_head and a.v.batches * a.v.heads > 1


cdef void map_tanh(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(tanh8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef int attend(Context context, Node* node) noexcept nogil:
    cdef const AttentionNode* op = <const AttentionNode*>node.data
    attend_range(context, node, 0, unit_count(&op.attention) * op.bands, 0)
    return 0


cdef inline float* room_of(Context context, const AttentionNode* op, int room, int worker) noexcept nogil:
    return <float*>context.worker_scratch(op.scratch[room], op.bytes[room], worker)


cdef float* pack_values(Context context, const AttentionNode* op, const float* v, int worker) noexcept nogil:
    cdef const Attention* a = &op.attention
    cdef float* turned
    if not are_turned(a):
        return pack_matrix(&op.values, op.vector, v, 1, a.v.heads * a.depth, room_of(context, op, VALUES, worker))
    turned = room_of(context, op, TURNED, worker)
    turn_values(a, v, turned)
    return pack_matrix(&op.values, op.vector, turned, a.keys, 1, room_of(context, op, VALUES, worker))


cdef void attend_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """Some bands of the units' rows. Keys and values are packed when first met; units that share them follow one another."""
    cdef const AttentionNode* op = <const AttentionNode*>node.data
    cdef const Attention* a = &op.attention
    cdef const float* k = <const float*>context.input(node, 1).data
    cdef const float* v = <const float*>context.input(node, 2).data
    cdef float* keys = NULL
    cdef float* values = NULL
    cdef ptrdiff_t rows = rows_of_unit(a)
    cdef ptrdiff_t row, stop, some
    cdef Unit unit, last
    cdef int64_t i
    for i in range(first, end):
        unit = unit_of(a, i / op.bands)
        if keys == NULL or unit.k != last.k:
            keys = pack_matrix(&op.logits, op.vector, k + unit.k, a.k.heads * a.depth, 1, room_of(context, op, KEYS, worker))
        if values == NULL or unit.v != last.v:
            values = pack_values(context, op, v + unit.v, worker)
        last = unit
        row = band_begin(rows, i % op.bands, op.bands)
        stop = band_begin(rows, i % op.bands + 1, op.bands)
        while row < stop:
            some = min(op.tile, stop - row)
            attend_tile(context, node, &unit, row, some, keys, values, worker)
            row += some


cdef void attend_tile(
    Context context, Node* node, const Unit* unit, ptrdiff_t first, ptrdiff_t rows, float* keys, float* values, int worker,
) noexcept nogil:
    cdef const AttentionNode* op = <const AttentionNode*>node.data
    cdef const Attention* a = &op.attention
    cdef const Tensor* mask = context.input(node, 3) if node.input_count > 3 else NULL
    cdef const float* q = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef float* x = room_of(context, op, ROWS, worker)
    cdef float* logits = room_of(context, op, LOGITS, worker)
    cdef Query query
    cdef ptrdiff_t r
    for r in range(rows):
        query = query_of(a, unit, first + r)
        scale_query(a, &query, q, x + r * a.depth)
    multiply_matrix(context, &op.logits, op.vector, x, rows, keys, logits, worker)
    if a.has_cap:
        cap_logits(a, logits, rows * a.keys)
    for r in range(rows):
        if mask != NULL:
            query = query_of(a, unit, first + r)
            mask_logits(a, &query, <const float*>mask.data, logits + r * a.keys)
        op.softmax(logits + r * a.keys, a.keys, logits + r * a.keys)
    multiply_matrix(context, &op.values, op.vector, logits, rows, values, x, worker)
    for r in range(rows):
        query = query_of(a, unit, first + r)
        memcpy(y + ((query.batch * a.queries + query.row) * a.heads + query.head) * a.depth, x + r * a.depth, a.depth * sizeof(float))


OPERATORS = {
    "STABLEHLO_COMPOSITE": register(prepare, version=99),
    "odml.scaled_dot_product_attention": register(prepare, version=99),
}
