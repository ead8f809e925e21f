"""The pass that fuses nodes into the products in front of them; told in `fuse_epilogues.pyx`."""
from tflm_cy.graph.compilation cimport Compilation


cdef int fuse_epilogues(Compilation c) except -1
