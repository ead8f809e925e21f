"""All families: those of `portable_families.pxi`, and those whose arithmetic needs a fused multiply-add."""
include "portable_families.pxi"
include "blocks_i4.pxi"
include "conv_f32.pxi"
include "depthwise_f32.pxi"
include "float32.pxi"
include "unary_f32.pxi"
include "halves.pxi"
include "pool_f32.pxi"
include "reductions.pxi"
include "requantize_double.pxi"
include "conv_f32_unfused.pxi"
include "depthwise_f32_unfused.pxi"


cdef void fill_vector_families(Kernels* table) noexcept:
    fill_portable_families(table)
    fill_blocks_i4(&table.blocks_i4)
    fill_conv_f32(&table.conv_f32)
    fill_depthwise_f32(&table.depthwise_f32)
    fill_float32(&table.float32)
    fill_unary_f32(&table.unary_f32)
    fill_halves(&table.halves)
    fill_pool_f32(&table.pool_f32)
    fill_reductions(&table.reductions)
    fill_requantize_double(&table.requantize_double)
    fill_conv_f32_unfused(&table.conv_f32_unfused)
    fill_depthwise_f32_unfused(&table.depthwise_f32_unfused)
