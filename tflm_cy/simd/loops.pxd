"""Elementwise operators, pools and resizing outside of XNNPACK's arithmetic: the scalar definitions, compiled for an instruction set or in vectors.

`params` is what the definition of the same name takes. The sums and products of bytes want a `simple` multiplier (see `fits`).

    if kernels().loops.prelu != NULL:
        op.kernel = kernels().loops.prelu
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.shapes cimport Pool2D, Resize
from tflm_cy.arithmetic.signatures cimport BinaryKernel, UnaryKernel


ctypedef int (*PoolLoop)(const Pool2D* p, const void* x, void* y) noexcept nogil
ctypedef void (*ResizeLoop)(const Resize* r, const void* x, void* y) noexcept nogil

cdef struct LoopKernels:
    # float32
    BinaryKernel prelu
    BinaryKernel maximum
    BinaryKernel minimum
    UnaryKernel relu
    UnaryKernel clip
    UnaryKernel leaky_relu
    # bytes
    bint (*fits)(const Rescale* r) noexcept nogil
    BinaryKernel sum_8
    BinaryKernel sum_8_in_blocks
    BinaryKernel[2] mul_8                # int8, uint8
    BinaryKernel[2] mul_8_in_blocks
    # float32, int8, uint8
    PoolLoop[3] average_pool
    PoolLoop[3] max_pool
    # float32
    ResizeLoop bilinear
    ResizeLoop bilinear_optimized
    ResizeLoop double_f32
