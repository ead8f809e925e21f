# tflm_cy: target=avxvnni
"""The kernels for AVX-VNNI: those of AVX2, but that products of bytes are one instruction per step."""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New

cdef extern from *:
    """
    #define SIMD_ISA 256
    #define SIMD_VNNI
    """

from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.vector cimport *

include "products_i8.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    global table
    cdef Kernels made
    from tflm_cy.simd import isa_avx2

    made = (<const Kernels*>PyCapsule_GetPointer(isa_avx2.capsule(), "tflm_cy.simd.Kernels"))[0]
    fill_products_i8(&made)
    table = made             # at once: another thread may use it already
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
