"""Sparse constants made dense, for operators that take them as weights; told in `densify.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport Tensor, bytes_of, type_name, type_size


cdef int densify(const Tensor* x, char* dense, size_t bytes) except -1
cdef int mark_stored(const Tensor* x, char* marks, size_t bytes) except -1      # not 0 where a dense copy has a stored value
cdef char* stored_rows(Context context, const Tensor* x) except NULL      # of each row of a matrix of bytes, whether a block of it is in the file
cdef int64_t sparse_block(const Tensor* x) except -1     # columns of a block of a sparse matrix, 1: single values


cdef inline Tensor* dense_constant(Context context, Tensor* x) except NULL:
    """The tensor itself, of a sparse constant a dense copy in the tail."""
    cdef Tensor* dense
    if x.sparsity == NULL:
        return x
    if type_size(x.type) == 0:
        raise ValueError(f"sparse {type_name(x.type)} constants are not supported")
    dense = <Tensor*>context.persistent(sizeof(Tensor))
    dense[0] = x[0]
    dense.sparsity = NULL
    dense.bytes = bytes_of(x.type, x.rank, x.dims)
    dense.data = context.persistent(dense.bytes + 1)
    densify(x, <char*>dense.data, dense.bytes)
    return dense
