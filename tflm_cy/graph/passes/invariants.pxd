"""What is true behind each pass; told in `invariants.pyx`."""
from tflm_cy.graph.compilation cimport Compilation


cdef int check_invariants(Compilation c, str after) except -1
