"""The kernels for portable C: the families, compiled for it, and their table as a capsule."""
from cpython.pycapsule cimport PyCapsule_New

cdef extern from *:
    "#define SIMD_ISA 0"

from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.vector cimport *

include "bytes.pxi"
include "conv_i8.pxi"
include "conv_i8_pack.pxi"
include "depthwise_i8.pxi"
include "depthwise_i8_pack.pxi"
include "elementwise_i8.pxi"
include "lstm_i8.pxi"
include "peak.pxi"
include "requantize_fixed.pxi"
include "loops.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    fill_bytes(&table.bytes)
    fill_conv_i8(&table.conv_i8)
    fill_depthwise_i8(&table.depthwise_i8)
    fill_elementwise_i8(&table.elementwise_i8)
    fill_lstm_i8(&table.lstm_i8)
    fill_peak(&table.peak)
    fill_requantize_fixed(&table.requantize_fixed)
    fill_loops(&table.loops)
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
