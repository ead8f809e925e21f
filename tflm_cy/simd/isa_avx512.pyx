# tflm_cy: target=avx512
"""The kernels for AVX-512 with VNNI: the families, compiled for it, and their table as a capsule."""
from cpython.pycapsule cimport PyCapsule_New

cdef extern from *:
    "#define SIMD_ISA 512"

from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.vector cimport *

include "vector_families.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    fill_vector_families(&table)
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
