# tflm_cy: target=i8mm
"""The kernels for NEON with SMMLA: those with SDOT, but that convolutions and matrix products of bytes multiply eight taps per instruction."""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New

cdef extern from *:
    """
    #define SIMD_ISA 128
    #define SIMD_DOTPROD
    #define SIMD_I8MM
    """

from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.vector cimport *

include "blocks_i4.pxi"
include "conv_i8.pxi"
include "conv_i8_pack.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    global table
    cdef Kernels made
    from tflm_cy.simd import isa_neondot

    made = (<const Kernels*>PyCapsule_GetPointer(isa_neondot.capsule(), "tflm_cy.simd.Kernels"))[0]
    fill_blocks_i4(&made.blocks_i4)
    fill_conv_i8(&made.conv_i8)
    table = made             # at once: another thread may use it already
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
