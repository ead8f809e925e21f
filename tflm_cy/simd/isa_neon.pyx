# tflm_cy: target=neon
"""The kernels for NEON, which every aarch64 has: the families, compiled for it, and their table as a capsule."""
from cpython.pycapsule cimport PyCapsule_New

cdef extern from *:
    "#define SIMD_ISA 128"

from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.vector cimport *

include "neon_families.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    fill_neon_families(&table)
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
