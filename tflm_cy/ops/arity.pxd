"""The first check of every prepare: how many inputs and outputs a node has, and that the required ones are there."""
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
