"""The table of vector kernels: one struct of function pointers per family, all NULL where an instruction set has none.

A prepare asks `kernels()` (table.pxd), looks whether the entry is there, and keeps the pointer; else it takes the scalar definition.
A family `f` is three files: `f.pxd` (its struct of pointers and what its kernels are handed), `f.pxi` (the loops, which ends with
`fill_f(F* table)`), and a line in this struct and in each `isa_*.pyx`.
"""
from tflm_cy.simd.bytes cimport ByteKernels
from tflm_cy.simd.conv8 cimport Conv8Kernels
from tflm_cy.simd.depthwise32 cimport Depthwise32Kernels
from tflm_cy.simd.depthwise8 cimport Depthwise8Kernels
from tflm_cy.simd.depthwise_ordered32 cimport DepthwiseOrdered32Kernels
from tflm_cy.simd.double8 cimport Double8Kernels
from tflm_cy.simd.elementwise8 cimport Elementwise8Kernels
from tflm_cy.simd.fixed8 cimport Fixed8Kernels
from tflm_cy.simd.float32 cimport Float32Kernels
from tflm_cy.simd.lstm8 cimport Lstm8Kernels
from tflm_cy.simd.loops cimport LoopKernels
from tflm_cy.simd.ordered32 cimport Ordered32Kernels
from tflm_cy.simd.peak cimport PeakKernels
from tflm_cy.simd.pool32 cimport Pool32Kernels
from tflm_cy.simd.product32 cimport Product32Kernels

cdef struct Kernels:
    ByteKernels bytes
    Conv8Kernels conv8
    Depthwise8Kernels depthwise8
    Elementwise8Kernels elementwise8
    Lstm8Kernels lstm8
    Product32Kernels product32
    Depthwise32Kernels depthwise32
    Float32Kernels float32
    Pool32Kernels pool32
    Fixed8Kernels fixed8
    Double8Kernels double8
    Ordered32Kernels ordered32
    LoopKernels loops
    DepthwiseOrdered32Kernels depthwise_ordered32
    PeakKernels peak
