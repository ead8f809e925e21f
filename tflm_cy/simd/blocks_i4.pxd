"""Rows of floats, quantized, times int4 weights with a scale for each block of a row: FULLY_CONNECTED in XNNPACK's arithmetic.

    BlocksI4 b                                   # fill in the first part; zeros elsewhere
    if table.blocks_i4.plan(&b):                  # else: the scalar definition
        b.packed = context.unfilled(b.packed_bytes)
        b.scratch = context.request_scratch(context.for_all_workers(b.scratch_bytes))
        b.pack(&b, w, stride)                     # rows of k weights, `stride` bytes apart
    b.run(&b, x, scratch, y, first, end)           # panels first .. end - 1 of `panels`: the bytes of multiply_blockwise
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, uint8_t

from tflm_cy.arithmetic.multipliers cimport Scaling
from tflm_cy.arithmetic.xnnpack.blockwise cimport Blocks

cdef struct BlocksI4:
    ptrdiff_t m
    ptrdiff_t n
    ptrdiff_t k
    Blocks blocks
    Scaling scaling
    # the plan
    void (*pack)(BlocksI4* b, const int8_t* w, ptrdiff_t stride) noexcept nogil
    void (*run)(const BlocksI4* b, const float* x, void* scratch, float* y, ptrdiff_t first, ptrdiff_t end) noexcept nogil
    ptrdiff_t packed_bytes
    ptrdiff_t scratch_bytes
    ptrdiff_t panels
    ptrdiff_t panel_bytes
    ptrdiff_t row_bytes          # of a quantized row
    ptrdiff_t values             # of a chunk
    # the caller's
    uint8_t* packed
    int scratch                  # its handle

cdef struct BlocksI4Kernels:
    bint (*plan)(BlocksI4* b) noexcept nogil
