"""What definitions and kernels agree on: the functions that either may be."""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

# `params` is the kernel's own struct; a, b and y are arrays of n values
ctypedef void (*BinaryKernel)(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept nogil

# the same of one operand
ctypedef void (*UnaryKernel)(const void* params, const void* x, void* y, int64_t n) noexcept nogil

# y[q][c] = x[c][q], elements of one size: `rows` of each of `columns` columns, which lie x_row bytes apart, y's rows y_row
ctypedef void (*TransposeBlocks)(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept nogil

# the sum of 32 lanes of 16 bits, which overflow: steps times two neighbours each (xnnpack/quantized_reduction.pxd)
ctypedef int32_t (*LaneSum)(const int8_t* x, int64_t steps) noexcept nogil
