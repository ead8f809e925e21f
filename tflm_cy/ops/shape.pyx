"""SHAPE: the dimensions of a tensor, int32 or int64; known as soon as the input's shape is.

Source: LiteRT:tflite/kernels/shape.cc.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport INT32, INT64, Tensor, type_name
from tflm_cy.schema.table cimport table_i8

cdef enum:                       # ShapeOptions
    OUT_TYPE = 0


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int out_type = table_i8(node.options, OUT_TYPE, 0)
    cdef int d
    if x == NULL or y == NULL:
        raise ValueError("SHAPE wants one input and one output")
    if out_type != INT32 and out_type != INT64:
        raise ValueError(f"Unknown shape output data type: {type_name(out_type)}")
    y.type = out_type
    context.set_shape(y, 1, &x.rank)
    context.set_computed(y)
    for d in range(x.rank):
        if out_type == INT32:
            (<int32_t*>y.data)[d] = x.dims[d]
        else:
            (<int64_t*>y.data)[d] = x.dims[d]
    node.invoke = known
    return 0


cdef int known(Context context, Node* node) noexcept nogil:
    """Nothing is left to do: prepare has written the output."""
    return 0


OPERATORS = {
    "SHAPE": register(prepare, version=1),
}
