"""What XNNPACK makes of several nodes; told in rewrites.pyx."""
from tflm_cy.graph.passes.partition cimport Partition
from tflm_cy.graph.subgraph cimport Subgraph

cdef int rewrite(Subgraph g, Partition partition, find) except -1
