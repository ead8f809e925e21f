"""What the kernels with packed weights have in common: a plan, memory for the weights and for each worker, and ranges that threads share.

    op.fast.shape = ...                                 # ConvI8, ConvF32, DepthwiseI8, DepthwiseF32: the first part of it
    if plan_packed(&op.fast):                           # else: the scalar definition
        reserve_packed(context, &op.fast)               # or find_packed (packings.pxd), which may find them packed
        request_workers(context, &op.fast)
        op.fast.pack(&op.fast, ...)                     # in prepare, or at the first invoke
        parallelize_packed(context, node, &op.fast, compute_range)

    run_packed(context, &op.fast, x, y)                 # invoke
    run_packed_range(context, &op.fast, x, y, first, end, worker)

gemm_i8.pxd, gemm_f32.pxd, conv_f32_unfused.pxd and requantize_fixed.pxd have these steps in one function for each kind.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport Context, IterationSpace, Node, RowWindow, WorkFunction, iteration_space, row_window
from tflm_cy.simd.conv_f32 cimport ConvF32
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.depthwise_f32 cimport DepthwiseF32
from tflm_cy.simd.depthwise_f32_unfused cimport DepthwiseF32Unfused
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8
from tflm_cy.simd.ranges cimport Divisible, Ranges, ranges_of, run_range, time_of
from tflm_cy.simd.table cimport kernels

ctypedef fused Packed:
    ConvI8
    ConvF32
    ConvF32Unfused
    DepthwiseI8
    DepthwiseF32
    DepthwiseF32Unfused


cdef inline bint plan_packed(Packed* k) except -1:
    """False where the scalar definition must serve."""
    if Packed is ConvI8:
        return kernels().conv_i8.plan != NULL and kernels().conv_i8.plan(k)
    elif Packed is ConvF32:
        return kernels().conv_f32.plan != NULL and kernels().conv_f32.plan(k)
    elif Packed is ConvF32Unfused:
        return kernels().conv_f32_unfused.plan != NULL and kernels().conv_f32_unfused.plan(k)
    elif Packed is DepthwiseI8:
        return kernels().depthwise_i8.plan != NULL and kernels().depthwise_i8.plan(k)
    elif Packed is DepthwiseF32:
        return kernels().depthwise_f32.plan != NULL and kernels().depthwise_f32.plan(k)
    else:
        return kernels().depthwise_f32_unfused.plan != NULL and kernels().depthwise_f32_unfused.plan(k)


cdef inline int reserve_packed(Context context, Packed* k, ptrdiff_t least=0) except -1:
    """Memory for the packed weights, of `least` bytes or more."""
    if Packed is ConvI8 or Packed is DepthwiseI8:
        k.packed = <unsigned char*>context.unfilled(max(k.packed_bytes, least))
    else:
        k.packed = <float*>context.unfilled(max(k.packed_bytes, least))
    return 0


cdef inline int request_workers(Context context, Divisible* k) except -1:
    """Scratch memory for each worker."""
    k.scratch = context.request_scratch(context.for_all_workers(k.scratch_bytes))
    return 0


cdef inline void run_packed(Context context, const Divisible* k, const void* x, void* y) noexcept nogil:
    if Divisible is ConvF32:
        k.run(k, <const float*>x, context.scratch(k.scratch), <float*>y)
    else:
        k.run(k, x, context.scratch(k.scratch), y)


cdef inline void run_packed_range(Context context, const Divisible* k, const void* x, void* y, int64_t first, int64_t end, int worker) noexcept nogil:
    run_range(k, x, context.worker_scratch(k.scratch, k.scratch_bytes, worker), y, first, end)


cdef inline int parallelize_packed(Context context, Node* node, const Divisible* k, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_ranges(ranges_of(k)), time_of(k))


cdef inline RowWindow window_of(const ConvShape* g) noexcept nogil:
    return row_window(g.batches, g.ow, g.iw, g.ih, g.stride_h, g.pad_h, (g.kh - 1) * g.dilation_h + 1)


cdef inline IterationSpace space_of_ranges(Ranges ranges) noexcept nogil:
    """As the engine wants it: of input 0 alone."""
    cdef IterationSpace space = iteration_space(ranges.units, ranges.granularity)
    space.min_chunk = ranges.min_chunk
    space.per_position = ranges.per_position
    space.elementwise_inputs = ranges.pointwise
    if ranges.window != NULL:
        space.window = window_of(ranges.window)
    return space
