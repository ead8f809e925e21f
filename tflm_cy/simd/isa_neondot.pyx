# tflm_cy: target=neondot
"""The kernels for NEON with SDOT: those of NEON, but that products of bytes are one instruction per step."""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New

cdef extern from *:
    """
    #define SIMD_ISA 128
    #define SIMD_DOTPROD
    """

from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.vector cimport *

include "products_i8.pxi"
include "blocks_i4.pxi"
include "elementwise_i8.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    global table
    cdef Kernels made
    from tflm_cy.simd import isa_neon

    made = (<const Kernels*>PyCapsule_GetPointer(isa_neon.capsule(), "tflm_cy.simd.Kernels"))[0]
    fill_products_i8(&made)
    fill_blocks_i4(&made.blocks_i4)
    fill_elementwise_i8(&made.elementwise_i8)
    table = made             # at once: another thread may use it already
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
