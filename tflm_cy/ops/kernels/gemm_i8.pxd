"""How the operators with weights use the vector kernels for bytes: plan, memory, pack, in prepare (packed.pxd runs them).

    if ready_conv_i8(context, &op.fast, x, w, row):           # else: the scalar definition

    packing = plan_conv_i8(context, &op.fast, x, w, row)      # the same in two steps: memory in prepare; NULL: the scalar definition,
    pack_conv_i8(&op.fast, packing)                           # weights when they are wanted

and the same of depthwise convolutions.
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memset

from tflm_cy.graph.context cimport Context, Packing
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.ops.kernels.packed cimport plan_packed, request_workers
from tflm_cy.ops.kernels.packings cimport find_packed, note_packed
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8


cdef inline Packing* plan_conv_i8(Context context, ConvI8* c, const Tensor* x, const void* w, ptrdiff_t row) except? NULL:
    """NULL: it will not serve. The caller has filled in the first part."""
    cdef Packing* packing
    c.slack = context.aligned_slack and not is_constant(x)
    c.w, c.w_row = w, row
    if not plan_packed(c):
        return NULL
    packing = find_packed(context, c)
    request_workers(context, c)
    return packing


cdef inline void pack_conv_i8(ConvI8* c, Packing* packing=NULL) noexcept nogil:
    """Without a packing, in memory of the caller's."""
    if packing != NULL and packing.filled:
        return
    memset(c.packed, 0, c.packed_bytes - c.spare_bytes)
    c.pack(c, c.w, c.w_row)
    if packing != NULL:
        note_packed(c, packing)


cdef inline bint ready_conv_i8(Context context, ConvI8* c, const Tensor* x, const void* w, ptrdiff_t row) except -1:
    cdef Packing* packing = plan_conv_i8(context, c, x, w, row)
    if packing == NULL:
        return False
    pack_conv_i8(c, packing)
    return True


cdef inline Packing* plan_depthwise_i8(Context context, DepthwiseI8* d) except? NULL:
    """As plan_conv_i8."""
    cdef Packing* packing
    if not plan_packed(d):
        return NULL
    packing = find_packed(context, d)
    request_workers(context, d)
    d.outside = context.same_bytes(<unsigned char>(d.x_zero_point & 255), d.outside_bytes)
    return packing


cdef inline void pack_depthwise_i8(DepthwiseI8* d, Packing* packing) noexcept nogil:
    if packing.filled:
        return
    memset(d.packed, 0, d.packed_bytes)
    d.pack(d)
    note_packed(d, packing)


cdef inline bint ready_depthwise_i8(Context context, DepthwiseI8* d) except -1:
    cdef Packing* packing = plan_depthwise_i8(context, d)
    if packing == NULL:
        return False
    pack_depthwise_i8(d, packing)
    return True
