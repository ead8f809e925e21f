"""How the float32 operators with weights use the vector kernels outside of XNNPACK's arithmetic: plan, memory, pack, in prepare.

    if ready_conv_f32_unfused(context, node, &fast, bias, column_stride, k_stride): # the caller has filled in the first part of fast.plan
        ...
    if run_conv_f32_unfused(context, node, &fast, x, y):                            # the definition must say which NaN an output is
        ...

and the same of depthwise convolutions.

Weights are packed at the first invoke, as TensorFlow's are. Without panels those of windows themselves say whether the kernel serves:
`pack_conv_f32_unfused` does, before the first `run_conv_f32_unfused`.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.graph.context cimport Context, Node
from tflm_cy.simd.depthwise_f32_unfused cimport DepthwiseF32Unfused
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused
from tflm_cy.simd.table cimport kernels

ctypedef bint (*RunConvF32Unfused)(const ConvF32Unfused* c, const float* x, void* scratch, float* y) noexcept nogil

ctypedef bint (*PackConvF32Unfused)(
    ConvF32Unfused* c, const float* w, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride) noexcept nogil

ctypedef void (*PackDepthwiseF32Unfused)(DepthwiseF32Unfused* d, const float* w, const float* bias) noexcept nogil

ctypedef bint (*RunDepthwiseF32Unfused)(const DepthwiseF32Unfused* d, const float* x, float* y) noexcept nogil

cdef struct FastConvF32Unfused:
    RunConvF32Unfused run
    PackConvF32Unfused pack
    int scratch
    ConvF32Unfused plan
    bint waits                   # to be packed
    const float* bias
    ptrdiff_t column_stride
    ptrdiff_t k_stride

cdef struct FastDepthwiseF32Unfused:
    RunDepthwiseF32Unfused run
    PackDepthwiseF32Unfused pack
    DepthwiseF32Unfused plan
    bint waits                   # to be packed
    const float* bias


cdef inline const float* filter_of(Context context, const Node* node) noexcept nogil:
    """A constant filter, also one that was given back."""
    return <const float*>context.acquire(context.input(node, 1))


cdef inline bint ready_conv_f32_unfused(
    Context context, const Node* node, FastConvF32Unfused* v, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride, ptrdiff_t least=0,
) except -1:
    """The packed weights have `least` bytes, which the scalar definition may have instead."""
    if bias == NULL or context.input(node, 1).data == NULL or kernels().conv_f32_unfused.plan == NULL or not kernels().conv_f32_unfused.plan(&v.plan):
        return False
    v.plan.packed = <float*>context.unfilled(max(v.plan.packed_bytes, least))
    v.waits = True
    v.bias = bias
    v.column_stride = column_stride
    v.k_stride = k_stride
    v.pack = kernels().conv_f32_unfused.pack
    v.scratch = context.request_scratch(v.plan.scratch_bytes)
    v.run = kernels().conv_f32_unfused.run
    return True


cdef inline bint pack_conv_f32_unfused(Context context, const Node* node, FastConvF32Unfused* v) noexcept nogil:
    """False where the scalar definition must serve."""
    cdef bint served = v.pack(&v.plan, filter_of(context, node), v.bias, v.column_stride, v.k_stride)
    v.waits = False
    if served:
        context.evict(context.input(node, 1))
    return served


cdef inline bint run_conv_f32_unfused(Context context, const Node* node, FastConvF32Unfused* v, const float* x, float* y) noexcept nogil:
    if v.waits:
        pack_conv_f32_unfused(context, node, v)
    return v.run(&v.plan, x, context.scratch(v.scratch), y)


cdef inline bint ready_depthwise_f32_unfused(Context context, const Node* node, FastDepthwiseF32Unfused* v, const float* bias) except -1:
    if (bias == NULL or context.input(node, 1).data == NULL or kernels().depthwise_f32_unfused.plan == NULL
            or not kernels().depthwise_f32_unfused.plan(&v.plan, bias)):
        return False
    v.plan.packed = <float*>context.unfilled(v.plan.packed_bytes)
    v.waits = True
    v.bias = bias
    v.pack = kernels().depthwise_f32_unfused.pack
    v.run = kernels().depthwise_f32_unfused.run
    return True


cdef inline bint run_depthwise_f32_unfused(
    Context context, const Node* node, FastDepthwiseF32Unfused* v, const float* x, float* y,
) noexcept nogil:
    if v.waits:
        v.pack(&v.plan, filter_of(context, node), v.bias)
        v.waits = False
        context.evict(context.input(node, 1))
    return v.run(&v.plan, x, y)
