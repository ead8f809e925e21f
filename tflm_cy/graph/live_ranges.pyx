# tflm_cy: optimize=speed
"""When each tensor's memory is needed, in steps; intervals are closed.

TensorFlow Lite's rules (the Interpreter's):

| tensor | first use | last use |
| --- | --- | --- |
| graph input | 0 | never released |
| graph output | the node that writes it | never released |
| written but never read | the node that writes it | never released |
| read by some node | the node that writes it | the last node that reads it |
| with preserve_all | as above | never released |
| neither written nor a graph input | no memory | |

Steps may be cut into stages at dynamic outputs: steps first .. end - 1 are planned together, and what a
later stage reads is kept to the end of this one; only the entries of tensors that these steps write are set then.
"Never released" is the step `step_count`, behind the last node.

Source: LiteRT:tflite/arena_planner.cc.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport Graph
from tflm_cy.graph.tensor cimport PLANNED


cdef void find_live_ranges(Graph* graph, int first, int end) noexcept nogil:
    """Fill first_use and last_use of what the steps first .. end - 1 write; first_use is -1 where no stage so far gives memory."""
    cdef int t, i, step
    cdef int32_t* first_use = graph.first_use
    cdef int32_t* last_use = graph.last_use
    cdef const Node* node
    if first == 0:
        for t in range(graph.tensor_count):
            first_use[t] = -1
            last_use[t] = -1
        for i in range(graph.input_count):
            t = graph.inputs[i]
            if t >= 0 and graph.tensors[t].allocation == PLANNED:
                first_use[t] = 0
                last_use[t] = graph.step_count
    else:
        for t in range(graph.tensor_count):
            if first_use[t] >= first:
                first_use[t] = -1
    for step in range(first, end):
        node = graph.steps[step].node
        for i in range(node.output_count):
            t = node.outputs[i]
            if t >= 0 and graph.tensors[t].allocation == PLANNED and (first_use[t] < 0 or first > 0):
                first_use[t] = step
                last_use[t] = -1
    for step in range(first, graph.step_count):
        node = graph.steps[step].node
        for i in range(node.input_count):
            t = node.inputs[i]
            if t >= 0 and first_use[t] >= first and last_use[t] < step:
                last_use[t] = step
    for i in range(graph.output_count):
        t = graph.outputs[i]
        if t >= 0 and first_use[t] >= first:
            last_use[t] = graph.step_count
    for t in range(graph.tensor_count):
        if first_use[t] >= first and (last_use[t] < 0 or graph.preserve_all or graph.keep_all):
            last_use[t] = graph.step_count
