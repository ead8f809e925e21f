"""The table of vector kernels: one struct of function pointers per family, all NULL where an instruction set has none.

A prepare asks `kernels()` (table.pxd), looks whether the entry is there, and keeps the pointer; else it takes the scalar definition.
A family `f` is three files: `f.pxd` (its struct of pointers and what its kernels are handed), `f.pxi` (the loops, which ends with
`fill_f(F* table)`), and a line in this struct and in each `isa_*.pyx`.
"""
from tflm_cy.simd.blocks_i4 cimport BlocksI4Kernels
from tflm_cy.simd.bytes cimport ByteKernels
from tflm_cy.simd.conv_i8 cimport ConvI8Kernels
from tflm_cy.simd.depthwise_f32 cimport DepthwiseF32Kernels
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8Kernels
from tflm_cy.simd.depthwise_f32_unfused cimport DepthwiseF32UnfusedKernels
from tflm_cy.simd.requantize_double cimport RequantizeDoubleKernels
from tflm_cy.simd.elementwise_i16 cimport ElementwiseI16Kernels
from tflm_cy.simd.elementwise_i8 cimport ElementwiseI8Kernels
from tflm_cy.simd.requantize_fixed cimport RequantizeFixedKernels
from tflm_cy.simd.float32 cimport Float32Kernels
from tflm_cy.simd.folds cimport FoldKernels
from tflm_cy.simd.halves cimport HalfKernels
from tflm_cy.simd.lstm_i8 cimport LstmI8Kernels
from tflm_cy.simd.loops cimport LoopKernels
from tflm_cy.simd.conv_f32_unfused cimport ConvF32UnfusedKernels
from tflm_cy.simd.peak cimport PeakKernels
from tflm_cy.simd.pool_f32 cimport PoolF32Kernels
from tflm_cy.simd.reductions cimport ReductionKernels
from tflm_cy.simd.unary_f32 cimport UnaryF32Kernels
from tflm_cy.simd.conv_f32 cimport ConvF32Kernels

cdef struct Kernels:
    ByteKernels bytes
    ConvI8Kernels conv_i8
    DepthwiseI8Kernels depthwise_i8
    ElementwiseI8Kernels elementwise_i8
    LstmI8Kernels lstm_i8
    ConvF32Kernels conv_f32
    DepthwiseF32Kernels depthwise_f32
    Float32Kernels float32
    PoolF32Kernels pool_f32
    RequantizeFixedKernels requantize_fixed
    RequantizeDoubleKernels requantize_double
    ConvF32UnfusedKernels conv_f32_unfused
    LoopKernels loops
    DepthwiseF32UnfusedKernels depthwise_f32_unfused
    PeakKernels peak
    HalfKernels halves
    ReductionKernels reductions
    UnaryF32Kernels unary_f32
    ElementwiseI16Kernels elementwise_i16
    FoldKernels folds
    BlocksI4Kernels blocks_i4
