"""Scaled dot product attention in float32, as TensorFlow's delegate builds it of XNNPACK's operators.

    logits = (q * scale) . k;  logits = tanh(logits / cap) * cap when there is a cap;  logits = mask + logits when there is a mask
    y = softmax(logits) . v

q [batch, queries, heads, depth], k and v [batch, keys, heads, depth], mask [batch, heads, queries, keys], y like q. Both products are chains of
fused multiply-adds (product.pxd), TANH and SOFTMAX are XNNPACK's, everything else rounds once a step. Fewer heads of keys or values than
of queries serve equal groups of neighbouring ones.

With a single head of keys the batches of k are laid one after another: every query meets all of them, and so it is with v, whose
transposed batches [head, depth, key] are then read as one matrix of `depth` rows.

Heads of queries that meet the same keys and values are rows of the same two products: what has to be done for these is done once.

    rows_of_unit(&a), unit_of(&a, u), query_of(&a, &unit, r)      # which products there are, and which query each row of one is
    scale_query(&a, &query, q, x);  cap_logits(&a, logits, n);  mask_logits(&a, &query, mask, logits)

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc (VisitDotAttentionNode).
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.xnnpack.product_order cimport ProductRules, order_of_matrix, order_of_rows
from tflm_cy.arithmetic.xnnpack.unary cimport Parameters

cdef struct Operand:             # a tensor of four dimensions, of which any may be 1 where the result's is not
    ptrdiff_t batches
    ptrdiff_t rows               # queries or keys
    ptrdiff_t heads

cdef struct Attention:
    Operand q
    Operand k
    Operand v
    Operand mask                 # rows: queries
    ptrdiff_t mask_keys          # 1 or keys
    ptrdiff_t batches            # of the result
    ptrdiff_t heads
    ptrdiff_t queries
    ptrdiff_t keys               # that each query meets
    ptrdiff_t depth
    bint one_head                # of keys
    bint has_cap
    float scale
    float cap
    UnaryKernel tanh

cdef struct Unit:                # rows that meet the same keys and values
    ptrdiff_t batch              # the first row's
    ptrdiff_t head
    ptrdiff_t k                  # floats from the first keys and values to theirs
    ptrdiff_t v

cdef struct Query:               # of the result
    ptrdiff_t batch
    ptrdiff_t head
    ptrdiff_t row


cdef inline ptrdiff_t only(ptrdiff_t i, ptrdiff_t size) noexcept nogil:
    """The index into a dimension that may be 1."""
    return i if size > 1 else 0


cdef inline int order_of_product(
    const Attention* a, const ProductRules* rules, ptrdiff_t batches, ptrdiff_t heads, ptrdiff_t rows, ptrdiff_t columns,
) noexcept nogil:
    """A single head of keys makes one product of all rows of all heads, as of a layer; else each head is a product."""
    return order_of_matrix(rules, batches * heads * rows, columns) if a.one_head else order_of_rows(rules, rows)


cdef inline ptrdiff_t shared_heads(const Attention* a) noexcept nogil:
    """Neighbouring heads of the result that meet the same keys and values."""
    cdef ptrdiff_t k = a.heads if a.one_head or a.q.heads == 1 else a.q.heads / a.k.heads
    cdef ptrdiff_t v = a.heads if a.one_head else a.heads / a.v.heads
    return v if k % v == 0 else k if v % k == 0 else 1


cdef inline ptrdiff_t unit_count(const Attention* a) noexcept nogil:
    return 1 if a.one_head else a.batches * (a.heads / shared_heads(a))


cdef inline ptrdiff_t rows_of_unit(const Attention* a) noexcept nogil:
    return a.batches * a.heads * a.queries if a.one_head else shared_heads(a) * a.queries


cdef inline Unit unit_of(const Attention* a, ptrdiff_t u) noexcept nogil:
    """Those of a batch that others have, too, one after the other."""
    cdef Unit unit
    unit.batch, unit.head = u % a.batches, u / a.batches * shared_heads(a)
    unit.k = unit.v = 0
    if not a.one_head:
        unit.k = (only(unit.batch, a.k.batches) * a.k.rows * a.k.heads + only(unit.head, a.q.heads) / (a.q.heads / a.k.heads)) * a.depth
        unit.v = (only(unit.batch, a.v.batches) * a.v.rows * a.v.heads + unit.head / (a.heads / a.v.heads)) * a.depth
    return unit


cdef inline Query query_of(const Attention* a, const Unit* unit, ptrdiff_t r) noexcept nogil:
    cdef Query query
    query.row = r % a.queries
    query.head = unit.head + r / a.queries
    query.batch = unit.batch
    if a.one_head:
        query.batch, query.head = query.head / a.heads, query.head % a.heads
    return query


cdef inline void scale_query(const Attention* a, const Query* query, const float* q, float* x) noexcept nogil:
    cdef ptrdiff_t c
    q += ((only(query.batch, a.q.batches) * a.q.rows + only(query.row, a.q.rows)) * a.q.heads + only(query.head, a.q.heads)) * a.depth
    for c in range(a.depth):
        x[c] = q[c] * a.scale


cdef inline void cap_logits(const Attention* a, float* logits, ptrdiff_t n) noexcept nogil:
    cdef Parameters none = Parameters(low=-INFINITY, high=INFINITY, slope=0)
    cdef ptrdiff_t i
    for i in range(n):
        logits[i] = logits[i] / a.cap
    a.tanh(&none, logits, logits, n)
    for i in range(n):
        logits[i] = logits[i] * a.cap


cdef inline void mask_logits(const Attention* a, const Query* query, const float* mask, float* logits) noexcept nogil:
    """Of a query and all keys."""
    cdef ptrdiff_t i
    mask += (
        (only(query.batch, a.mask.batches) * a.mask.heads + only(query.head, a.mask.heads)) * a.mask.rows + only(query.row, a.mask.rows)
    ) * a.mask_keys
    if a.mask_keys == 1:
        for i in range(a.keys):
            logits[i] = mask[0] + logits[i]
    else:
        for i in range(a.keys):
            logits[i] = mask[i] + logits[i]


cdef inline void turn_values(const Attention* a, const float* v, float* turned) noexcept nogil:
    """[batch, key, head, depth] as [batch, head, depth, key]."""
    cdef ptrdiff_t b, r, h, c
    for b in range(a.v.batches):
        for r in range(a.v.rows):
            for h in range(a.v.heads):
                for c in range(a.depth):
                    turned[((b * a.v.heads + h) * a.depth + c) * a.v.rows + r] = v[((b * a.v.rows + r) * a.v.heads + h) * a.depth + c]
