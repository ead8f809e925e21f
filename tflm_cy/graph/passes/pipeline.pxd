"""The list of passes, and the loop over it; told in `pipeline.pyx`."""
from tflm_cy.graph.compilation cimport Compilation


cdef int run_passes(Compilation c) except -1
