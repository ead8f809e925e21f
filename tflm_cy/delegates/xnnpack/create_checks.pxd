"""Why the delegate cannot run a node that it has taken; told in creation.pyx."""
from tflm_cy.delegates.xnnpack.support cimport Support

cdef str create_defect(Support support, int index)
