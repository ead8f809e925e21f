"""The kernels for portable C: the families, compiled for it, and their table as a capsule."""
from cpython.pycapsule cimport PyCapsule_New

cdef extern from *:
    "#define SIMD_ISA 0"

from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.vector cimport *

include "bytes.pxi"
include "conv8.pxi"
include "conv8_pack.pxi"
include "depthwise8.pxi"
include "depthwise8_pack.pxi"
include "elementwise8.pxi"
include "lstm8.pxi"
include "peak.pxi"
include "fixed8.pxi"
include "loops.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    fill_bytes(&table.bytes)
    fill_conv8(&table.conv8)
    fill_depthwise8(&table.depthwise8)
    fill_elementwise8(&table.elementwise8)
    fill_lstm8(&table.lstm8)
    fill_peak(&table.peak)
    fill_fixed8(&table.fixed8)
    fill_loops(&table.loops)
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
