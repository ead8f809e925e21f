from libc.stdint cimport int64_t, uint8_t

from tflm_cy.arithmetic.optimized.conversion cimport BYTE_BLOCK, SplitBytes
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.simd.bytes cimport ByteKernels

cdef extern from "bytes.h" nogil:
    UnaryKernel best_lookup() noexcept
    UnaryKernel best_halves() noexcept
    void arg_rows(const uint8_t* x, int64_t rows, int64_t n, int flip, bint wide, void* y) noexcept

cdef extern from "transpose_blocks.h" nogil:
    void transpose_1(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept
    void transpose_2(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept
    void transpose_4(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept
    void transpose_8(const uint8_t* x, int64_t x_row, int64_t columns, int64_t rows, uint8_t* y, int64_t y_row) noexcept

cdef UnaryKernel byte_lookup = NULL


cdef void lookup_split_bytes(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    cdef const SplitBytes* tables = <const SplitBytes*>params
    cdef int64_t body = n - n % BYTE_BLOCK
    byte_lookup(tables.body, x, y, body)
    byte_lookup(tables.tail, <const uint8_t*>x + body, <uint8_t*>y + body, n - body)


cdef void fill_bytes(ByteKernels* table) noexcept:
    global byte_lookup
    byte_lookup = best_lookup()
    table.lookup = byte_lookup
    table.lookup_split = lookup_split_bytes
    table.widen_halves = best_halves()
    table.arg_rows = arg_rows
    table.transpose = [transpose_1, transpose_2, transpose_4, transpose_8]
