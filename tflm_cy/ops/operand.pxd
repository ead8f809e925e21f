"""What a prepare asks of a node's operands, and how it reads index tensors of several widths.

    expect_arity_between(context, node, 2, 3, 1)             # inputs, outputs
    x = operand(context, node, 0)                            # never NULL
    y = result(context, node, 0)
    want_type_of(y, x)                                       # the file must agree
    adopt_type(y, x.type)                                    # TensorFlow overwrites the file's type

A refusal raises ValueError; the engine adds which node it was.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport INT16, INT32, INT64, Tensor


cdef int expect_arity(Context context, const Node* node, int inputs, int outputs) except -1
cdef int expect_arity_between(Context context, const Node* node, int fewest, int most, int outputs) except -1
cdef Tensor* operand(Context context, const Node* node, int i) except NULL
cdef Tensor* result(Context context, const Node* node, int i) except NULL
cdef int accept(const char* refusal) except -1
cdef int want_type_of(const Tensor* y, const Tensor* x) except -1
cdef int check_same_type(const Tensor* a, const Tensor* b, str name) except -1
cdef int adopt_type(Tensor* y, int type) except -1
cdef int want_index_type(const Tensor* tensor, str what) except -1
cdef int want_one(const Tensor* tensor, str what) except -1
cdef int64_t want_element(const Tensor* tensor) except -1
cdef int want_bytes(const Tensor* x) except -1
cdef int want_same_quantization(const Tensor* a, const Tensor* b) except -1
cdef int want_symmetric(const Tensor* tensor) except -1


cdef inline bint same_quantization(const Tensor* a, const Tensor* b) noexcept nogil:
    """Equal per-tensor scales and zero points, where per-channel and absent ones count as 0, 0."""
    cdef float a_scale = a.scale if a.scale_count == 1 else 0
    cdef float b_scale = b.scale if b.scale_count == 1 else 0
    cdef int32_t a_zero = a.zero_point if a.scale_count == 1 else 0
    cdef int32_t b_zero = b.zero_point if b.scale_count == 1 else 0
    return a_scale == b_scale and a_zero == b_zero


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


cdef inline int computed_in_prepare(Context context, Node* node) noexcept nogil:
    """The invoke of a node whose output prepare has written."""
    return 0
