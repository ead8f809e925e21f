# tflm_cy: optimize=size
"""ASSIGN_VARIABLE and READ_VARIABLE of the delegate, to which a variable is one of a partition's values.

This value has a shape: at first the file's, then that of what was assigned last while shapes were computed. READ_VARIABLE takes it, so that one in
front of the ASSIGN_VARIABLE has the shape of the allocation before. A subgraph that another one calls is prepared again by each call, so that there it
is the shape of the call before. The variable's memory is what the first assignment made. Later ones
write its beginning, and what lies behind stays:

    assign [1 2 3]; resized to [2], assign [8 9]; the variable is [8 9 3]

Of a larger value TensorFlow writes across the end; here the variable grows.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc (Subgraph::Prepare, Subgraph::Invoke), XNNPACK:src/subgraph/copy.c.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.passes.partition cimport Partition
from tflm_cy.graph.resource cimport Variable, overwrite, reserve
from tflm_cy.graph.tensor cimport MAX_RANK, Tensor, shape_of
from tflm_cy.ops.operand cimport operand, result
from tflm_cy.ops.variable cimport find_variable, variable_of
from tflm_cy.ops.xnnpack.taken cimport partition_of
from tflm_cy.platform.long_copy cimport copy_bytes


cdef int prepare_assign(Context context, Node* node) except -1:
    cdef const Tensor* value = operand(context, node, 1)
    cdef Variable* variable = find_variable(context, node).variable
    cdef Partition partition = partition_of(context)
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
    cdef list shape = partition_of(context).shapes.setdefault(node.inputs[0], shape_of(y))
    cdef int d
    find_variable(context, node)
    for d in range(len(shape)):
        dims[d] = shape[d]
    context.set_shape(y, <int>len(shape), dims)
    node.invoke = read_variable
    return 0


cdef int read_variable(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    cdef Variable* variable = variable_of(context, node)
    if variable == NULL:
        return -1
    if not variable.assigned:
        return context.fail(b"the variable is read before a value is assigned to it (variable != nullptr was not true)")
    if y.bytes > variable.bytes:
        return context.fail_with(b"the variable has %ld bytes, the output %ld", variable.bytes, y.bytes)
    copy_bytes(y.data, variable.data, y.bytes)
    return 0


OPERATORS = {
    "ASSIGN_VARIABLE": register(prepare_assign, version=1),
    "READ_VARIABLE": register(prepare_read, version=1),
}
