"""Functions of float16 values, as arithmetic/xnnpack/half.pxd defines them.

    table.halves.exp(&limits, x, y, n)           # map_half(exp_half, limits, x, y, n)

Every step is computed in float32 lanes and rounded to float16 where the definition says so.
"""
from tflm_cy.arithmetic.signatures cimport UnaryKernel

cdef struct HalfKernels:
    UnaryKernel square
    UnaryKernel floor
    UnaryKernel ceil
    UnaryKernel round
    UnaryKernel clamp
    UnaryKernel rsqrt
    UnaryKernel sqrt
    UnaryKernel hard_swish
    UnaryKernel exp
    UnaryKernel sin
    UnaryKernel cos
    UnaryKernel gelu
    UnaryKernel gelu_tanh
