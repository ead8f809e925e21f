from libc.stdint cimport int64_t

from tflm_cy.simd.peak cimport PeakFunction, PeakKernels

cdef extern from "peak.h" nogil:
    PeakFunction peak_f32
    int64_t peak_s8(int64_t rounds) noexcept


cdef void fill_peak(PeakKernels* table) noexcept:
    table.f32 = <PeakFunction>peak_f32
    table.s8 = peak_s8
