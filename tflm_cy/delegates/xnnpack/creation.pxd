"""Why the delegate cannot run a node that it has taken; told in creation.pyx."""
from tflm_cy.delegates.xnnpack.claims cimport Claims

cdef str creation_defect(Claims claims, int index)
