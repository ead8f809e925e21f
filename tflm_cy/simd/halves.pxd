"""Functions of float16 values, as arithmetic/xnnpack/half.pxd defines them.

    table.halves.exp(&limits, x, y, n)           # map_half(exp_half, limits, x, y, n)

Every step is computed in float32 lanes and rounded to float16 where the definition says so.
"""
from tflm_cy.simd.float32 cimport MapKernel

cdef struct HalfKernels:
    MapKernel square
    MapKernel floor
    MapKernel ceil
    MapKernel round
    MapKernel clamp
    MapKernel rsqrt
    MapKernel sqrt
    MapKernel hard_swish
    MapKernel exp
    MapKernel sin
    MapKernel cos
    MapKernel gelu
    MapKernel gelu_tanh
