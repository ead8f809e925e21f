"""Scaled dot product attention in float32, as TensorFlow's delegate builds it of XNNPACK's operators.

    logits = (q * scale) . k;  logits = tanh(logits / cap) * cap when there is a cap;  logits = mask + logits when there is a mask
    y = softmax(logits) . v

q [batch, queries, heads, depth], k and v [batch, keys, heads, depth], mask [batch, heads, queries, keys], y like q. Both products are chains of
fused multiply-adds (product.pxd), TANH and SOFTMAX are XNNPACK's, everything else rounds once a step. Fewer heads of keys or values than
of queries serve equal groups of neighbouring ones.

With a single head of keys the batches of k are laid one after another: every query meets all of them, and so it is with v, whose
transposed batches [head, depth, key] are then read as one matrix of `depth` rows.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc (VisitDotAttentionNode).
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.xnnpack.product cimport matrix_f32, pack_filters
from tflm_cy.arithmetic.xnnpack.product_order cimport ProductRules, order_of_matrix, order_of_rows
from tflm_cy.arithmetic.xnnpack.softmax cimport SoftmaxRow
from tflm_cy.arithmetic.xnnpack.unary cimport Parameters, map8, tanh8

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
    SoftmaxRow softmax
    ProductRules products
    float scale
    float cap

cdef struct AttentionScratch:    # floats
    float* columns               # packed_size(keys, depth), packed_size(depth, keys)
    float* rows                  # q.rows * depth, then queries * depth
    float* logits                # q.rows * keys
    float* weights               # queries * keys
    float* turned                # one_head: depth * keys


cdef inline ptrdiff_t only(ptrdiff_t i, ptrdiff_t size) noexcept nogil:
    """The index into a dimension that may be 1."""
    return i if size > 1 else 0


cdef inline int order_of_product(const Attention* a, ptrdiff_t batches, ptrdiff_t heads, ptrdiff_t rows, ptrdiff_t columns) noexcept nogil:
    """A single head of keys makes one product of all rows of all heads, as of a layer; else each head is a product."""
    return order_of_matrix(&a.products, batches * heads * rows, columns) if a.one_head else order_of_rows(&a.products, rows)


cdef inline void logits_of_head(
    const Attention* a, ptrdiff_t b, ptrdiff_t n, const float* q, const float* k, const AttentionScratch* s,
) noexcept nogil:
    """s.logits[query][key] before the mask."""
    cdef Parameters none = Parameters(low=0, high=0, slope=0)
    cdef ptrdiff_t row = a.q.heads * a.depth
    cdef ptrdiff_t i, t, c
    q += only(b, a.q.batches) * a.q.rows * row + only(n, a.q.heads) * a.depth
    for t in range(a.q.rows):
        for c in range(a.depth):
            s.rows[t * a.depth + c] = q[t * row + c] * a.scale
    if not a.one_head:
        k += (only(b, a.k.batches) * a.k.rows * a.k.heads + only(n, a.q.heads) / (a.q.heads / a.k.heads)) * a.depth
    pack_filters(k, NULL, a.keys, a.depth, a.k.heads * a.depth, 1, s.columns)
    matrix_f32(
        s.rows, a.q.rows, a.depth, s.columns, a.keys, -INFINITY, INFINITY,
        order_of_product(a, a.q.batches, a.q.heads, a.q.rows, a.keys), s.logits)
    if a.has_cap:
        for i in range(a.q.rows * a.keys):
            s.logits[i] = s.logits[i] / a.cap
        map8(tanh8, &none, s.logits, s.logits, a.q.rows * a.keys)
        for i in range(a.q.rows * a.keys):
            s.logits[i] = s.logits[i] * a.cap


cdef inline void weights_of_head(const Attention* a, ptrdiff_t b, ptrdiff_t n, const float* mask, const AttentionScratch* s) noexcept nogil:
    """s.weights[query][key], each row's sum 1."""
    cdef const float* row
    cdef float* w
    cdef ptrdiff_t t, i
    for t in range(a.queries):
        w = s.weights + t * a.keys
        row = s.logits + only(t, a.q.rows) * a.keys
        if mask == NULL:
            a.softmax(row, a.keys, w)
            continue
        for i in range(a.keys):
            w[i] = mask[
                ((only(b, a.mask.batches) * a.mask.heads + only(n, a.mask.heads)) * a.mask.rows + only(t, a.mask.rows)) * a.mask_keys
                + only(i, a.mask_keys)
            ] + row[i]
        a.softmax(w, a.keys, w)


cdef inline void turn_values(const Attention* a, const float* v, float* turned) noexcept nogil:
    """[batch, key, head, depth] as [batch, head, depth, key]."""
    cdef ptrdiff_t b, r, h, c
    for b in range(a.v.batches):
        for r in range(a.v.rows):
            for h in range(a.v.heads):
                for c in range(a.depth):
                    turned[((b * a.v.heads + h) * a.depth + c) * a.v.rows + r] = v[((b * a.v.rows + r) * a.v.heads + h) * a.depth + c]


cdef inline void attention_f32(
    const Attention* a, const float* q, const float* k, const float* v, const float* mask, const AttentionScratch* s, float* y,
) noexcept nogil:
    cdef ptrdiff_t b, n, t, c
    cdef const float* values
    if a.one_head:
        turn_values(a, v, s.turned)
    for b in range(a.batches):
        for n in range(a.heads):
            logits_of_head(a, b, n, q, k, s)
            weights_of_head(a, b, n, mask, s)
            if a.one_head:
                pack_filters(s.turned, NULL, a.depth, a.keys, a.keys, 1, s.columns)
            else:
                values = v + (only(b, a.v.batches) * a.v.rows * a.v.heads + n / (a.heads / a.v.heads)) * a.depth
                pack_filters(values, NULL, a.depth, a.keys, 1, a.v.heads * a.depth, s.columns)
            matrix_f32(
                s.weights, a.queries, a.keys, s.columns, a.depth, -INFINITY, INFINITY,
                order_of_product(a, a.batches, a.heads, a.queries, a.depth), s.rows)
            for t in range(a.queries):
                for c in range(a.depth):
                    y[((b * a.queries + t) * a.heads + n) * a.depth + c] = s.rows[t * a.depth + c]
