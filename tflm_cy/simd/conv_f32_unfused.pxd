"""float32 products and convolutions outside of XNNPACK's arithmetic, where a product and a sum round on their own: CONV_2D, FULLY_CONNECTED.

    ConvF32Unfused c                                 # fill in the first part; zeros elsewhere
    if table.conv_f32_unfused.plan(&c):                # else: the scalar definition
        c.packed = context.unfilled(c.packed_bytes)
        c.scratch = context.request_scratch(c.scratch_bytes)
        if c.pack(&c, w): ...                          # else: the scalar definition
    if c.run(&c, x, context.scratch(c.scratch), y):    # some output is NaN: the definition must say which
        ...

| `panels` | the bytes of | order of a sum |
| --- | --- | --- |
| no | conv_f32, fully_connected_f32 | that of k; taps outside of the image are left out |
| yes | conv_f32_eigen, multiply_rows_eigen with the method PANELS | Eigen's: stretches of `block`, the last columns apart; windows whole |

    packed = context.persistent(table.conv_f32_unfused.rows_bytes(n, k))
    table.conv_f32_unfused.pack_rows(w, n, k, packed)
    table.conv_f32_unfused.rows(packed, w, n, k, x, bias, low, high, y)   # one row of values: matrix_vector_f32, finish_f32; the same answer as run

No entry on instruction sets of fewer than eight lanes.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.simd.conv_f32 cimport ConvF32

cdef struct ConvF32Unfused:
    ConvF32 window             # shape, low and high are to be filled in
    bint panels
    ptrdiff_t block
    const float* bias
    ptrdiff_t column_stride      # of the weights that `pack` gets
    ptrdiff_t k_stride
    # the plan
    bint (*pack)(ConvF32Unfused* c, const float* w) noexcept nogil
    bint (*run)(const ConvF32Unfused* c, const float* x, void* scratch, float* y) noexcept nogil
    ptrdiff_t packed_bytes
    ptrdiff_t scratch_bytes
    bint copied                  # windows are copied to patches, so that each is one stretch
    ptrdiff_t first_rest         # columns from here on do not fill panels of sixteen
    ptrdiff_t first_last         # and from here on not of four
    ptrdiff_t last_positions     # positions from here on sum all columns in the order of k
    # the caller's
    float* packed
    int scratch                  # its handle
    bint waits                   # to be packed
    void* packing                # where they are noted

ctypedef bint (*RowsConvF32Unfused)(
    const float* packed, const float* w, ptrdiff_t n, ptrdiff_t k, const float* x, const float* bias, float low, float high, float* y,
) noexcept nogil

cdef struct ConvF32UnfusedKernels:
    bint (*plan)(ConvF32Unfused* c) noexcept nogil
    ptrdiff_t (*rows_bytes)(ptrdiff_t n, ptrdiff_t k) noexcept nogil
    void (*pack_rows)(const float* w, ptrdiff_t n, ptrdiff_t k, float* packed) noexcept nogil
    RowsConvF32Unfused rows
