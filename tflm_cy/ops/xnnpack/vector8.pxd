"""How the operators with weights use the vector kernels for bytes: plan, memory, pack, in prepare.

    if ready_conv8(context, &fast, x, w, row):              # else: the scalar definition
        parallelize8(context, node, &fast, compute_range)
    fast.plan.run(&fast.plan, x, context.scratch(fast.scratch), y)

    if plan_conv8(context, &fast, x, w, row):               # the same in two steps: memory in prepare,
        pack_conv8(&fast)                                   # weights when they are wanted

    range8(context, &fast, x, y, first, end, worker)          # in the function for a range of the node
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t
from libc.string cimport memset

from tflm_cy.graph.context cimport Context, IterationSpace, Node, WorkFunction, iteration_space
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.simd.bands cimport (
    Cut, conv8_time, cut_conv8, cut_depthwise8, depthwise8_time, run_range_conv8, run_range_depthwise8,
)
from tflm_cy.simd.conv8 cimport Conv8
from tflm_cy.simd.depthwise8 cimport Depthwise8
from tflm_cy.simd.table cimport kernels


ctypedef void (*RunDepthwise8)(const Depthwise8* d, const void* x, void* scratch, void* y) noexcept nogil

ctypedef void (*PackDepthwise8)(Depthwise8* d) noexcept nogil

cdef struct Vector8:
    int scratch
    Conv8 plan

cdef struct VectorDepthwise8:
    RunDepthwise8 run
    PackDepthwise8 pack
    int scratch
    Depthwise8 plan


cdef inline bint plan_conv8(Context context, Vector8* v, const Tensor* x, const void* w, ptrdiff_t row) except -1:
    """True when v.plan.run will serve; the caller has filled in the first part of v.plan."""
    cdef Conv8* c = &v.plan
    c.slack = context.aligned_slack and not is_constant(x)
    c.w, c.w_row = w, row
    if kernels().conv8.plan == NULL or not kernels().conv8.plan(c):
        return False
    c.packed = <unsigned char*>context.unfilled(c.packed_bytes)
    v.scratch = context.request_scratch(context.for_all_workers(c.scratch_bytes))
    return True


cdef inline void pack_conv8(Vector8* v) noexcept nogil:
    memset(v.plan.packed, 0, v.plan.packed_bytes - v.plan.spare_bytes)
    v.plan.pack(&v.plan, v.plan.w, v.plan.w_row)


cdef inline bint ready_conv8(Context context, Vector8* v, const Tensor* x, const void* w, ptrdiff_t row) except -1:
    if not plan_conv8(context, v, x, w, row):
        return False
    pack_conv8(v)
    return True


cdef inline bint plan_depthwise8(Context context, VectorDepthwise8* v) except -1:
    """As plan_conv8."""
    cdef Depthwise8* d = &v.plan
    if kernels().depthwise8.plan == NULL or not kernels().depthwise8.plan(d):
        return False
    d.packed = <unsigned char*>context.unfilled(d.packed_bytes)
    d.outside = context.same_bytes(<unsigned char>(d.x_zero_point & 255), d.outside_bytes)
    v.scratch = context.request_scratch(context.for_all_workers(d.scratch_bytes))
    v.run = kernels().depthwise8.run
    v.pack = kernels().depthwise8.pack
    return True


cdef inline void pack_depthwise8(VectorDepthwise8* v) noexcept nogil:
    memset(v.plan.packed, 0, v.plan.packed_bytes)
    v.pack(&v.plan)


cdef inline bint ready_depthwise8(Context context, VectorDepthwise8* v) except -1:
    if not plan_depthwise8(context, v):
        return False
    pack_depthwise8(v)
    return True


cdef inline IterationSpace space_of_cut(Cut cut) noexcept nogil:
    """As the engine wants it: of input 0 alone."""
    cdef IterationSpace space = iteration_space(cut.units, cut.granularity)
    space.min_chunk = cut.min_chunk
    space.per_position = cut.per_position
    space.elementwise_inputs = cut.pointwise
    if cut.window != NULL:
        space.window.row = cut.window.ow
        space.window.input_row = cut.window.iw
        space.window.input_rows = cut.window.ih
        space.window.stride = cut.window.stride_h
        space.window.before = cut.window.pad_h
        space.window.reach = (cut.window.kh - 1) * cut.window.dilation_h + 1 - cut.window.pad_h
    return space


cdef inline int parallelize8(Context context, Node* node, const Vector8* v, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_cut(cut_conv8(&v.plan)), conv8_time(&v.plan))


cdef inline void range8(Context context, const Vector8* v, const void* x, void* y, int64_t first, int64_t end, int worker) noexcept nogil:
    run_range_conv8(&v.plan, x, context.worker_scratch(v.scratch, v.plan.scratch_bytes, worker), y, first, end)


cdef inline int parallelize_depthwise8(Context context, Node* node, const VectorDepthwise8* v, WorkFunction work) except -1:
    return context.parallelize(node, work, space_of_cut(cut_depthwise8(&v.plan)), depthwise8_time(&v.plan))


cdef inline void range_depthwise8(
    Context context, const VectorDepthwise8* v, const void* x, void* y, int64_t first, int64_t end, int worker,
) noexcept nogil:
    run_range_depthwise8(v.run, &v.plan, x, context.worker_scratch(v.scratch, v.plan.scratch_bytes, worker), y, first, end)
