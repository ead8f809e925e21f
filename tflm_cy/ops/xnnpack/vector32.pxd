"""How the float32 operators with weights use the vector kernels: plan, memory, pack, in prepare.

    if ready_product32(context, &fast, w, bias, column_stride, k_stride):    # else: the scalar definition
        ...
        divide32(context, node, &fast, compute_range)
    fast.run(&fast.plan, x, context.scratch(fast.scratch), y)

    range32(context, &fast, x, y, first, end, hand)         # in the function for a range of the node
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport Context, Node, WorkFunction
from tflm_cy.ops.xnnpack.vector8 cimport extent_of_cut
from tflm_cy.simd.bands cimport (
    cut_depthwise32, cut_product32, depthwise32_time, product32_time, run_range_depthwise32, run_range_product32,
)
from tflm_cy.simd.depthwise32 cimport Depthwise32
from tflm_cy.simd.product32 cimport Product32
from tflm_cy.simd.table cimport kernels

ctypedef void (*RunProduct32)(const Product32* c, const float* x, void* scratch, float* y) noexcept nogil

ctypedef void (*RunDepthwise32)(const Depthwise32* d, const float* x, void* scratch, float* y) noexcept nogil

cdef struct Vector32:
    RunProduct32 run
    int scratch
    Product32 plan

cdef struct VectorDepthwise32:
    RunDepthwise32 run
    int scratch
    Depthwise32 plan


cdef inline bint ready_product32(
    Context context, Vector32* v, const float* w, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride,
) except -1:
    """True when v.run serves; the caller has filled in the first part of v.plan."""
    v.plan.hands = context.hands
    if kernels().product32.plan == NULL or not kernels().product32.plan(&v.plan):
        return False
    v.plan.packed = <float*>context.unfilled(v.plan.packed_bytes)
    v.scratch = context.request_scratch(context.all_hands(v.plan.scratch_bytes))
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
    v.scratch = context.request_scratch(context.all_hands(v.plan.scratch_bytes))
    kernels().depthwise32.pack(&v.plan, w, bias, tap_stride, channel_stride)
    v.run = kernels().depthwise32.run
    return True


cdef inline int divide32(Context context, Node* node, const Vector32* v, WorkFunction work) except -1:
    return context.divide(node, work, extent_of_cut(cut_product32(&v.plan)), product32_time(&v.plan))


cdef inline void range32(Context context, const Vector32* v, const float* x, float* y, int64_t first, int64_t end, int hand) noexcept nogil:
    run_range_product32(v.run, &v.plan, x, context.hand_scratch(v.scratch, v.plan.scratch_bytes, hand), y, first, end)


cdef inline int divide_depthwise32(Context context, Node* node, const VectorDepthwise32* v, WorkFunction work) except -1:
    return context.divide(node, work, extent_of_cut(cut_depthwise32(&v.plan)), depthwise32_time(&v.plan))


cdef inline void range_depthwise32(
    Context context, const VectorDepthwise32* v, const float* x, float* y, int64_t first, int64_t end, int hand,
) noexcept nogil:
    run_range_depthwise32(v.run, &v.plan, x, context.hand_scratch(v.scratch, v.plan.scratch_bytes, hand), y, first, end)
