"""How the float32 operators with weights use the vector kernels outside of XNNPACK's arithmetic: plan and memory in prepare, the rest in invoke.

    if ready_unfused(context, node, &op.fast):            # the caller has filled in the first part: a ConvF32Unfused or DepthwiseF32Unfused
        ...
    if run_unfused(context, node, &op.fast, x, y):        # the definition must say which NaN an output is
        ...

Weights are packed at the first invoke, as TensorFlow's are. Without panels those of windows themselves say whether the kernel serves:
`pack_unfused` does, before the first `run_unfused`.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.graph.context cimport Context, Node, Packing
from tflm_cy.ops.kernels.packed cimport plan_packed
from tflm_cy.ops.kernels.packings cimport find_packed, note_packed
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused
from tflm_cy.simd.depthwise_f32_unfused cimport DepthwiseF32Unfused

ctypedef fused Unfused:
    ConvF32Unfused
    DepthwiseF32Unfused


cdef inline const float* filter_of(Context context, const Node* node) noexcept nogil:
    """A constant filter, also one that was given back."""
    return <const float*>context.acquire(context.input(node, 1))


cdef inline bint ready_unfused(Context context, const Node* node, Unfused* k, ptrdiff_t least=0) except -1:
    """The packed weights have `least` bytes, which the scalar definition may have instead."""
    if k.bias == NULL or context.input(node, 1).data == NULL or not plan_packed(k):
        return False
    k.packing = find_packed(context, k, least)
    if Unfused is ConvF32Unfused:
        k.scratch = context.request_scratch(k.scratch_bytes)
    k.waits = True
    return True


cdef inline bint pack_unfused(Context context, const Node* node, Unfused* k) noexcept nogil:
    """False where the scalar definition must serve."""
    cdef Packing* packing = <Packing*>k.packing
    cdef bint served = packing.filled or k.pack(k, filter_of(context, node))
    k.waits = False
    if served:
        note_packed(k, packing)
        context.evict(context.input(node, 1))
    return served


cdef inline bint run_unfused(Context context, const Node* node, Unfused* k, const float* x, float* y) noexcept nogil:
    if k.waits:
        pack_unfused(context, node, k)
    if Unfused is ConvF32Unfused:
        return k.run(k, x, context.scratch(k.scratch), y)
    else:
        return k.run(k, x, y)
