"""How the operators with weights use the vector kernels for bytes: plan, memory, pack, in prepare.

    if ready_conv_i8(context, &fast, x, w, row):              # else: the scalar definition
        parallelize_i8(context, node, &fast, compute_range)
    fast.plan.run(&fast.plan, x, context.scratch(fast.scratch), y)

    if plan_conv_i8(context, &fast, x, w, row):               # the same in two steps: memory in prepare,
        pack_conv_i8(&fast)                                   # weights when they are wanted

    run_range_i8(context, &fast, x, y, first, end, worker)          # in the function for a range of the node
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t
from libc.string cimport memset

from tflm_cy.graph.context cimport Context, IterationSpace, Node, WorkFunction, iteration_space
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.simd.ranges cimport (
    Ranges, conv_i8_time, ranges_of_conv_i8, ranges_of_depthwise_i8, depthwise_i8_time, run_range_conv_i8, run_range_depthwise_i8,
)
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8
from tflm_cy.simd.table cimport kernels


ctypedef void (*RunDepthwiseI8)(const DepthwiseI8* d, const void* x, void* scratch, void* y) noexcept nogil

ctypedef void (*PackDepthwiseI8)(DepthwiseI8* d) noexcept nogil

cdef struct GemmI8:
    int scratch
    ConvI8 plan

cdef struct PackedDepthwiseI8:
    RunDepthwiseI8 run
    PackDepthwiseI8 pack
    int scratch
    DepthwiseI8 plan


cdef inline bint plan_conv_i8(Context context, GemmI8* v, const Tensor* x, const void* w, ptrdiff_t row) except -1:
    """True when v.plan.run will serve; the caller has filled in the first part of v.plan."""
    cdef ConvI8* c = &v.plan
    c.slack = context.aligned_slack and not is_constant(x)
    c.w, c.w_row = w, row
    if kernels().conv_i8.plan == NULL or not kernels().conv_i8.plan(c):
        return False
    c.packed = <unsigned char*>context.unfilled(c.packed_bytes)
    v.scratch = context.request_scratch(context.for_all_workers(c.scratch_bytes))
    return True


cdef inline void pack_conv_i8(GemmI8* v) noexcept nogil:
    memset(v.plan.packed, 0, v.plan.packed_bytes - v.plan.spare_bytes)
    v.plan.pack(&v.plan, v.plan.w, v.plan.w_row)


cdef inline bint ready_conv_i8(Context context, GemmI8* v, const Tensor* x, const void* w, ptrdiff_t row) except -1:
    if not plan_conv_i8(context, v, x, w, row):
        return False
    pack_conv_i8(v)
    return True


cdef inline bint plan_depthwise_i8(Context context, PackedDepthwiseI8* v) except -1:
    """As plan_conv_i8."""
    cdef DepthwiseI8* d = &v.plan
    if kernels().depthwise_i8.plan == NULL or not kernels().depthwise_i8.plan(d):
        return False
    d.packed = <unsigned char*>context.unfilled(d.packed_bytes)
    d.outside = context.same_bytes(<unsigned char>(d.x_zero_point & 255), d.outside_bytes)
    v.scratch = context.request_scratch(context.for_all_workers(d.scratch_bytes))
    v.run = kernels().depthwise_i8.run
    v.pack = kernels().depthwise_i8.pack
    return True


cdef inline void pack_depthwise_i8(PackedDepthwiseI8* v) noexcept nogil:
    memset(v.plan.packed, 0, v.plan.packed_bytes)
    v.pack(&v.plan)


cdef inline bint ready_depthwise_i8(Context context, PackedDepthwiseI8* v) except -1:
    if not plan_depthwise_i8(context, v):
        return False
    pack_depthwise_i8(v)
    return True


cdef inline IterationSpace space_of_ranges(Ranges ranges) noexcept nogil:
    """As the engine wants it: of input 0 alone."""
    cdef IterationSpace space = iteration_space(ranges.units, ranges.granularity)
    space.min_chunk = ranges.min_chunk
    space.per_position = ranges.per_position
    space.elementwise_inputs = ranges.pointwise
    if ranges.window != NULL:
        space.window.row = ranges.window.ow
        space.window.input_row = ranges.window.iw
        space.window.input_rows = ranges.window.ih
        space.window.stride = ranges.window.stride_h
        space.window.before = ranges.window.pad_h
        space.window.reach = (ranges.window.kh - 1) * ranges.window.dilation_h + 1 - ranges.window.pad_h
    return space


cdef inline int parallelize_i8(Context context, Node* node, const GemmI8* v, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_ranges(ranges_of_conv_i8(&v.plan)), conv_i8_time(&v.plan))


cdef inline void run_range_i8(Context context, const GemmI8* v, const void* x, void* y, int64_t first, int64_t end, int worker) noexcept nogil:
    run_range_conv_i8(&v.plan, x, context.worker_scratch(v.scratch, v.plan.scratch_bytes, worker), y, first, end)


cdef inline int parallelize_depthwise_i8(Context context, Node* node, const PackedDepthwiseI8* v, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_ranges(ranges_of_depthwise_i8(&v.plan)), depthwise_i8_time(&v.plan))


cdef inline void range_depthwise_i8(
    Context context, const PackedDepthwiseI8* v, const void* x, void* y, int64_t first, int64_t end, int worker,
) noexcept nogil:
    run_range_depthwise_i8(v.run, &v.plan, x, context.worker_scratch(v.scratch, v.plan.scratch_bytes, worker), y, first, end)
