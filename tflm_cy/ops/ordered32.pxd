"""How the float32 operators with weights use the vector kernels outside of XNNPACK's arithmetic: plan, memory, pack, in prepare.

    if ready_ordered32(context, node, &fast, bias, column_stride, k_stride): # the caller has filled in the first part of fast.plan
        ...
    if run_ordered32(context, node, &fast, x, y):                            # the definition must say which NaN an output is
        ...

and the same of depthwise convolutions.

Weights are packed at the first invoke, as TensorFlow's are. Without panels those of windows themselves say whether the kernel serves:
`pack_ordered32` does, before the first `run_ordered32`.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.graph.context cimport Context, Node
from tflm_cy.simd.depthwise_ordered32 cimport DepthwiseOrdered32
from tflm_cy.simd.ordered32 cimport Ordered32
from tflm_cy.simd.table cimport kernels

ctypedef bint (*RunOrdered32)(const Ordered32* c, const float* x, void* scratch, float* y) noexcept nogil

ctypedef bint (*PackOrdered32)(
    Ordered32* c, const float* w, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride) noexcept nogil

ctypedef void (*PackDepthwiseOrdered32)(DepthwiseOrdered32* d, const float* w, const float* bias) noexcept nogil

ctypedef bint (*RunDepthwiseOrdered32)(const DepthwiseOrdered32* d, const float* x, float* y) noexcept nogil

cdef struct FastOrdered32:
    RunOrdered32 run
    PackOrdered32 pack
    int scratch
    Ordered32 plan
    bint waits                   # to be packed
    const float* bias
    ptrdiff_t column_stride
    ptrdiff_t k_stride

cdef struct FastDepthwiseOrdered32:
    RunDepthwiseOrdered32 run
    PackDepthwiseOrdered32 pack
    DepthwiseOrdered32 plan
    bint waits                   # to be packed
    const float* bias


cdef inline const float* filter_of(Context context, const Node* node) noexcept nogil:
    """A constant filter, also one that was given back."""
    return <const float*>context.acquire(context.input(node, 1))


cdef inline bint ready_ordered32(
    Context context, const Node* node, FastOrdered32* v, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride, ptrdiff_t least=0,
) except -1:
    """The packed weights have `least` bytes, which the scalar definition may have instead."""
    if bias == NULL or context.input(node, 1).data == NULL or kernels().ordered32.plan == NULL or not kernels().ordered32.plan(&v.plan):
        return False
    v.plan.packed = <float*>context.unfilled(max(v.plan.packed_bytes, least))
    v.waits = True
    v.bias = bias
    v.column_stride = column_stride
    v.k_stride = k_stride
    v.pack = kernels().ordered32.pack
    v.scratch = context.request_scratch(v.plan.scratch_bytes)
    v.run = kernels().ordered32.run
    return True


cdef inline bint pack_ordered32(Context context, const Node* node, FastOrdered32* v) noexcept nogil:
    """False where the scalar definition must serve."""
    cdef bint served = v.pack(&v.plan, filter_of(context, node), v.bias, v.column_stride, v.k_stride)
    v.waits = False
    if served:
        context.evict(context.input(node, 1))
    return served


cdef inline bint run_ordered32(Context context, const Node* node, FastOrdered32* v, const float* x, float* y) noexcept nogil:
    if v.waits:
        pack_ordered32(context, node, v)
    return v.run(&v.plan, x, context.scratch(v.scratch), y)


cdef inline bint ready_depthwise_ordered32(Context context, const Node* node, FastDepthwiseOrdered32* v, const float* bias) except -1:
    if (bias == NULL or context.input(node, 1).data == NULL or kernels().depthwise_ordered32.plan == NULL
            or not kernels().depthwise_ordered32.plan(&v.plan, bias)):
        return False
    v.plan.packed = <float*>context.unfilled(v.plan.packed_bytes)
    v.waits = True
    v.bias = bias
    v.pack = kernels().depthwise_ordered32.pack
    v.run = kernels().depthwise_ordered32.run
    return True


cdef inline bint run_depthwise_ordered32(
    Context context, const Node* node, FastDepthwiseOrdered32* v, const float* x, float* y,
) noexcept nogil:
    if v.waits:
        v.pack(&v.plan, filter_of(context, node), v.bias)
        v.waits = False
        context.evict(context.input(node, 1))
    return v.run(&v.plan, x, y)
