"""Values of tensors as numpy arrays; told in `arrays.pyx`."""
from cpython.object cimport PyObject

from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport INT4, RESOURCE, STRING, VARIANT, Tensor

cdef struct ArrayFields:         # what follows the object's head in a numpy array, part of numpy's C interface since 1.7
    char* data
    int nd
    Py_ssize_t* dimensions
    Py_ssize_t* strides
    PyObject* base
    PyObject* descr
    int flags                    # 1: C contiguous; 0x100: aligned


cdef inline ArrayFields* fields(object array) noexcept:
    """The fields of an ndarray: much faster than its buffer, which tiny models would feel."""
    return <ArrayFields*>(<char*><PyObject*>array + sizeof(PyObject))


cdef inline bint has_plain_type(const Tensor* tensor) noexcept:
    """True when the elements are as in an array: not packed, no strings, no handles, dense."""
    return (tensor.type < INT4 and tensor.type != STRING and tensor.type != RESOURCE and tensor.type != VARIANT
            and tensor.sparsity == NULL)


cdef int small_index(object value) except? -1
cdef bint fits(const ArrayFields* array, const Tensor* tensor) noexcept
cdef object new_array(const Tensor* tensor)
cdef object checked_value(Subgraph g, int t, object value)
cdef list checked_strings(Subgraph g, int t, object value)
cdef int expect_shape(int rank, const Py_ssize_t* shape, const Tensor* tensor) except -1
cdef void write_value(Tensor* tensor, const Py_buffer* value) noexcept
cdef int open_constant(Subgraph g, int t) except -1
cdef object view_value(Subgraph g, int t)
cdef object read_only(object value)
cdef object read_value(Subgraph g, int t, tuple shape)
cdef int expect_readable(Subgraph g, int t) except -1
