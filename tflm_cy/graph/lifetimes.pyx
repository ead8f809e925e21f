"""When each tensor's memory is needed, in steps of the execution plan; intervals are closed.

TensorFlow Lite's rules (`tflite_lifetimes`, the Interpreter's):

| tensor | first use | last use |
| --- | --- | --- |
| graph input | 0 | never released |
| graph output | the node that writes it | never released |
| written but never read | the node that writes it | never released |
| read by some node | the node that writes it | the last node that reads it |
| with preserve_all | as above | never released |
| neither written nor a graph input | no memory | |

A plan may be cut into stages at dynamic outputs: nodes first .. end - 1 of the plan are planned together, and what a
later stage reads is kept to the end of this one; only the entries of tensors that these nodes write are set then.
"Never released" is the step `plan_count`, behind the last node.

Source: LiteRT:tflite/arena_planner.cc.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.tensor cimport PLANNED, Tensor


cdef void tflite_lifetimes(
    const Tensor* tensors, int tensor_count, const Node* nodes, const int32_t* plan, int plan_count, int first, int end,
    const int32_t* inputs, int input_count, const int32_t* outputs, int output_count, bint preserve_all,
    int32_t* first_use, int32_t* last_use,
) noexcept nogil:
    """Fill first_use and last_use (tensor_count entries each); first_use is -1 where no stage so far gives memory."""
    cdef int t, i, step
    cdef const Node* node
    if first == 0:
        for t in range(tensor_count):
            first_use[t] = -1
            last_use[t] = -1
        for i in range(input_count):
            t = inputs[i]
            if t >= 0 and tensors[t].allocation == PLANNED:
                first_use[t] = 0
                last_use[t] = plan_count
    for step in range(first, end):
        node = &nodes[plan[step]]
        for i in range(node.output_count):
            t = node.outputs[i]
            if t >= 0 and tensors[t].allocation == PLANNED and (first_use[t] < 0 or first > 0):
                first_use[t] = step
                last_use[t] = -1
    for step in range(first, plan_count):
        node = &nodes[plan[step]]
        for i in range(node.input_count):
            t = node.inputs[i]
            if t >= 0 and first_use[t] >= first and last_use[t] < step:
                last_use[t] = step
    for i in range(output_count):
        t = outputs[i]
        if t >= 0 and first_use[t] >= first:
            last_use[t] = plan_count
    for t in range(tensor_count):
        if first_use[t] >= first and (last_use[t] < 0 or preserve_all):
            last_use[t] = plan_count
