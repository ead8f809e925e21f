from libc.stdint cimport int64_t

from tflm_cy.simd.halves cimport HalfKernels

cdef extern from "halves.h" nogil:
    void widen_halves(const void* how, const void* x, void* y, int64_t n) noexcept


cdef void fill_halves(HalfKernels* table) noexcept:
    table.widen = widen_halves
