"""More functions of one float32 value in XNNPACK's arithmetic: the definitions of arithmetic/xnnpack/unary.pxd, in the lanes of the instruction set.

    table.unary_f32.sin(&parameters, x, y, n)        # map8(sin8, ...)
"""
from tflm_cy.arithmetic.signatures cimport UnaryKernel

cdef struct UnaryF32Kernels:
    UnaryKernel abs
    UnaryKernel neg
    UnaryKernel square
    UnaryKernel round_down
    UnaryKernel round_up
    UnaryKernel round_nearest
    UnaryKernel sin
    UnaryKernel cos
    UnaryKernel elu_avx2         # these two of the AVX2 generation
    UnaryKernel logistic_avx2
    int roots_of                 # of which generation the next two are; 0: they are NULL
    UnaryKernel sqrt
    UnaryKernel rsqrt
