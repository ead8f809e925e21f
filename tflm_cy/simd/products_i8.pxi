"""The families of products of bytes: what an instruction set that multiplies bytes otherwise than its base compiles anew."""
include "conv_i8.pxi"
include "conv_i8_pack.pxi"
include "depthwise_i8.pxi"
include "depthwise_i8_direct.pxi"
include "depthwise_i8_pack.pxi"
include "lstm_i8.pxi"
include "peak.pxi"


cdef void fill_products_i8(Kernels* table) noexcept:
    fill_conv_i8(&table.conv_i8)
    fill_depthwise_i8(&table.depthwise_i8)
    fill_lstm_i8(&table.lstm_i8)
    fill_peak(&table.peak)
