"""Kernels on float32 values in XNNPACK's arithmetic: functions of one and of two.

    table.float32.add(&limits, a, b, y, n)           # a BinaryKernel: the bytes of add_f32
    table.float32.add_rows(&limits, a, b, y, rows, n)    # b is one row, which meets each row of a
    table.float32.relu(&parameters, x, y, n)         # map8(relu8, ...)

prelu, leaky, logistic and elu are those of the AVX-512 generation, where the generations differ; prelu_signed, leaky_signed and, for one slope,
prelu_one_signed those of AVX2.
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.signatures cimport BinaryKernel, UnaryKernel

ctypedef void (*RowsKernel)(const void* params, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept nogil

cdef struct Float32Kernels:
    BinaryKernel add
    BinaryKernel sub
    BinaryKernel mul
    BinaryKernel prelu
    BinaryKernel prelu_signed
    BinaryKernel prelu_one_signed
    RowsKernel add_rows
    RowsKernel sub_rows
    RowsKernel mul_rows
    RowsKernel prelu_rows
    RowsKernel prelu_signed_rows
    UnaryKernel relu
    UnaryKernel leaky
    UnaryKernel leaky_signed
    UnaryKernel hard_swish
    UnaryKernel logistic
    UnaryKernel tanh
    UnaryKernel exp
    UnaryKernel elu
    UnaryKernel gelu
    UnaryKernel gelu_tanh
