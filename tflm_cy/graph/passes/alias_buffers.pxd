"""The pass that lets tensors share buffers; told in `alias_buffers.pyx`."""
from tflm_cy.graph.compilation cimport Compilation


cdef int alias_buffers(Compilation c) except -1
