"""Which vector kernels run: `kernels()`, for prepares; told in table.pyx."""
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.simd.kernels cimport Kernels

cdef const Kernels* kernels() except NULL
cdef const RowKernels* row_kernels() except? NULL       # NULL: none
