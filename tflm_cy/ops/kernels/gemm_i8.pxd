"""How the operators with weights use the vector kernels for bytes: plan, memory, pack, in prepare (packed.pxd runs them).

    if ready_conv_i8(context, &op.fast, x, w, row):           # else: the scalar definition

    if plan_conv_i8(context, &op.fast, x, w, row):            # the same in two steps: memory in prepare,
        pack_conv_i8(&op.fast)                                # weights when they are wanted

and the same of depthwise convolutions.
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memset

from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.ops.kernels.packed cimport plan_packed, request_workers, reserve_packed
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8


cdef inline bint plan_conv_i8(Context context, ConvI8* c, const Tensor* x, const void* w, ptrdiff_t row) except -1:
    """True when it will serve; the caller has filled in the first part."""
    c.slack = context.aligned_slack and not is_constant(x)
    c.w, c.w_row = w, row
    if not plan_packed(c):
        return False
    reserve_packed(context, c)
    request_workers(context, c)
    return True


cdef inline void pack_conv_i8(ConvI8* c) noexcept nogil:
    memset(c.packed, 0, c.packed_bytes - c.spare_bytes)
    c.pack(c, c.w, c.w_row)


cdef inline bint ready_conv_i8(Context context, ConvI8* c, const Tensor* x, const void* w, ptrdiff_t row) except -1:
    if not plan_conv_i8(context, c, x, w, row):
        return False
    pack_conv_i8(c)
    return True


cdef inline bint plan_depthwise_i8(Context context, DepthwiseI8* d) except -1:
    """As plan_conv_i8."""
    if not plan_packed(d):
        return False
    reserve_packed(context, d)
    request_workers(context, d)
    d.outside = context.same_bytes(<unsigned char>(d.x_zero_point & 255), d.outside_bytes)
    return True


cdef inline void pack_depthwise_i8(DepthwiseI8* d) noexcept nogil:
    memset(d.packed, 0, d.packed_bytes)
    d.pack(d)


cdef inline bint ready_depthwise_i8(Context context, DepthwiseI8* d) except -1:
    if not plan_depthwise_i8(context, d):
        return False
    pack_depthwise_i8(d)
    return True
