"""What a data movement operator asks of its operands in prepare, and how it reads index tensors of several widths.

    x = operand(context, node, 0)                            # never NULL
    y = result(context, node, 0)
    want_type_of(y, x)                                       # the file must agree
    adopt_type(y, x.type)                                    # TensorFlow overwrites the file's type

A refusal raises ValueError; the engine adds which node it was.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport (
    INT16, INT32, INT64, PLANNED, STRING, Tensor, bytes_of, count, type_name, type_size,
)


cdef inline Tensor* operand(Context context, const Node* node, int i) except NULL:
    """Input i, which must not be omitted."""
    cdef Tensor* tensor = context.input(node, i)
    if tensor == NULL:
        raise ValueError(f"{context.operator_name(node)} wants an input {i}")
    return tensor


cdef inline Tensor* result(Context context, const Node* node, int i) except NULL:
    """Output i, which must not be omitted."""
    cdef Tensor* tensor = context.output(node, i)
    if tensor == NULL:
        raise ValueError(f"{context.operator_name(node)} wants an output {i}")
    return tensor


cdef inline int accept(const char* refusal) except -1:
    """Raise what a function without the GIL says against the operands, unless it says nothing."""
    if refusal != NULL:
        raise ValueError(refusal.decode())
    return 0


cdef inline int want_type_of(const Tensor* y, const Tensor* x) except -1:
    """Refuse tensors of different types."""
    if y.type != x.type:
        raise ValueError(f"types {type_name(x.type)} and {type_name(y.type)} differ: input->type != output->type")
    return 0


cdef inline int check_same_type(const Tensor* a, const Tensor* b, str name) except -1:
    if a.type != b.type:
        raise ValueError(f"{name}: types differ: {type_name(a.type)} != {type_name(b.type)}")
    return 0


cdef inline int adopt_type(Tensor* y, int type) except -1:
    """Give an output the type that the operator decides, whatever the file says."""
    if y.type == type:
        return 0
    if y.allocation != PLANNED or y.type == STRING or type == STRING:
        raise ValueError(f"an output of type {type_name(y.type)} cannot become {type_name(type)}")
    y.type = type
    return 0


cdef inline int want_index_type(const Tensor* tensor, str what) except -1:
    """Refuse an index, shape or axis tensor that is neither int32 nor int64."""
    if tensor.type != INT32 and tensor.type != INT64:
        raise ValueError(f"{what} must be INT32 or INT64, got {type_name(tensor.type)}")
    return 0


cdef inline int want_one(const Tensor* tensor, str what) except -1:
    """Refuse a tensor of more or less than one element."""
    if count(tensor) != 1:
        raise ValueError(f"{what} must have one element, has {count(tensor)}")
    return 0


cdef inline int64_t want_element(const Tensor* tensor) except -1:
    """Bytes of an element of a type that has whole bytes."""
    cdef int size = type_size(tensor.type)
    if size == 0:
        raise ValueError(f"Type {type_name(tensor.type)} is currently not supported")
    return size


cdef inline int want_bytes(const Tensor* x) except -1:
    """A sparse constant may hold less."""
    if <int64_t>x.bytes < bytes_of(x.type, x.rank, x.dims):
        raise ValueError("the input holds less than its shape says")
    return 0


cdef inline bint same_quantization(const Tensor* a, const Tensor* b) noexcept nogil:
    """Equal per-tensor scales and zero points, where per-channel and absent ones count as 0, 0."""
    cdef float a_scale = a.scale if a.scale_count == 1 else 0
    cdef float b_scale = b.scale if b.scale_count == 1 else 0
    cdef int32_t a_zero = a.zero_point if a.scale_count == 1 else 0
    cdef int32_t b_zero = b.zero_point if b.scale_count == 1 else 0
    return a_scale == b_scale and a_zero == b_zero


cdef inline int want_same_quantization(const Tensor* a, const Tensor* b) except -1:
    """Refuse tensors that need rescaling."""
    if not same_quantization(a, b):
        raise ValueError(
            f"scale and zero point must be equal: params.scale {a.scale} and {b.scale}, "
            f"params.zero_point {a.zero_point} and {b.zero_point}")
    return 0


cdef inline int want_symmetric(const Tensor* tensor) except -1:
    """Refuse an int16 tensor with a zero point."""
    if tensor.type == INT16 and tensor.scale_count == 1 and tensor.zero_point != 0:
        raise ValueError(f"params.zero_point of an INT16 tensor must be 0, is {tensor.zero_point}")
    return 0


cdef inline int64_t index_at(int type, const void* data, int64_t i) noexcept nogil:
    """Element i of an integer tensor of 1, 2, 4 or 8 bytes."""
    cdef int16_t narrow
    cdef int32_t value
    cdef int64_t wide
    if type == INT32:
        memcpy(&value, <const char*>data + 4 * i, 4)
        return value
    if type == INT64:
        memcpy(&wide, <const char*>data + 8 * i, 8)
        return wide
    if type == INT16:
        memcpy(&narrow, <const char*>data + 2 * i, 2)
        return narrow
    return (<const int8_t*>data)[i]
