# tflm_cy: optimize=speed
"""What an allocation carries over from the one before it: values of inputs whose shapes stay, and, where it is refused, the last run's outputs."""
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy

from tflm_cy.graph.tensor cimport PLANNED, STRING, VARIABLE, Tensor, shape_of


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


cdef dict save_addresses(const Graph* graph, set resized):
    """Where the last run's inputs and outputs lie, and their shapes: they stay readable when an allocation is refused."""
    cdef dict saved = {}
    cdef const Tensor* tensor
    cdef int i, t
    for i in range(graph.input_count + graph.output_count):
        t = graph.inputs[i] if i < graph.input_count else graph.outputs[i - graph.input_count]
        if t < 0 or t in resized:
            continue
        tensor = &graph.tensors[t]
        if tensor.allocation == PLANNED and tensor.data != NULL:
            saved[t] = (<uintptr_t>tensor.data, tensor.bytes, shape_of(tensor))
    return saved


cdef int restore_addresses(Graph* graph, dict saved) except -1:
    cdef Tensor* tensor
    cdef int t
    for t, (address, size, shape) in saved.items():
        tensor = &graph.tensors[t]
        if tensor.allocation != PLANNED:
            continue
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
