"""The families that every instruction set has, also portable C: an `isa_*.pyx` includes this file and fills its table."""
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
include "elementwise_i16.pxi"


cdef void fill_portable_families(Kernels* table) noexcept:
    fill_bytes(&table.bytes)
    fill_conv_i8(&table.conv_i8)
    fill_depthwise_i8(&table.depthwise_i8)
    fill_elementwise_i8(&table.elementwise_i8)
    fill_lstm_i8(&table.lstm_i8)
    fill_peak(&table.peak)
    fill_requantize_fixed(&table.requantize_fixed)
    fill_loops(&table.loops)
    fill_elementwise_i16(&table.elementwise_i16)
