"""More functions of one float32 value in XNNPACK's arithmetic: the definitions of arithmetic/xnnpack/unary.pxd, in the lanes of the instruction set.

    table.unary_f32.sin(&parameters, x, y, n)        # map8(sin8, ...)
"""
from tflm_cy.simd.float32 cimport MapKernel

cdef struct UnaryF32Kernels:
    MapKernel neg
    MapKernel square
    MapKernel round_down
    MapKernel round_up
    MapKernel round_nearest
    MapKernel sin
    MapKernel cos
    MapKernel sqrt                   # these two of the AVX-512 generation; NULL elsewhere
    MapKernel rsqrt
