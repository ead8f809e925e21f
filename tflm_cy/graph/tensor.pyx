"""Sizes and names of tensor types."""
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef int[21] SIZES = [4, 2, 4, 1, 8, 0, 1, 2, 8, 1, 8, 16, 8, 0, 0, 4, 2, 0, 2, 0, 0]
cdef tuple NAMES = (
    "FLOAT32", "FLOAT16", "INT32", "UINT8", "INT64", "STRING", "BOOL", "INT16", "COMPLEX64", "INT8", "FLOAT64", "COMPLEX128",
    "UINT64", "RESOURCE", "VARIANT", "UINT32", "UINT16", "INT4", "BFLOAT16", "INT2", "UINT4",
)
cdef int64_t LARGEST = <int64_t>1 << (46 if sizeof(void*) == 8 else 27)      # elements: beyond it no address space serves
cdef int64_t LARGEST_EMPTY = <int64_t>1 << 28    # what the other dimensions of an empty tensor may count: loops over nothing end, too


cdef int type_size(int type) noexcept nogil:
    """Bytes of one element; 0 for strings, resources, variants and types packed below a byte."""
    return SIZES[type] if 0 <= type < 21 else 0


cdef int64_t bytes_of(int type, int rank, const int32_t* dims) noexcept nogil:
    """Bytes of a tensor, -1 when a dimension is negative or the product too large; 0 for types without a fixed size.

    Too large is also what only a dimension of 0 makes small, so that any product of dimensions fits into 64 bits.
    """
    cdef int64_t n = 1
    cdef bint empty = False
    cdef int d
    for d in range(rank):
        if dims[d] < 0:
            return -1
        if dims[d] == 0:
            empty = True
        elif n > LARGEST // dims[d]:
            return -1
        else:
            n *= dims[d]
    if empty:
        return 0 if n <= LARGEST_EMPTY else -1
    if type == INT4 or type == UINT4:
        return (n + 1) // 2
    if type == INT2:
        return (n + 3) // 4
    if type == RESOURCE or type == VARIANT:
        return 8
    return n * type_size(type)


cdef bint counts_as_empty(int rank, const int32_t* dims) noexcept nogil:
    """A dimension is negative, and TensorFlow counts 0 bytes (`count_unsigned`)."""
    cdef uint64_t n = 1
    cdef bint negative = False
    cdef int d
    for d in range(rank):
        negative = negative or dims[d] < 0
        if not count_unsigned(&n, dims[d]):
            return False
    return negative and n == 0


cpdef str type_name(int type):
    """The schema's name of a type, e.g. "FLOAT32"."""
    return NAMES[type] if 0 <= type < 21 else f"type {type}"


cdef list shape_of(const Tensor* tensor):
    """The shape as a list, for messages."""
    return [tensor.dims[d] for d in range(tensor.rank)]
