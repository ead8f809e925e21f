"""How the float32 operators with weights use the vector kernels: plan, memory, pack, in prepare.

    if ready_product32(context, &fast, w, bias, column_stride, k_stride):    # else: the scalar definition
        ...
        parallelize32(context, node, &fast, compute_range)
    fast.run(&fast.plan, x, context.scratch(fast.scratch), y)

    range32(context, node, &fast, x, y, first, end, worker)   # in the function for a range of the node

A product that nodes behind it are fused into (`Node.try_fuse`):

    node.try_fuse = try_fuse                                # return try_fuse32(&fast, context, node, reader, operand, other)
    run32(context, node, &fast, x, y)                       # as fast.run, with the epilogue of what has been fused
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport EPILOGUE_ADD, EPILOGUE_CLAMP, EPILOGUE_PRELU_SIGNED, Context, Node, WorkFunction
from tflm_cy.ops.elementwise cimport channels_of
from tflm_cy.ops.xnnpack.vector8 cimport space_of_cut
from tflm_cy.simd.bands cimport (
    cut_depthwise32, cut_product32, depthwise32_time, product32_time, run_range_depthwise32, run_range_product32,
)
from tflm_cy.simd.depthwise32 cimport Depthwise32
from tflm_cy.simd.product32 cimport Finish32, Product32
from tflm_cy.simd.table cimport kernels

ctypedef void (*RunProduct32)(const Product32* c, const float* x, void* scratch, float* y) noexcept nogil

ctypedef void (*RunDepthwise32)(const Depthwise32* d, const float* x, void* scratch, float* y) noexcept nogil

cdef struct Vector32:
    RunProduct32 run
    int scratch
    Product32 plan
    bint has_epilogue            # nodes have been fused into it:
    int added                    # which input of the node is the other operand of an addition, a row of slopes; -1: none
    int slopes
    Finish32 finish

cdef struct VectorDepthwise32:
    RunDepthwise32 run
    int scratch
    Depthwise32 plan


cdef inline bint ready_product32(
    Context context, Vector32* v, const float* w, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride,
) except -1:
    """True when v.run serves; the caller has filled in the first part of v.plan."""
    v.plan.workers = context.workers
    if kernels().product32.plan == NULL or not kernels().product32.plan(&v.plan):
        return False
    v.plan.packed = <float*>context.unfilled(v.plan.packed_bytes)
    v.scratch = context.request_scratch(context.for_all_workers(v.plan.scratch_bytes))
    kernels().product32.pack(&v.plan, w, bias, column_stride, k_stride)
    v.run = kernels().product32.run
    return True


cdef inline bint ready_depthwise32(
    Context context, VectorDepthwise32* v, const float* w, const float* bias, ptrdiff_t tap_stride, ptrdiff_t channel_stride,
) except -1:
    """As ready_product32."""
    if kernels().depthwise32.plan == NULL or not kernels().depthwise32.plan(&v.plan):
        return False
    v.plan.packed = <float*>context.unfilled(v.plan.packed_bytes)
    v.scratch = context.request_scratch(context.for_all_workers(v.plan.scratch_bytes))
    kernels().depthwise32.pack(&v.plan, w, bias, tap_stride, channel_stride)
    v.run = kernels().depthwise32.run
    return True


cdef inline int parallelize32(Context context, Node* node, const Vector32* v, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_cut(cut_product32(&v.plan)), product32_time(&v.plan))


cdef inline void run32(Context context, const Node* node, const Vector32* v, const float* x, float* y) noexcept nogil:
    cdef Product32 own
    cdef Finish32 finish
    cdef const Product32* plan = plan_for(context, node, v, &own, &finish, y)
    v.run(plan, x, context.scratch(v.scratch), y)


cdef inline void range32(
    Context context, const Node* node, const Vector32* v, const float* x, float* y, int64_t first, int64_t end, int worker,
) noexcept nogil:
    cdef Product32 own
    cdef Finish32 finish
    cdef const Product32* plan = plan_for(context, node, v, &own, &finish, y)
    run_range_product32(v.run, plan, x, context.worker_scratch(v.scratch, v.plan.scratch_bytes, worker), y, first, end)


cdef inline const Product32* plan_for(
    Context context, const Node* node, const Vector32* v, Product32* own, Finish32* finish, float* y,
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


cdef inline bint try_fuse32(Vector32* v, Context context, const Node* node, const Node* reader, int operand, int other) noexcept:
    """After the product's own clamp: an addition and a clamp, a slope and a clamp, either or both. False: the reader must compute its output."""
    cdef Finish32* f = &v.finish
    if v.plan.shape.groups != 1:
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


cdef inline int parallelize_depthwise32(Context context, Node* node, const VectorDepthwise32* v, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_cut(cut_depthwise32(&v.plan)), depthwise32_time(&v.plan))


cdef inline void range_depthwise32(
    Context context, const VectorDepthwise32* v, const float* x, float* y, int64_t first, int64_t end, int worker,
) noexcept nogil:
    run_range_depthwise32(v.run, &v.plan, x, context.worker_scratch(v.scratch, v.plan.scratch_bytes, worker), y, first, end)
