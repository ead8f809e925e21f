"""The pass that cancels transposes; told in `cancel_transposes.pyx`."""
from tflm_cy.graph.compilation cimport Compilation


cdef int cancel_transposes(Compilation c) except -1
