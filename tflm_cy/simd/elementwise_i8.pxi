from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.xnnpack.quantized_elementwise cimport Dequantize8, Product8, Quantize8, Rescale8, Sum8
from tflm_cy.simd.elementwise_i8 cimport ElementwiseI8Kernels

cdef extern from "elementwise_i8.h" nogil:
    ctypedef struct struct_sum8:
        pass
    ctypedef struct struct_product8:
        pass
    ctypedef struct struct_quantize8:
        pass
    ctypedef struct struct_dequantize8:
        pass
    ctypedef struct struct_rescale8:
        pass
    UnaryKernel rescale_s8
    UnaryKernel rescale_u8
    void add_s8(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void add_u8(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void multiply_s8(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void multiply_u8(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void quantize_s8(const void* params, const void* x, void* y, int64_t n) noexcept
    void quantize_u8(const void* params, const void* x, void* y, int64_t n) noexcept
    void dequantize_s8(const void* params, const void* x, void* y, int64_t n) noexcept
    void dequantize_u8(const void* params, const void* x, void* y, int64_t n) noexcept

cdef extern from "image_i8.h" nogil:
    void sum_rows8(const uint8_t* x, int64_t rows, int64_t columns, bint is_signed, int32_t* sums) noexcept
    void sum_each_row8(const uint8_t* x, int64_t rows, int64_t columns, bint is_signed, int32_t* sums) noexcept
    void average_sums8(const int32_t* sums, float scale, float offset, bint is_signed, uint8_t* y, int64_t n) noexcept
    void largest8(const uint8_t* x, int64_t rows, int64_t row_bytes, int64_t columns, int64_t channels, bint is_signed, int32_t low,
                  int32_t high, int64_t count, int64_t step, uint8_t* y) noexcept
    void blend_rows8(const uint8_t* top, const uint8_t* bottom, int64_t n, bint is_signed, int32_t weight, int32_t* line) noexcept
    void blend_columns8(const int32_t* line, const int32_t* columns, int64_t width, int64_t depth, bint is_signed, uint8_t* y) noexcept


cdef void fill_elementwise_i8(ElementwiseI8Kernels* table) noexcept:
    table.sum_rows = sum_rows8
    table.sum_each_row = sum_each_row8
    table.average_sums = average_sums8
    table.largest = largest8
    table.blend_rows = blend_rows8
    table.blend_columns = blend_columns8
    # The header has the structs of the scalar definitions once more; should one change, the kernels are not offered.
    if sizeof(struct_sum8) == sizeof(Sum8):
        table.add = [add_s8, add_u8]
    if sizeof(struct_product8) == sizeof(Product8):
        table.multiply = [multiply_s8, multiply_u8]
    if sizeof(struct_quantize8) == sizeof(Quantize8):
        table.quantize = [quantize_s8, quantize_u8]
    if sizeof(struct_dequantize8) == sizeof(Dequantize8):
        table.dequantize = [dequantize_s8, dequantize_u8]
    if sizeof(struct_rescale8) == sizeof(Rescale8):
        table.rescale = [rescale_s8, rescale_u8]
