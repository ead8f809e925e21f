"""DEPTHWISE_CONV_2D in float32 in XNNPACK's arithmetic: filters of 3x3 and 5x5 taps with strides 1 and 2, one per channel.

    DepthwiseF32 d                               # fill in the first part; zeros elsewhere
    if table.depthwise_f32.plan(&d):              # else: the scalar definition
        d.packed = context.unfilled(d.packed_bytes)
        d.scratch = context.request_scratch(d.scratch_bytes)
        d.pack(&d, w, bias, tap_stride, channel_stride)    # as arithmetic/xnnpack/depthwise.pxd's pack_taps
    d.run(&d, x, context.scratch(d.scratch), y)    # the bytes of depthwise_f32
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.shapes cimport ConvShape


cdef struct DepthwiseF32:
    ConvShape shape
    float low
    float high
    # the plan
    void (*pack)(DepthwiseF32* d, const float* w, const float* bias, ptrdiff_t tap_stride, ptrdiff_t channel_stride) noexcept nogil
    void (*run)(const DepthwiseF32* d, const void* x, void* scratch, void* y) noexcept nogil
    ptrdiff_t packed_bytes
    ptrdiff_t scratch_bytes
    ptrdiff_t rows               # output rows of a pass
    ptrdiff_t line               # floats from a copied row to the next; 0: rows are read where they are
    ptrdiff_t chunk              # output columns that all channels have before the next ones begin
    # the caller's
    float* packed
    int scratch                  # its handle

cdef struct DepthwiseF32Kernels:
    bint (*plan)(DepthwiseF32* d) noexcept nogil
    # of any filter: arithmetic/xnnpack/depthwise.pxd's DepthwisePixels; NULL where the definition has vectors as long
    void (*pixels)(
        const float** at, ptrdiff_t step, ptrdiff_t pixels, ptrdiff_t tile, const float* w, const float* bias, ptrdiff_t channels, float low,
        float high, float* y,
    ) noexcept nogil
