"""Which vector kernels run: `kernels()`, for prepares; told in table.pyx."""
from tflm_cy.simd.kernels cimport Kernels

cdef const Kernels* kernels() except NULL
