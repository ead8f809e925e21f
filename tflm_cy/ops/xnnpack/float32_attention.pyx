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
from libc.stdint cimport int32_t

from tflm_cy.arithmetic.xnnpack.attention cimport Attention, AttentionScratch, Operand, attention_f32
from tflm_cy.arithmetic.xnnpack.product cimport packed_size
from tflm_cy.graph.context cimport Context, Node, elide, register
from tflm_cy.graph.passes.partition cimport partition_in_preparation
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, count, shape_of, type_name
from tflm_cy.ops.xnnpack.definitions cimport definitions, product_rules
from tflm_cy.ops.xnnpack.rank cimport read_sides
from tflm_cy.schema.flexbuffer import float_slot
from tflm_cy.schema.option_slots cimport STABLE_HLO_COMPOSITE_COMPOSITE_ATTRIBUTES
from tflm_cy.schema.table cimport Vector, table_vector

from tflm_cy.graph.refusal import OwnRefusalError

cdef str NAME = "odml.scaled_dot_product_attention"
cdef str WANTED = f"{NAME} wants FLOAT32 values in four dimensions"

cdef struct AttentionNode:
    Attention attention
    int[5] scratch               # in the order of AttentionScratch


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
    a.softmax = definitions().softmax
    a.products = product_rules()[0]
    op.scratch[0] = context.request_scratch(sizeof(float) * max(packed_size(a.keys, a.depth), packed_size(a.depth, a.keys)))
    op.scratch[1] = context.request_scratch(sizeof(float) * max(a.queries, a.q.rows) * a.depth)
    op.scratch[2] = context.request_scratch(sizeof(float) * a.q.rows * a.keys)
    op.scratch[3] = context.request_scratch(sizeof(float) * a.queries * a.keys)
    op.scratch[4] = context.request_scratch(sizeof(float) * a.depth * a.keys if a.one_head else 0)
    node.data = op
    node.invoke = attend
    return 0


cdef int attend(Context context, Node* node) noexcept nogil:
    cdef AttentionNode* op = <AttentionNode*>node.data
    cdef const Tensor* mask = context.input(node, 3) if node.input_count > 3 else NULL
    cdef AttentionScratch s
    s.columns = <float*>context.scratch(op.scratch[0])
    s.rows = <float*>context.scratch(op.scratch[1])
    s.logits = <float*>context.scratch(op.scratch[2])
    s.weights = <float*>context.scratch(op.scratch[3])
    s.turned = <float*>context.scratch(op.scratch[4])
    attention_f32(
        &op.attention, <const float*>context.input(node, 0).data, <const float*>context.input(node, 1).data,
        <const float*>context.input(node, 2).data, NULL if mask == NULL else <const float*>mask.data, &s,
        <float*>context.output(node, 0).data,
    )
    return 0


OPERATORS = {
    "STABLEHLO_COMPOSITE": register(prepare, version=99),
    "odml.scaled_dot_product_attention": register(prepare, version=99),
}
