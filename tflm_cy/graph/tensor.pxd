"""A tensor of a graph as a C struct, and what its type numbers mean.

    tensor.data      bytes in the file, in the arena, or of its own (see Allocation); NULL until memory is planned
    tensor.dims      the current shape, rank entries; count(tensor) is the number of elements
    tensor.scale     the first quantization scale (0 when there is none), tensor.zero_point likewise

Types are the schema's numbers (`TensorType` in schema.fbs). int4 is packed, two values a byte, low nibble first; int2
four a byte.
"""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef enum:
    MAX_RANK = 16            # a tensor of a higher rank is refused when it is loaded or shaped

cdef enum TensorType:
    FLOAT32 = 0
    FLOAT16 = 1
    INT32 = 2
    UINT8 = 3
    INT64 = 4
    STRING = 5
    BOOL = 6
    INT16 = 7
    COMPLEX64 = 8
    INT8 = 9
    FLOAT64 = 10
    COMPLEX128 = 11
    UINT64 = 12
    RESOURCE = 13
    VARIANT = 14
    UINT32 = 15
    UINT16 = 16
    INT4 = 17
    BFLOAT16 = 18
    INT2 = 19
    UINT4 = 20

cdef enum Allocation:
    UNUSED = 0               # no node or graph input or output names it
    CONSTANT = 1             # bytes of the file, read only
    COMPUTED = 2             # its value is known after prepare and never changes (in the tail)
    PLANNED = 3              # in the head, at the offset that the planner gave
    VARIABLE = 4             # in the tail, keeps its value from one invoke to the next
    DYNAMIC = 5              # its shape is known only while invoking; memory of its own

cdef struct Tensor:
    void* data
    size_t bytes             # of data at the current shape
    int32_t type             # TensorType
    int32_t rank
    int32_t dims[MAX_RANK]
    float scale
    int32_t zero_point
    int32_t allocation       # Allocation
    int32_t index            # in its subgraph
    # quantization as in the file; all NULL or 0 when there is none
    int32_t scale_count      # 1: per tensor; more: per channel along quantized_dimension
    int32_t zero_point_count
    const float* scales
    const int32_t* zero_points
    int32_t quantized_dimension
    int32_t block_size       # values of a row that share a scale (blockwise quantization), 0: none such
    int32_t block_scales     # the tensor with these scales, [rows, blocks]
    const uint8_t* sparsity  # SparsityParameters table or NULL


cdef inline bint is_packed(const Tensor* tensor) noexcept nogil:
    """True when an element has less than a byte."""
    return tensor.type == INT4 or tensor.type == UINT4 or tensor.type == INT2


cdef inline bint is_constant(const Tensor* tensor) noexcept nogil:
    """True when the value is known in prepare."""
    return tensor.allocation == CONSTANT or tensor.allocation == COMPUTED


cdef inline int64_t count(const Tensor* tensor) noexcept nogil:
    """Number of elements."""
    cdef int64_t n = 1
    cdef int d
    for d in range(tensor.rank):
        n *= tensor.dims[d]
    return n


cdef inline int64_t count_range(const Tensor* tensor, int first, int last) noexcept nogil:
    """Product of the dimensions first .. last - 1."""
    cdef int64_t n = 1
    cdef int d
    for d in range(first, last):
        n *= tensor.dims[d]
    return n


cdef inline bint same_shape(const Tensor* a, const Tensor* b) noexcept nogil:
    cdef int d
    if a.rank != b.rank:
        return False
    for d in range(a.rank):
        if a.dims[d] != b.dims[d]:
            return False
    return True


cdef inline bint count_unsigned(uint64_t* n, int64_t dim) noexcept nogil:
    """Multiply by a dimension, perhaps a negative one, as TensorFlow counts elements: in unsigned numbers of 64 bits. False: it overflows."""
    cdef uint64_t factor = <uint64_t>dim
    if n[0] != 0 and n[0] * factor / n[0] != factor:
        return False
    n[0] *= factor
    return True


cdef int type_size(int type) noexcept nogil                                    # bytes of an element; 0: string, resource, packed
cdef int64_t bytes_of(int type, int rank, const int32_t* dims) noexcept nogil  # -1: overflow
cdef bint counts_as_empty(int rank, const int32_t* dims) noexcept nogil
cpdef str type_name(int type)
cdef list shape_of(const Tensor* tensor)
