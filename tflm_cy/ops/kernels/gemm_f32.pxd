"""How the float32 operators with weights use the vector kernels: plan, memory, pack, in prepare.

    if ready_conv_f32(context, &fast, w, bias, column_stride, k_stride):    # else: the scalar definition
        ...
        parallelize_f32(context, node, &fast, compute_range)
    fast.run(&fast.plan, x, context.scratch(fast.scratch), y)

    run_range_f32(context, node, &fast, x, y, first, end, worker)   # in the function for a range of the node

A product that nodes behind it are fused into (`Node.try_fuse`):

    node.try_fuse = try_fuse                                # return try_fuse_f32(&fast, context, node, reader, operand, other)
    run_f32(context, node, &fast, x, y)                       # as fast.run, with the epilogue of what has been fused
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport EPILOGUE_ADD, EPILOGUE_CLAMP, EPILOGUE_PRELU_SIGNED, Context, Node, WorkFunction
from tflm_cy.ops.elementwise cimport channels_of
from tflm_cy.ops.kernels.gemm_i8 cimport space_of_ranges
from tflm_cy.simd.ranges cimport (
    ranges_of_depthwise_f32, ranges_of_conv_f32, depthwise_f32_time, conv_f32_time, run_range_depthwise_f32, run_range_conv_f32,
)
from tflm_cy.simd.depthwise_f32 cimport DepthwiseF32
from tflm_cy.simd.conv_f32 cimport EpilogueF32, ConvF32
from tflm_cy.simd.table cimport kernels

ctypedef void (*RunConvF32)(const ConvF32* c, const float* x, void* scratch, float* y) noexcept nogil

ctypedef void (*RunDepthwiseF32)(const DepthwiseF32* d, const float* x, void* scratch, float* y) noexcept nogil

cdef struct GemmF32:
    RunConvF32 run
    int scratch
    ConvF32 plan
    bint has_epilogue            # nodes have been fused into it:
    int added                    # which input of the node is the other operand of an addition, a row of slopes; -1: none
    int slopes
    EpilogueF32 finish

cdef struct PackedDepthwiseF32:
    RunDepthwiseF32 run
    int scratch
    DepthwiseF32 plan


cdef inline bint ready_conv_f32(
    Context context, GemmF32* v, const float* w, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride,
) except -1:
    """True when v.run serves; the caller has filled in the first part of v.plan."""
    v.plan.workers = context.workers
    if kernels().conv_f32.plan == NULL or not kernels().conv_f32.plan(&v.plan):
        return False
    v.plan.packed = <float*>context.unfilled(v.plan.packed_bytes)
    v.scratch = context.request_scratch(context.for_all_workers(v.plan.scratch_bytes))
    kernels().conv_f32.pack(&v.plan, w, bias, column_stride, k_stride)
    v.run = kernels().conv_f32.run
    return True


cdef inline bint ready_depthwise_f32(
    Context context, PackedDepthwiseF32* v, const float* w, const float* bias, ptrdiff_t tap_stride, ptrdiff_t channel_stride,
) except -1:
    """As ready_conv_f32."""
    if kernels().depthwise_f32.plan == NULL or not kernels().depthwise_f32.plan(&v.plan):
        return False
    v.plan.packed = <float*>context.unfilled(v.plan.packed_bytes)
    v.scratch = context.request_scratch(context.for_all_workers(v.plan.scratch_bytes))
    kernels().depthwise_f32.pack(&v.plan, w, bias, tap_stride, channel_stride)
    v.run = kernels().depthwise_f32.run
    return True


cdef inline int parallelize_f32(Context context, Node* node, const GemmF32* v, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_ranges(ranges_of_conv_f32(&v.plan)), conv_f32_time(&v.plan))


cdef inline void run_f32(Context context, const Node* node, const GemmF32* v, const float* x, float* y) noexcept nogil:
    cdef ConvF32 own
    cdef EpilogueF32 finish
    cdef const ConvF32* plan = plan_for(context, node, v, &own, &finish, y)
    v.run(plan, x, context.scratch(v.scratch), y)


cdef inline void run_range_f32(
    Context context, const Node* node, const GemmF32* v, const float* x, float* y, int64_t first, int64_t end, int worker,
) noexcept nogil:
    cdef ConvF32 own
    cdef EpilogueF32 finish
    cdef const ConvF32* plan = plan_for(context, node, v, &own, &finish, y)
    run_range_conv_f32(v.run, plan, x, context.worker_scratch(v.scratch, v.plan.scratch_bytes, worker), y, first, end)


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


cdef inline int parallelize_depthwise_f32(Context context, Node* node, const PackedDepthwiseF32* v, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_ranges(ranges_of_depthwise_f32(&v.plan)), depthwise_f32_time(&v.plan))


cdef inline void range_depthwise_f32(
    Context context, const PackedDepthwiseF32* v, const float* x, float* y, int64_t first, int64_t end, int worker,
) noexcept nogil:
    run_range_depthwise_f32(v.run, &v.plan, x, context.worker_scratch(v.scratch, v.plan.scratch_bytes, worker), y, first, end)
