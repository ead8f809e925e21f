from libc.stdint cimport int64_t

from tflm_cy.simd.halves cimport HalfKernels

cdef extern from "halves.h" nogil:
    void square_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void floor_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void ceil_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void round_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void clamp_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void rsqrt_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void sqrt_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void hard_swish_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void exp_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void sin_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void cos_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void gelu_halves(const void* params, const void* x, void* y, int64_t n) noexcept
    void gelu_tanh_halves(const void* params, const void* x, void* y, int64_t n) noexcept


cdef void fill_halves(HalfKernels* table) noexcept:
    if best_halves() == NULL:                    # bytes.h: a CPU without F16C
        return
    table.square = square_halves
    table.floor = floor_halves
    table.ceil = ceil_halves
    table.round = round_halves
    table.clamp = clamp_halves
    table.rsqrt = rsqrt_halves
    table.sqrt = sqrt_halves
    table.hard_swish = hard_swish_halves
    table.exp = exp_halves
    table.sin = sin_halves
    table.cos = cos_halves
    table.gelu = gelu_halves
    table.gelu_tanh = gelu_tanh_halves
