"""Matrix products and convolutions of bytes in XNNPACK's arithmetic: CONV_2D, FULLY_CONNECTED, BATCH_MATMUL; 8-bit or dynamic range.

    ConvI8 c                                     # fill in the first part; zeros elsewhere
    if table.conv_i8.plan(&c):                    # else: the scalar definition
        c.packed = context.unfilled(c.packed_bytes)
        c.scratch = context.request_scratch(c.scratch_bytes)
        c.pack(&c, w, row)                      # w: filters of `row` bytes each, their taps in front
    c.run(&c, x, context.scratch(c.scratch), y)         # the bytes of conv_8, multiply_8, conv_dynamic, multiply_dynamic

A matrix product is a filter of 1x1 over `batches` images of one pixel. With dynamic range each image is one row to quantize. With `finish`
the exact sums (int32, wrapping) become outputs in another arithmetic (requantize_fixed.pxd).
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, uint8_t

from tflm_cy.arithmetic.multipliers cimport Requantize, Scaling
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.simd.requantize_fixed cimport RequantizeRow

cdef struct PackedPanel:         # some vectors of columns, or (AMX) tiles of them
    const int32_t* offsets       # per step, from a window's first byte
    const uint8_t* w
    int32_t steps
    bint pairs                   # the products of two steps may be added as words

cdef struct PlanI8:              # how windows are read and columns are computed
    ptrdiff_t sums_at            # finish: where in the scratch memory the sums of a tile are
    bint flat                    # positions lie one after the other in x
    bint direct                  # x is read where it is
    int rows                     # positions of a tile
    ptrdiff_t together           # positions that all columns meet before the next ones come
    ptrdiff_t segments           # stretches of a window that lie together in an image
    ptrdiff_t segment            # their bytes
    ptrdiff_t steps              # of four bytes, in a window; nibbles: of eight
    bint nibbles                 # weights are packed two in a byte
    ptrdiff_t row_bytes          # of the copy: a row of the padded image, or of a matrix
    ptrdiff_t image_bytes
    ptrdiff_t group_columns      # output channels of a group, rounded up to whole vectors
    ptrdiff_t panel_columns      # of a whole panel
    ptrdiff_t first_column       # of a range of columns
    ptrdiff_t y_row              # outputs from one position to the next
    int32_t row_factor           # what the sum of a window's bytes counts (uint8)
    int32_t w_offset             # subtracted from uint8 weights
    bint magic_bias              # sums begin at 2^23 (requantize8.h)

cdef struct TilesI8:             # AMX: how the same is computed by tiles
    ptrdiff_t steps              # of 64 bytes, in a window
    ptrdiff_t columns            # tiles of columns
    ptrdiff_t panel_columns      # those of a panel; 0: no tiles, vectors serve
    bint share_columns           # columns can be shared as first .. end
    ptrdiff_t first              # those that are computed
    ptrdiff_t end
    bint across                  # tiles run from row to row of the padded image
    bint sampled                 # of the image only the pixels that a pointwise filter meets are copied
    bint gathered                # windows of few bytes a row are copied together: the plan's `segment` is a whole one
    ptrdiff_t windows_at         # gathered: where in the scratch memory
    ptrdiff_t positions_per_row  # positions that are a row of a tile together

cdef struct PackingI8:           # what `pack` found, and where it put it
    bint zero_point_folded       # the weights are packed less their zero point: the sums of windows' bytes are not needed
    ptrdiff_t extra_steps        # those of all panels for what of uint8 weights does not fit a byte then
    ptrdiff_t extra_tiles        # AMX: their tiles of weights
    bint near_zero               # AMX: no product of a sum and its scale leaves -2^22 .. 2^22
    const int32_t* ones          # per step: 1 in each byte that counts
    const int8_t* tile_ones      # AMX: per step a tile of 1 where a tap is
    const int32_t* bias          # per column: with the zero points' share
    const float* scales
    const int32_t* w_sums        # dynamic
    const float* float_bias
    const PackedPanel* panels

cdef struct ConvI8:
    ConvShape shape
    bint is_signed               # x, w and y are int8, else uint8
    bint dynamic                 # x and y are float32, w is int8
    bint four_bits               # w lies in -8 .. 7
    bint slack                   # 64 bytes behind x may be read
    int32_t x_zero_point
    int32_t w_zero_point
    const void* w                # what `pack` will get, where the plan may depend on it, and the bytes of a filter; or NULL
    ptrdiff_t w_row
    Requantize out               # 8-bit
    Scaling scaling              # dynamic
    RequantizeRow finish         # not NULL: makes y of the sums, and `out` has only the bias
    const void* params
    ptrdiff_t y_size             # bytes of what it makes
    # what `plan` fills in
    void (*pack)(ConvI8* c, const void* w, ptrdiff_t row) noexcept nogil
    void (*run)(const ConvI8* c, const void* x, void* scratch, void* y) noexcept nogil
    ptrdiff_t packed_bytes
    ptrdiff_t spare_bytes        # the last of them: for extra steps, zero as far as `pack` uses them
    ptrdiff_t scratch_bytes
    PlanI8 plan
    TilesI8 tiles
    PackingI8 packing
    # the caller's
    uint8_t* packed
    int scratch                  # its handle

cdef inline ptrdiff_t x_size(const ConvI8* c) noexcept nogil:
    """Bytes of a value of x."""
    return 4 if c.dynamic else 1


cdef struct ConvI8Kernels:
    bint (*plan)(ConvI8* c) noexcept nogil
