"""The pass that writes addresses; told in `bind.pyx`."""
from tflm_cy.graph.compilation cimport Compilation


cdef int bind(Compilation c) except -1
