# tflm_cy: optimize=speed
"""What an allocation carries over from the one before it: values of inputs whose shapes stay, and, where it is refused, the last run's outputs.

TensorFlow shapes a node's outputs when it prepares the node, and those that get another shape have no memory then. A refusal leaves the outputs
of the nodes in front, of whole partitions, in this state, and those behind as they were. Outputs shaped while invoking keep what they have."""
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.tensor cimport DYNAMIC, PLANNED, STRING, VARIABLE, Tensor, bytes_of, shape_of

from tflm_cy.graph.refusal import ShapedRefusalError


cdef dict save_inputs(const Graph* graph, set resized):
    """Values of inputs that keep their shape, as bytes."""
    cdef dict saved = {}
    cdef const Tensor* tensor
    cdef int i, t
    for i in range(graph.input_count):
        t = graph.inputs[i]
        if t < 0 or t in resized:
            continue
        tensor = &graph.tensors[t]
        if tensor.data != NULL and (tensor.allocation == PLANNED or tensor.type == STRING):
            saved[t] = (<char*>tensor.data)[:tensor.bytes]
    return saved


cdef dict save_variables(const Graph* graph, dict saved):
    """Values of variables, beside what is saved already."""
    cdef int t
    for t in range(graph.tensor_count):
        if graph.tensors[t].allocation == VARIABLE and graph.tensors[t].data != NULL:
            saved[t] = (<char*>graph.tensors[t].data)[:graph.tensors[t].bytes]
    return saved


cdef int restore_values(Graph* graph, dict saved) except -1:
    """Where sizes are the same."""
    cdef bytes value
    cdef int t
    for t, value in saved.items():
        if graph.tensors[t].data != NULL and graph.tensors[t].bytes == <size_t>len(value):
            memcpy(graph.tensors[t].data, <const char*>value, len(value))
    return 0


cdef tuple save_addresses(const Graph* graph, list partitions, set resized, bint allocated):
    """Where the last run's inputs and outputs lie, or all tensors if all are kept, and their shapes: they stay readable when an allocation is
    refused. And the shapes of what partitions give, which keep them where a node of theirs is refused."""
    cdef dict saved = {}
    cdef const Tensor* tensor
    cdef int i, t
    cdef int ends = graph.input_count + graph.output_count
    for i in range((ends + graph.tensor_count if graph.preserve_all else ends) if allocated else 0):
        t = i - ends if i >= ends else graph.inputs[i] if i < graph.input_count else graph.outputs[i - graph.input_count]
        if t < 0 or t in resized:
            continue
        tensor = &graph.tensors[t]
        if tensor.data != NULL and (tensor.allocation == PLANNED or (tensor.allocation == DYNAMIC and tensor.type != STRING)):
            saved[t] = (<uintptr_t>tensor.data, tensor.bytes, shape_of(tensor), tensor.allocation)
    return saved, {t: shape_of(&graph.tensors[t]) for partition in partitions for t in partition.outputs}


cdef int keep_shaped(Graph* graph, int refused, dict addresses, dict shapes) except -1:
    """Leave out outputs that were shaped in front of the step that was refused; those of its own partition get back the shapes before."""
    cdef int number = graph.laid_out[refused].partition
    cdef const Node* node
    cdef Tensor* tensor
    cdef int step, i, d, t
    for step in range(refused):
        node = &graph.nodes[graph.laid_out[step].source]
        for i in range(node.output_count):
            t = node.outputs[i]
            if number < 0 or graph.laid_out[step].partition != number:
                if t in addresses and graph.tensors[t].allocation != DYNAMIC and addresses[t][2] != shape_of(&graph.tensors[t]):
                    addresses.pop(t)
            elif t in shapes:
                tensor, shape = &graph.tensors[t], shapes[t]
                tensor.rank = len(shape)
                for d in range(tensor.rank):
                    tensor.dims[d] = shape[d]
                tensor.bytes = max(bytes_of(tensor.type, tensor.rank, tensor.dims), 0) if tensor.type != STRING else tensor.bytes
    return 0


cdef int restore_addresses(Graph* graph, int refused, tuple before, object error) except -1:
    """As it was before an allocation of which a step was refused, with an error."""
    cdef Tensor* tensor
    cdef int t
    cdef dict saved = before[0]
    keep_shaped(graph, refused + isinstance(error.__cause__, ShapedRefusalError), saved, before[1])
    for t, (address, size, shape, allocation) in saved.items():
        tensor = &graph.tensors[t]
        if tensor.allocation != PLANNED and tensor.allocation != DYNAMIC:
            continue
        tensor.allocation = allocation
        tensor.data = <void*><uintptr_t>address
        tensor.bytes = size
        tensor.rank = len(shape)
        for i, dimension in enumerate(shape):
            tensor.dims[<int>i] = dimension
    return 0


cdef int forget_addresses(Graph* graph) noexcept:
    """No tensor of the head has memory: what was prepared is incomplete, and the last run's memory may be gone."""
    cdef int t
    for t in range(graph.tensor_count):
        if graph.tensors[t].allocation == PLANNED:
            graph.tensors[t].data = NULL
    return 0
