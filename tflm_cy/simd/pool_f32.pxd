"""AVERAGE_POOL_2D and MAX_POOL_2D of float32 in XNNPACK's arithmetic; shape: a PoolShape; taps: room for 2 * 9 * groups_of(shape).

    table.pool_f32.maximum(&shape, x, taps, y)                     # max_pool_f32 of arithmetic/xnnpack
    table.pool_f32.average(&shape, x, zeros, taps, first, end, y)  # average_pool_f32, of output rows first to end; zeros: a row of channels
"""
from libc.stdint cimport int64_t

ctypedef void (*MaxPoolKernel)(const void* shape, const float* x, int64_t* taps, float* y) noexcept nogil
ctypedef void (*AveragePoolKernel)(
    const void* shape, const float* x, const float* zeros, int64_t* taps, int64_t first, int64_t end, float* y) noexcept nogil

cdef struct PoolF32Kernels:
    MaxPoolKernel maximum
    AveragePoolKernel average
