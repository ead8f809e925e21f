# What a few instructions compute is written in vectors of this instruction set (float32.h); the polynomials are the definition itself, compiled for it.
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.xnnpack.unary cimport EXP2_32, Parameters, elu8_avx512, exp8, gelu8, gelu_tanh8, logistic8_avx512, map8, map_ahead8, tanh8
from tflm_cy.simd.float32 cimport Float32Kernels, RowsKernel

cdef extern from "float32.h" nogil:
    void add_run32(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void sub_run32(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void mul_run32(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void prelu_run32(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void prelu_signed_run32(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void prelu_one_signed_run32(const void* params, const void* a, const void* b, void* y, int64_t n) noexcept
    void add_rows32(const void* params, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void sub_rows32(const void* params, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void mul_rows32(const void* params, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void prelu_rows32(const void* params, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void prelu_signed_rows32(const void* params, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void relu_run32(const void* params, const void* x, void* y, int64_t n) noexcept
    void leaky_run32(const void* params, const void* x, void* y, int64_t n) noexcept
    void leaky_signed_run32(const void* params, const void* x, void* y, int64_t n) noexcept
    void hard_swish_run32(const void* params, const void* x, void* y, int64_t n) noexcept
    void (*logistic_vectors32)(const float* exp2, const float* x, float* y, int64_t n) noexcept


cdef void logistic_run32(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    if logistic_vectors32 != NULL:
        logistic_vectors32(<const float*>EXP2_32, <const float*>x, <float*>y, n)
    else:
        map8(logistic8_avx512, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void tanh_run32 "tflm_cy_tanh_run32"(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map_ahead8(tanh8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void exp_run32 "tflm_cy_exp_run32"(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map_ahead8(exp8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void elu_run32 "tflm_cy_elu_run32"(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map_ahead8(elu8_avx512, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void gelu_run32 "tflm_cy_gelu_run32"(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map_ahead8(gelu8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void gelu_tanh_run32 "tflm_cy_gelu_tanh_run32"(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map_ahead8(gelu_tanh8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void fill_float32(Float32Kernels* table) noexcept:
    table.add = add_run32
    table.sub = sub_run32
    table.mul = mul_run32
    table.prelu = prelu_run32
    table.prelu_signed = prelu_signed_run32
    table.prelu_one_signed = prelu_one_signed_run32
    table.add_rows = add_rows32
    table.sub_rows = sub_rows32
    table.mul_rows = mul_rows32
    table.prelu_rows = prelu_rows32
    table.prelu_signed_rows = prelu_signed_rows32
    table.relu = relu_run32
    table.leaky = leaky_run32
    table.leaky_signed = leaky_signed_run32
    table.hard_swish = hard_swish_run32
    table.logistic = logistic_run32
    table.tanh = tanh_run32
    table.exp = exp_run32
    table.elu = elu_run32
    table.gelu = gelu_run32
    table.gelu_tanh = gelu_tanh_run32
