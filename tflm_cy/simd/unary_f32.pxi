from libc.stdint cimport int64_t

from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.xnnpack.unary cimport (
    Parameters, abs8, cos8, elu8_avx2, logistic8_avx2, map8, map_ahead8, neg8, round_down8, round_nearest8, round_up8, sin8, square8,
)
from tflm_cy.simd.unary_f32 cimport UnaryF32Kernels

cdef extern from "float32.h" nogil:
    UnaryKernel sqrt_run32
    UnaryKernel rsqrt_run32
    enum:
        ROOTS_OF32
        SIMD_ISA


cdef void abs_run32(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map8(abs8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void neg_run32(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map8(neg8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void square_run32(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map8(square8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void round_down_run32(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map8(round_down8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void round_up_run32(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map8(round_up8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void round_nearest_run32(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map8(round_nearest8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void sin_run32 "tflm_cy_sin_run32"(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map_ahead8(sin8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void cos_run32 "tflm_cy_cos_run32"(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map_ahead8(cos8, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void elu_avx2_run32(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map8(elu8_avx2, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void logistic_avx2_run32 "tflm_cy_logistic_avx2_run32"(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    map_ahead8(logistic8_avx2, <const Parameters*>params, <const float*>x, <float*>y, n)


cdef void fill_unary_f32(UnaryF32Kernels* table) noexcept:
    table.abs = abs_run32
    table.neg = neg_run32
    table.square = square_run32
    table.round_down = round_down_run32
    table.round_up = round_up_run32
    table.round_nearest = round_nearest_run32
    table.sin = sin_run32
    table.cos = cos_run32
    if SIMD_ISA == 256:          # with other instruction sets only tests ask for these two: the definition serves
        table.elu_avx2 = elu_avx2_run32
        table.logistic_avx2 = logistic_avx2_run32
    table.roots_of = ROOTS_OF32
    table.sqrt = sqrt_run32
    table.rsqrt = rsqrt_run32
