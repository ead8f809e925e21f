from libc.stdint cimport int8_t, int32_t, int64_t

from tflm_cy.simd.folds cimport FOLD_OF_S8, FOLD_OF_S16, FOLD_OF_S32, FOLD_OF_S64, FOLD_OF_U8, FoldKernels

cdef extern from "folds.h" nogil:
    void greatest_s8_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_s8_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_s8_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_s8_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_u8_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_u8_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_u8_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_u8_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_s16_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_s16_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_s16_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_s16_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_s32_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_s32_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_s32_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_s32_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_s64_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void greatest_s64_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_s64_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void least_s64_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void sum_s32_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void sum_s32_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void sum_s64_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void sum_s64_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void product_s32_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void product_s32_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void wide_sum_s16_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void wide_sum_s16_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void wide_sum_s32_rows(const void* x, int64_t rows, int64_t n, void* a) noexcept
    void wide_sum_s32_columns(const void* x, int64_t rows, int64_t n, void* a) noexcept
    int32_t sum_lanes_s8(const int8_t* x, int64_t steps) noexcept


cdef void fill_folds(FoldKernels* table) noexcept:
    table.rows[FOLD_OF_S8] = [NULL, NULL, greatest_s8_rows, least_s8_rows]
    table.rows[FOLD_OF_U8] = [NULL, NULL, greatest_u8_rows, least_u8_rows]
    table.rows[FOLD_OF_S16] = [NULL, NULL, greatest_s16_rows, least_s16_rows]
    table.rows[FOLD_OF_S32] = [sum_s32_rows, product_s32_rows, greatest_s32_rows, least_s32_rows]
    table.rows[FOLD_OF_S64] = [sum_s64_rows, NULL, greatest_s64_rows, least_s64_rows]
    table.columns[FOLD_OF_S8] = [NULL, NULL, greatest_s8_columns, least_s8_columns]
    table.columns[FOLD_OF_U8] = [NULL, NULL, greatest_u8_columns, least_u8_columns]
    table.columns[FOLD_OF_S16] = [NULL, NULL, greatest_s16_columns, least_s16_columns]
    table.columns[FOLD_OF_S32] = [sum_s32_columns, product_s32_columns, greatest_s32_columns, least_s32_columns]
    table.columns[FOLD_OF_S64] = [sum_s64_columns, NULL, greatest_s64_columns, least_s64_columns]
    table.sum_rows_s16 = wide_sum_s16_rows
    table.sum_columns_s16 = wide_sum_s16_columns
    table.sum_rows_s32 = wide_sum_s32_rows
    table.sum_columns_s32 = wide_sum_s32_columns
    table.sum_lanes_s8 = sum_lanes_s8
