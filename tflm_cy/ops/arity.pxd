"""How a prepare begins and may end: it checks how many inputs and outputs a node has, and may leave nothing for invoke to do."""
from tflm_cy.graph.context cimport Context, Node


cdef inline int expect_arity(Context context, const Node* node, int inputs, int outputs) except -1:
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


cdef inline int expect_arity_between(Context context, const Node* node, int fewest, int most, int outputs) except -1:
    """Refuse a wrong number of inputs or outputs; outputs of -1 leave theirs open."""
    if not fewest <= node.input_count <= most:
        raise ValueError(
            f"{context.operator_name(node)} wants {fewest} to {most} inputs, NumInputs(node) is {node.input_count}")
    if outputs >= 0 and node.output_count != outputs:
        raise ValueError(
            f"{context.operator_name(node)} wants {outputs} outputs, NumOutputs(node) is {node.output_count}")
    return 0


cdef inline int computed_in_prepare(Context context, Node* node) noexcept nogil:
    """The invoke of a node whose output prepare has written."""
    return 0
