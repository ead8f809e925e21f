"""How the float32 operators with weights use the vector kernels: plan, memory, pack, in prepare.

    if ready_f32(context, &op.fast, w, 0, bias, column_stride, k_stride):    # else: the scalar definition
        parallelize_packed(context, node, &op.fast, compute_range)

of a ConvF32 or a DepthwiseF32 `fast`; packed.pxd runs them.

A GemmF32 is a product that nodes behind it are fused into (`Node.try_fuse`):

    node.try_fuse = try_fuse                              # return try_fuse_f32(&op.fast, context, node, reader, operand, other)
    run_f32(context, node, &op.fast, x, y)                # with the epilogue of what has been fused
    run_range_f32(context, node, &op.fast, x, y, first, end, worker)
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.xnnpack.product_order cimport ONE_CHAIN
from tflm_cy.graph.context cimport EPILOGUE_ADD, EPILOGUE_CLAMP, EPILOGUE_PRELU_SIGNED, Context, Node, Packing
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.ops.kernels.packed cimport plan_packed, request_workers, reserve_packed, run_packed, run_packed_range
from tflm_cy.ops.kernels.packings cimport find_packed, note_packed
from tflm_cy.ops.value_space cimport channels_of
from tflm_cy.simd.conv_f32 cimport ConvF32, EpilogueF32
from tflm_cy.simd.depthwise_f32 cimport DepthwiseF32

ctypedef fused Product32:
    ConvF32
    DepthwiseF32

cdef struct GemmF32:
    ConvF32 plan
    bint has_epilogue            # nodes have been fused into it:
    int added                    # which input of the node is the other operand of an addition, a row of slopes; -1: none
    int slopes
    EpilogueF32 finish


cdef inline bint ready_f32(
    Context context, Product32* c, const Tensor* w, ptrdiff_t first, const float* bias, ptrdiff_t outer_stride, ptrdiff_t inner_stride,
) except -1:
    """True when it will serve; the caller has filled in the first part. `first`: of the weights. The strides are those of `pack`."""
    cdef Packing* packing
    if Product32 is ConvF32:
        c.workers = context.workers
    if not plan_packed(c):
        return False
    packing = find_packed(context, c)
    request_workers(context, c)
    if not packing.filled:
        context.materialize(w)
        c.pack(c, <const float*>w.data + first, bias, outer_stride, inner_stride)
        note_packed(c, packing)
    return True


cdef inline bint ready_part_f32(Context context, ConvF32* c, const float* w, const float* bias) except -1:
    """As ready_f32, of filters that the caller has made for this shape."""
    c.workers = context.workers
    if not plan_packed(c):
        return False
    reserve_packed(context, c)
    request_workers(context, c)
    c.pack(c, w, bias, c.shape.kh * c.shape.kw * c.shape.group_ic, 1)
    return True


cdef inline void run_f32(Context context, const Node* node, const GemmF32* v, const float* x, float* y) noexcept nogil:
    cdef ConvF32 own
    cdef EpilogueF32 finish
    run_packed(context, plan_for(context, node, v, &own, &finish, y), x, y)


cdef inline void run_range_f32(
    Context context, const Node* node, const GemmF32* v, const float* x, float* y, int64_t first, int64_t end, int worker,
) noexcept nogil:
    cdef ConvF32 own
    cdef EpilogueF32 finish
    run_packed_range(context, plan_for(context, node, v, &own, &finish, y), x, y, first, end, worker)


cdef inline const ConvF32* plan_for(
    Context context, const Node* node, const GemmF32* v, ConvF32* own, EpilogueF32* finish, float* y,
) noexcept nogil:
    """Where nodes have been fused, a plan of the caller's for where tensors lie now."""
    if not v.has_epilogue:
        return &v.plan
    own[0] = v.plan
    finish[0] = v.finish
    if finish.adds or finish.bends:
        own.finish = finish
    if v.added >= 0:
        finish.added = <const float*>context.input(node, v.added).data
        finish.y = y
    if v.slopes >= 0:
        finish.slopes = <const float*>context.input(node, v.slopes).data
    return own


cdef inline bint try_fuse_f32(GemmF32* v, Context context, const Node* node, const Node* reader, int operand, int other) noexcept:
    """After the product's own clamp: an addition and a clamp, a slope and a clamp, either or both. False: the reader must compute its output."""
    cdef EpilogueF32* f = &v.finish
    if v.plan.shape.groups != 1 or v.plan.order != ONE_CHAIN:
        return False
    if not v.has_epilogue:
        v.added = v.slopes = -1
        f.adds = f.bends = False
        f.low = f.last_low = -INFINITY
        f.high = f.last_high = INFINITY
        f.slopes = NULL
    if reader.epilogue.kind == EPILOGUE_ADD:
        if f.adds or f.bends:
            return False
        f.adds = True
        f.second = operand == 1
        f.low, f.high = reader.epilogue.low, reader.epilogue.high
        v.added = other
        f.added_row = channels_of(context.input(node, other))
        f.y_row = v.plan.y_row
    elif reader.epilogue.kind == EPILOGUE_CLAMP:
        if f.bends and is_open(f.last_low, f.last_high):
            f.last_low, f.last_high = reader.epilogue.low, reader.epilogue.high
        elif not f.bends and f.adds and is_open(f.low, f.high):
            f.low, f.high = reader.epilogue.low, reader.epilogue.high
        elif not f.bends and not f.adds and is_open(v.plan.low, v.plan.high):
            v.plan.low, v.plan.high = reader.epilogue.low, reader.epilogue.high
        else:
            return False
    else:
        if f.bends:
            return False
        f.bends = True
        f.by_sign = reader.epilogue.kind == EPILOGUE_PRELU_SIGNED
        f.slope = reader.epilogue.slope
        if other >= 0:
            v.slopes = other
    v.has_epilogue = True
    return True


cdef inline bint is_open(float low, float high) noexcept nogil:
    """A clamp that changes nothing."""
    return low == -INFINITY and high == INFINITY
