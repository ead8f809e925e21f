"""Checks of constants that have a structure of their own; see payload.pyx."""
from libc.stdint cimport uint8_t, uint64_t

from tflm_cy.schema.span cimport Span
from tflm_cy.schema.table cimport Vector

cdef object string_error(Span span, uint64_t elements)
cdef object sparsity_error(const uint8_t* sparsity, Vector shape, uint64_t* stored)
