"""Elementwise kernels on bytes in XNNPACK's arithmetic, and what goes over the channels of images.

Those of the first group take `params` as the scalar definitions of arithmetic/xnnpack/quantized_elementwise.pxd do (and y may be an operand);
[0] is for int8, [1] for uint8.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.signatures cimport BinaryKernel, UnaryKernel

cdef struct ElementwiseI8Kernels:
    BinaryKernel[2] add          # Sum8
    BinaryKernel[2] multiply     # Product8
    UnaryKernel[2] quantize      # Quantize8: from float32
    UnaryKernel[2] dequantize    # Dequantize8: to float32
    UnaryKernel[2] rescale       # Rescale8 of 16 bits; NULL: its table serves
    # sums[c] += the sum of x[r, c] over the rows
    void (*sum_rows)(const uint8_t* x, int64_t rows, int64_t columns, bint is_signed, int32_t* sums) noexcept nogil
    # sums[r] += the sum of x[r, c] over the columns
    void (*sum_each_row)(const uint8_t* x, int64_t rows, int64_t columns, bint is_signed, int32_t* sums) noexcept nogil
    # average_sums of arithmetic/xnnpack/quantized_reduction.pxd, for all values of the type
    void (*average_sums)(const int32_t* sums, float scale, float offset, bint is_signed, uint8_t* y, int64_t n) noexcept nogil
    # y[i, c] = the largest of x[r, i * step + c], clamped; `count` windows of `rows` rows with `columns` pixels each
    void (*largest)(const uint8_t* x, int64_t rows, int64_t row_bytes, int64_t columns, int64_t channels, bint is_signed, int32_t low,
                    int32_t high, int64_t count, int64_t step, uint8_t* y) noexcept nogil
    # line[i] = top[i] * 2048 + (bottom[i] - top[i]) * weight
    void (*blend_rows)(const uint8_t* top, const uint8_t* bottom, int64_t n, bint is_signed, int32_t weight, int32_t* line) noexcept nogil
    # per pixel (left, right, weight) of `columns`: y[c] = (line[left, c] * (2048 - weight) + line[right, c] * weight + 2^21) >> 22
    void (*blend_columns)(const int32_t* line, const int32_t* columns, int64_t width, int64_t depth, bint is_signed,
                          uint8_t* y) noexcept nogil
