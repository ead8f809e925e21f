# tflm_cy: optimize=size
"""ASSIGN_VARIABLE and READ_VARIABLE of the delegate, to which a variable is one of a partition's values.

This value has a shape: at first the file's, then that of what was assigned last while shapes were computed. READ_VARIABLE takes it, so that one in
front of the ASSIGN_VARIABLE has the shape of the allocation before. A subgraph that another one calls is prepared again by each call, so that there it
is the shape of the call before. The variable's memory is what the first assignment made. Later ones write its beginning, and what lies behind stays:

    assign [1 2 3]; resized to [2], assign [8 9]; the variable is [8 9 3]

Of a larger value TensorFlow writes across the end; here the variable grows.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc (Subgraph::Prepare, Subgraph::Invoke), XNNPACK:src/subgraph/copy.c.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.passes.partition cimport Partition, partition_in_preparation
from tflm_cy.graph.resource cimport Variable, overwrite, reserve
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport MAX_RANK, Tensor, shape_of
from tflm_cy.ops.operand cimport operand, result
from tflm_cy.ops.variable cimport assigned_variable, copy_value, find_variable, variable_of


cdef int prepare_assign(Context context, Node* node) except -1:
    cdef const Tensor* value = operand(context, node, 1)
    cdef Variable* variable = find_variable(context, node).variable
    cdef Partition partition = partition_in_preparation(<Subgraph>context)
    cdef int handle = node.inputs[0]
    cdef list shape = shape_of(value)
    if partition.shapes.get(handle, shape) == shape:
        partition.moved.discard(handle)
    else:
        partition.moved.add(handle)
    partition.shapes[handle] = shape
    if variable != NULL and reserve(variable, value.bytes) != 0:
        raise MemoryError(f"no memory for a variable of {value.bytes} bytes")
    node.invoke = assign_variable
    return 0


cdef int assign_variable(Context context, Node* node) noexcept nogil:
    cdef Variable* variable = variable_of(context, node)
    if variable == NULL:
        return -1
    if overwrite(variable, context.input(node, 1)) != 0:
        return context.fail(b"no memory for the variable")
    return 0


cdef int prepare_read(Context context, Node* node) except -1:
    cdef Tensor* y = result(context, node, 0)
    cdef int32_t[MAX_RANK] dims
    cdef list shape = partition_in_preparation(<Subgraph>context).shapes.setdefault(node.inputs[0], shape_of(y))
    cdef int d
    find_variable(context, node)
    for d in range(len(shape)):
        dims[d] = shape[d]
    context.set_shape(y, <int>len(shape), dims)
    node.invoke = read_variable
    return 0


cdef int read_variable(Context context, Node* node) noexcept nogil:
    cdef Variable* variable = assigned_variable(context, node)
    return -1 if variable == NULL else copy_value(context, variable, context.output(node, 0))


OPERATORS = {
    "ASSIGN_VARIABLE": register(prepare_assign, version=1),
    "READ_VARIABLE": register(prepare_read, version=1),
}
