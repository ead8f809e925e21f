"""From a verified model to subgraphs; told in `loader.pyx`."""
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.memory.arena cimport Arena
from tflm_cy.schema.model cimport Model


cpdef list load(Model model, find, bint reference, bint preserve_all, Arena arena=*)
cdef Subgraph empty(str defect)
