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

include "conv_i8.pxi"
include "conv_i8_pack.pxi"
include "depthwise_i8.pxi"
include "depthwise_i8_pack.pxi"
include "elementwise_i8.pxi"
include "lstm_i8.pxi"
include "peak.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    global table
    cdef Kernels made
    from tflm_cy.simd import isa_neon

    made = (<const Kernels*>PyCapsule_GetPointer(isa_neon.capsule(), "tflm_cy.simd.Kernels"))[0]
    fill_conv_i8(&made.conv_i8)
    fill_depthwise_i8(&made.depthwise_i8)
    fill_elementwise_i8(&made.elementwise_i8)
    fill_lstm_i8(&made.lstm_i8)
    fill_peak(&made.peak)
    table = made             # at once: another thread may use it already
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
