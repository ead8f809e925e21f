"""The kernels for AVX2 with FMA: the families, compiled for it, and their table as a capsule."""
from cpython.pycapsule cimport PyCapsule_New

cdef extern from *:
    "#define SIMD_ISA 256"

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
include "product32.pxi"
include "depthwise32.pxi"
include "float32.pxi"
include "pool32.pxi"
include "fixed8.pxi"
include "double8.pxi"
include "loops.pxi"
include "ordered32.pxi"
include "depthwise_ordered32.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    fill_bytes(&table.bytes)
    fill_conv8(&table.conv8)
    fill_depthwise8(&table.depthwise8)
    fill_elementwise8(&table.elementwise8)
    fill_lstm8(&table.lstm8)
    fill_peak(&table.peak)
    fill_product32(&table.product32)
    fill_depthwise32(&table.depthwise32)
    fill_float32(&table.float32)
    fill_pool32(&table.pool32)
    fill_fixed8(&table.fixed8)
    fill_double8(&table.double8)
    fill_loops(&table.loops)
    fill_ordered32(&table.ordered32)
    fill_depthwise_ordered32(&table.depthwise_ordered32)
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
