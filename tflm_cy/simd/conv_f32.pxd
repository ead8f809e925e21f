"""float32 products and convolutions in XNNPACK's arithmetic: CONV_2D, FULLY_CONNECTED, depthwise filters with a multiplier.

    ConvF32 c                                 # fill in the first part; zeros elsewhere
    if table.conv_f32.plan(&c):                # else: the scalar definition
        c.packed = context.unfilled(c.packed_bytes)
        c.scratch = context.request_scratch(c.scratch_bytes)
        c.pack(&c, w, bias, column_stride, k_stride)     # as arithmetic/xnnpack/product.pxd's pack_filters
    c.run(&c, x, context.scratch(c.scratch), y)  # the bytes of conv_f32, matrix_f32

A matrix product is a filter of 1x1 over `batches` images of one pixel. No NULL entry but on instruction sets without fused multiply-adds.

`finish` is what other nodes do to the outputs, value by value, before they are written: the bytes of add_f32, then of a leaky or PRELU's bend.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.shapes cimport ConvShape


cdef struct EpilogueF32:
    int adds                     # values, zeros behind a position's last one, to the clamped outputs; then a clamp to low .. high
    int second                   # the outputs are the second operand, which shows in NaN
    ptrdiff_t added_row          # floats of a position
    ptrdiff_t y_row              # of the output
    const float* added           # of the position at y
    const float* y
    float low
    float high
    int bends                    # values below zero are multiplied by `slope`, or by their column's; clamped to last_low .. last_high
    int by_sign                  # those whose sign bit is set, also -0 and NaN
    float slope
    const float* slopes          # NULL: all columns have one
    float last_low
    float last_high

cdef struct ConvF32:
    ConvShape shape
    float low
    float high
    ptrdiff_t period             # columns that share a bias with the columns this far behind; 0: all have their own
    ptrdiff_t period_stride      # from the weights of a period to the next
    int order                    # of the terms: arithmetic/xnnpack/product_order.Order
    ptrdiff_t workers              # threads that may share the columns of a single position
    const EpilogueF32* finish       # NULL: nothing; not for several groups, nor for more than one chain
    ptrdiff_t first_column       # of those that `finish` has slopes for
    # the plan
    void (*pack)(ConvF32* c, const float* w, const float* bias, ptrdiff_t column_stride, ptrdiff_t k_stride) noexcept nogil
    void (*run)(const ConvF32* c, const float* x, void* scratch, float* y) noexcept nogil
    ptrdiff_t packed_bytes
    ptrdiff_t scratch_bytes
    bint flat                    # positions lie one after the other in x
    bint direct                  # windows are read where they are; else rows are copied with the padding around them
    ptrdiff_t gathered           # output rows whose windows are copied at a time; 0: none are
    ptrdiff_t panels             # of a group
    ptrdiff_t vectors            # of all its panels
    ptrdiff_t packed_columns     # their columns
    ptrdiff_t stretches          # of a window that lie together in memory
    ptrdiff_t length             # their floats
    ptrdiff_t left               # positions of an output row whose windows begin in front of the image, or end behind it, if they are computed apart
    ptrdiff_t right
    ptrdiff_t lines              # rows of a window, dilation included
    ptrdiff_t width              # pixels of a row with padding
    ptrdiff_t y_row              # floats from a position's outputs to the next
    # the caller's
    float* packed
    int scratch                  # its handle

cdef struct ConvF32Kernels:
    bint (*plan)(ConvF32* c) noexcept nogil
