from tflm_cy.simd.bytes cimport ByteKernel, ByteKernels

cdef extern from "bytes.h" nogil:
    ByteKernel best_lookup() noexcept


cdef void fill_bytes(ByteKernels* table) noexcept:
    table.lookup = best_lookup()
