# tflm_cy: target=neon optimize=loops
"""The kernels for rows (arithmetic/row_kernels.pxd), compiled for NEON, and their table as a capsule."""
from cpython.pycapsule cimport PyCapsule_New

cdef extern from *:
    "#define SIMD_ISA 128"

from tflm_cy.arithmetic.row_kernels cimport RowKernels

include "rows.pxi"

cdef RowKernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.RowKernels"."""
    fill_rows(&table)
    return PyCapsule_New(&table, "tflm_cy.simd.RowKernels", NULL)
