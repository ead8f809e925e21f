"""How far the model's file goes behind a constant; told in `file_range.pyx`."""
from libc.stddef cimport size_t

from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport Tensor


cdef size_t readable_from(Context context, const Tensor* tensor) noexcept
