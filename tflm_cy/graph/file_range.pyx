"""How many bytes there are to read from a constant's first on: for kernels of TFLM that read on where a constant ends.

TFLM has the whole file in memory and its kernels do not know how long a constant is. What they read behind one decides their bytes as long as
it is the file's.
"""
from tflm_cy.graph.subgraph cimport Subgraph


cdef size_t readable_from(Context context, const Tensor* tensor) noexcept:
    """To the file's end, or to the constant's where it does not lie in the file."""
    cdef Subgraph graph = <Subgraph>context
    cdef const char* first = <const char*>graph.model.base
    cdef const char* data = <const char*>tensor.data
    if data < first or data >= first + graph.model.size:
        return tensor.bytes
    return first + graph.model.size - data
