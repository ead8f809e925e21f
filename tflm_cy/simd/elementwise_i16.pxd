"""Sums of int16 by vectors: Sum16 of arithmetic/addition.pxd, BlockSum16 of arithmetic/optimized/addition.pxd. Their multipliers must fit (`loops.fits`).

    table.elementwise_i16.sum(&sum, a, b, y, n)
"""

from tflm_cy.arithmetic.signatures cimport BinaryKernel

cdef struct ElementwiseI16Kernels:
    BinaryKernel sum
    BinaryKernel sum_in_blocks           # n is the whole tensor
