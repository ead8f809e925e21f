"""Checks of a node's operands in prepare, which all operators share; see operand.pxd."""
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport INT16, INT32, INT64, PLANNED, STRING, Tensor, bytes_of, count, type_name, type_size


cdef int expect_arity(Context context, const Node* node, int inputs, int outputs) except -1:
    """Raise unless the node has exactly so many inputs and outputs and none of them is omitted."""
    cdef int i
    if node.input_count != inputs or node.output_count != outputs:
        raise ValueError(
            f"{context.operator_name(node)} wants {inputs} input(s) and {outputs} output(s), "
            f"this one has {node.input_count} and {node.output_count}"
        )
    for i in range(inputs):
        if context.input(node, i) == NULL:
            raise ValueError(f"{context.operator_name(node)}: input {i} is required")
    for i in range(outputs):
        if context.output(node, i) == NULL:
            raise ValueError(f"{context.operator_name(node)}: output {i} is required")
    return 0


cdef int expect_arity_between(Context context, const Node* node, int fewest, int most, int outputs) except -1:
    """Refuse a wrong number of inputs or outputs; outputs of -1 leave theirs open."""
    if not fewest <= node.input_count <= most:
        raise ValueError(
            f"{context.operator_name(node)} wants {fewest} to {most} inputs, NumInputs(node) is {node.input_count}")
    if outputs >= 0 and node.output_count != outputs:
        raise ValueError(
            f"{context.operator_name(node)} wants {outputs} outputs, NumOutputs(node) is {node.output_count}")
    return 0


cdef Tensor* operand(Context context, const Node* node, int i) except NULL:
    """Input i, which must not be omitted."""
    cdef Tensor* tensor = context.input(node, i)
    if tensor == NULL:
        raise ValueError(f"{context.operator_name(node)} wants an input {i}")
    return tensor


cdef Tensor* result(Context context, const Node* node, int i) except NULL:
    """Output i, which must not be omitted."""
    cdef Tensor* tensor = context.output(node, i)
    if tensor == NULL:
        raise ValueError(f"{context.operator_name(node)} wants an output {i}")
    return tensor


cdef int accept(const char* refusal) except -1:
    """Raise what a function without the GIL says against the operands, unless it says nothing."""
    if refusal != NULL:
        raise ValueError(refusal.decode())
    return 0


cdef int want_type_of(const Tensor* y, const Tensor* x) except -1:
    """Refuse tensors of different types."""
    if y.type != x.type:
        raise ValueError(f"types {type_name(x.type)} and {type_name(y.type)} differ: input->type != output->type")
    return 0


cdef int check_same_type(const Tensor* a, const Tensor* b, str name) except -1:
    if a.type != b.type:
        raise ValueError(f"{name}: types differ: {type_name(a.type)} != {type_name(b.type)}")
    return 0


cdef int adopt_type(Tensor* y, int type) except -1:
    """Give an output the type that the operator decides, whatever the file says."""
    if y.type == type:
        return 0
    if y.allocation != PLANNED or y.type == STRING or type == STRING:
        raise ValueError(f"an output of type {type_name(y.type)} cannot become {type_name(type)}")
    y.type = type
    return 0


cdef int want_index_type(const Tensor* tensor, str what) except -1:
    """Refuse an index, shape or axis tensor that is neither int32 nor int64."""
    if tensor.type != INT32 and tensor.type != INT64:
        raise ValueError(f"{what} must be INT32 or INT64, got {type_name(tensor.type)}")
    return 0


cdef int want_one(const Tensor* tensor, str what) except -1:
    """Refuse a tensor of more or less than one element."""
    if count(tensor) != 1:
        raise ValueError(f"{what} must have one element, has {count(tensor)}")
    return 0


cdef int64_t want_element(const Tensor* tensor) except -1:
    """Bytes of an element of a type that has whole bytes."""
    cdef int size = type_size(tensor.type)
    if size == 0:
        raise ValueError(f"Type {type_name(tensor.type)} is currently not supported")
    return size


cdef int want_bytes(const Tensor* x) except -1:
    """A sparse constant may hold less."""
    if <int64_t>x.bytes < bytes_of(x.type, x.rank, x.dims):
        raise ValueError("the input holds less than its shape says")
    return 0


cdef int want_same_quantization(const Tensor* a, const Tensor* b) except -1:
    """Refuse tensors that need rescaling."""
    if not same_quantization(a, b):
        raise ValueError(
            f"scale and zero point must be equal: params.scale {a.scale} and {b.scale}, "
            f"params.zero_point {a.zero_point} and {b.zero_point}")
    return 0


cdef int want_symmetric(const Tensor* tensor) except -1:
    """Refuse an int16 tensor with a zero point."""
    if tensor.type == INT16 and tensor.scale_count == 1 and tensor.zero_point != 0:
        raise ValueError(f"params.zero_point of an INT16 tensor must be 0, is {tensor.zero_point}")
    return 0
