"""The kernels for AVX-512 with VNNI: the families, compiled for it, and their table as a capsule."""
from cpython.pycapsule cimport PyCapsule_New

cdef extern from *:
    "#define SIMD_ISA 512"

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
include "conv_f32.pxi"
include "depthwise_f32.pxi"
include "float32.pxi"
include "pool_f32.pxi"
include "requantize_fixed.pxi"
include "requantize_double.pxi"
include "loops.pxi"
include "conv_f32_unfused.pxi"
include "depthwise_f32_unfused.pxi"

cdef Kernels table


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    fill_bytes(&table.bytes)
    fill_conv_i8(&table.conv_i8)
    fill_depthwise_i8(&table.depthwise_i8)
    fill_elementwise_i8(&table.elementwise_i8)
    fill_lstm_i8(&table.lstm_i8)
    fill_peak(&table.peak)
    fill_conv_f32(&table.conv_f32)
    fill_depthwise_f32(&table.depthwise_f32)
    fill_float32(&table.float32)
    fill_pool_f32(&table.pool_f32)
    fill_requantize_fixed(&table.requantize_fixed)
    fill_requantize_double(&table.requantize_double)
    fill_loops(&table.loops)
    fill_conv_f32_unfused(&table.conv_f32_unfused)
    fill_depthwise_f32_unfused(&table.depthwise_f32_unfused)
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
