"""The families of NEON: those of `portable_families.pxi`, and those whose arithmetic is XNNPACK's or the definition's own on aarch64, too.

Functions of one float are not here: their definitions are vectors of NEON themselves.
"""
include "portable_families.pxi"
include "blocks_i4.pxi"
include "conv_f32.pxi"
include "depthwise_f32.pxi"
include "float32.pxi"
include "pool_f32.pxi"
include "reductions.pxi"
include "requantize_double.pxi"


cdef void fill_neon_families(Kernels* table) noexcept:
    fill_portable_families(table)
    fill_blocks_i4(&table.blocks_i4)
    fill_conv_f32(&table.conv_f32)
    fill_depthwise_f32(&table.depthwise_f32)
    fill_float32(&table.float32)
    fill_pool_f32(&table.pool_f32)
    fill_reductions(&table.reductions)
    fill_requantize_double(&table.requantize_double)
