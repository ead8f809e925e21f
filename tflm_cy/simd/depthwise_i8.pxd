"""DEPTHWISE_CONV_2D of bytes in XNNPACK's arithmetic.

    DepthwiseI8 d                                # fill in the first part; zeros elsewhere
    if table.depthwise_i8.plan(&d):               # else: the scalar definition
        d.packed = context.unfilled(d.packed_bytes)
        d.outside = context.same_bytes(d.x_zero_point & 255, d.outside_bytes)
        d.scratch = context.request_scratch(d.scratch_bytes)
        d.pack(&d)                              # w: [kh, kw, oc]
    d.run(&d, x, context.scratch(d.scratch), y)         # the bytes of depthwise_8
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, uint8_t

from tflm_cy.arithmetic.multipliers cimport Requantize
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.simd.requantize_fixed cimport RequantizeRow

cdef struct DepthwiseI8:
    ConvShape shape
    bint is_signed               # x, w and y are int8, else uint8
    int32_t x_zero_point
    int32_t w_zero_point         # uint8
    const uint8_t* w             # what `pack` will get
    Requantize out
    RequantizeRow finish               # not NULL: makes y of the sums, and `out` has only the bias
    const void* params
    ptrdiff_t y_size             # bytes of what it makes
    const uint8_t* outside       # a row of zero points, given after `plan`
    # the plan
    void (*pack)(DepthwiseI8* d) noexcept nogil
    void (*run)(const DepthwiseI8* d, const void* x, void* scratch, void* y) noexcept nogil
    ptrdiff_t packed_bytes
    ptrdiff_t scratch_bytes
    ptrdiff_t outside_bytes      # of `outside`
    ptrdiff_t sums_at            # finish: where in the scratch memory the sums of a pass are
    ptrdiff_t channels           # of a pixel in the planes: those of the output, perhaps rounded up
    bint single                  # one output pixel, which needs no planes
    bint slabs                   # channels are worked on VB, VB / 2 or VB / 4 at a time, the last perhaps some again; else all
    ptrdiff_t quads              # planes: of four rows each
    ptrdiff_t rows               # output rows of a pass, which share rows of x
    ptrdiff_t apart              # from the first to the second
    ptrdiff_t shift              # taps by which the second's filter lies lower
    ptrdiff_t chunk              # output pixels of a plane
    ptrdiff_t width              # input pixels of a plane
    ptrdiff_t plane_bytes
    ptrdiff_t groups             # vectors of VB values in a chunk
    ptrdiff_t period             # of the weights, in such vectors
    ptrdiff_t upright            # taps of a filter over images of one pixel per row, which `shape` describes as rows of four shifted copies; or 0
    ptrdiff_t image_rows         # upright: rows of x
    ptrdiff_t pad_rows           # upright: rows of padding before them
    bint widened                 # pixels of x are copied to lines with `channels` channels
    bint narrowed                # pixels of the output are copied from lines with `channels` channels
    bint magic_bias                  # sums begin at 2^23 (requantize8.h)
    ptrdiff_t most_extra         # vectors of taps for what uint8 weights less their zero point leave the range of int8 by
    # what `pack` finds in it
    const int32_t* sources       # per quarter of a group: its first byte in a plane
    const int32_t* bias
    const float* scales
    const int8_t* taps
    const int32_t* extra         # per block of weights five: the first extra taps of each quarter, and behind the last
    const int32_t* extra_at      # see depthwise_i8.h
    const int8_t* extra_taps
    # the caller's
    uint8_t* packed
    int scratch                  # its handle

cdef struct DepthwiseI8Kernels:
    bint (*plan)(DepthwiseI8* d) noexcept nogil
