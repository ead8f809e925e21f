"""DEPTHWISE_CONV_2D in float32 outside of XNNPACK's arithmetic: products and sums that round on their own, one filter per channel.

    DepthwiseF32Unfused d                        # fill in the first part; zeros elsewhere
    if table.depthwise_f32_unfused.plan(&d):      # else: the scalar definition
        d.packed = context.unfilled(d.packed_bytes)
        d.pack(&d, w)                            # w: [kh, kw, channels]
    if d.run(&d, x, y):                          # some sum is NaN: the definition must serve
        ...

The definition is arithmetic/depthwise.pxd's depthwise_f32: taps outside of the image are left out.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.shapes cimport ConvShape


cdef struct DepthwiseF32Unfused:
    ConvShape shape
    float low
    float high
    bint bias_first              # sums start with the bias, else it is added at the end
    const float* bias
    # the plan
    bint (*pack)(DepthwiseF32Unfused* d, const float* w) noexcept nogil
    bint (*run)(const DepthwiseF32Unfused* d, const float* x, float* y) noexcept nogil
    ptrdiff_t packed_bytes
    # the caller's
    float* packed
    bint waits                   # to be packed
    void* packing                # where they are noted

cdef struct DepthwiseF32UnfusedKernels:
    bint (*plan)(DepthwiseF32Unfused* d) noexcept nogil
