"""A subgraph that is called while another one runs: what it is given, without a copy or an allocation more than needed.

    set_inputs(body, values)        # shapes and values of its inputs; NULL: as it is. Prepared anew only for other shapes
    has_shapes_of(body, values)     # it stays prepared, and its outputs keep their memory
    reads_input(condition, i)       # else nobody misses the value
    keeps_variable(body, i)         # a loop variable that the body gives back as it is
    omit_unread_outputs(caller, node, body)     # of these, what the caller does not read
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.graph cimport count_reads
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.passes.partition cimport Partition
from tflm_cy.graph.resource cimport is_handle
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport PLANNED, same_shape
from tflm_cy.platform.long_copy cimport copy_bytes


cdef bint reads_input(Context callee, int i) noexcept:
    """A node of the callee reads its input, it is an output, or the user may look at it."""
    cdef Subgraph g = <Subgraph>callee
    cdef int k
    for k in range(g.graph.output_count):
        if g.graph.outputs[k] == g.graph.inputs[i]:
            return True
    return g.graph.preserve_all or count_reads(&g.graph, 0, g.graph.step_count, g.graph.inputs[i]) > 0


cdef bint variables_moved(Subgraph g) noexcept:
    """Whether a variable of the delegate got another shape while the callee was prepared."""
    cdef Partition partition
    for partition in g.partitions:
        if len(partition.moved) > 0:
            return True
    return False


cdef bint has_shapes_of(Context callee, const Tensor** values) noexcept:
    """True when the callee is prepared for inputs of these shapes; handles have none that matters."""
    cdef Subgraph g = <Subgraph>callee
    cdef int i
    if not g.ready or variables_moved(g):
        return False
    for i in range(g.graph.input_count):
        if values[i] != NULL and g.graph.inputs[i] >= 0 and not is_handle(values[i]):
            if not same_shape(values[i], &g.tensors[g.graph.inputs[i]]):
                return False
    return True


cdef int set_inputs(Context callee, const Tensor** values) except -1:
    """Shapes first, of all inputs; then values."""
    cdef Subgraph g = <Subgraph>callee
    cdef Tensor* target
    cdef int i
    if not has_shapes_of(callee, values):
        for i in range(g.graph.input_count):
            if values[i] != NULL and g.graph.inputs[i] >= 0 and not is_handle(values[i]):
                g.resize_tensor(g.graph.inputs[i], values[i].rank, values[i].dims)
        g.ready = False
        g.allocate()
    for i in range(g.graph.input_count):
        if values[i] == NULL or g.graph.inputs[i] < 0:
            continue
        target = &g.tensors[g.graph.inputs[i]]
        if target.allocation == PLANNED and target.bytes == values[i].bytes and values[i].data != NULL and not is_handle(target):
            if target.type != values[i].type:
                g.store(target, values[i])        # which says what is wrong
            elif target.data != values[i].data:
                copy_bytes(target.data, values[i].data, target.bytes)
        else:
            g.store(target, values[i])
    return 0


cdef bint keeps_variable(Context body, int i) noexcept:
    """The body's output is its input: the variable is of no turn but the first."""
    cdef Subgraph g = <Subgraph>body
    return g.graph.inputs[i] >= 0 and g.graph.outputs[i] == g.graph.inputs[i]


cdef void omit_unread_outputs(Context caller, const Node* node, Context body) noexcept:
    """An output of WHILE that the body keeps and that nobody reads is omitted from then on, and its tensor stays what the file says.

    TensorFlow does so when it prepares the node first."""
    cdef Subgraph g = <Subgraph>caller
    cdef int i, k, t
    for i in range(node.output_count):
        t = node.outputs[i]
        if t < 0 or not keeps_variable(body, i) or count_reads(&g.graph, 0, g.graph.step_count, t) > 0:
            continue
        for k in range(g.graph.output_count):
            if g.graph.outputs[k] == t:
                break
        else:
            (<int32_t*>node.outputs)[i] = -1
