"""Kernels on single bytes, on float16 and on matrices that are turned: tables of 256 entries, where the largest byte is, float16 to float32.

    table.bytes.lookup(table, x, y, n)           # y[i] = table[x[i]]; as arithmetic/lookup.pxd's lookup_8
    table.bytes.lookup_split(tables, x, y, n)    # as arithmetic/optimized/conversion.pxd's
    table.bytes.widen_halves(NULL, x, y, n)      # as arithmetic/half.pxd's halves_to_f32
    table.bytes.arg_rows(x, rows, n, flip, wide, y)     # as arithmetic/arg_reduction.pxd's arg_row on rows of n bytes
    table.bytes.transpose[0](x, x_row, columns, rows, y, y_row)  # as arithmetic/transpose_blocks.pxd's, of 1, 2, 4 and 8 bytes

`flip` holds the bits that turn the order that is wanted into that of unsigned bytes: 128 for int8, 255 more for the smallest. `wide`: y is
int64, else int32.
"""
from libc.stdint cimport int64_t, uint8_t

from tflm_cy.arithmetic.signatures cimport TransposeBlocks, UnaryKernel


cdef struct ByteKernels:
    UnaryKernel lookup
    UnaryKernel lookup_split
    UnaryKernel widen_halves
    TransposeBlocks[4] transpose
    void (*arg_rows)(const uint8_t* x, int64_t rows, int64_t n, int flip, bint wide, void* y) noexcept nogil
