"""What code of a user's is told about nodes and tensors, and numpy views of their memory.

Python delegates and Python operators see a graph through `TensorInfo` and `NodeInfo`, plain objects that stay valid for ever, and compute
on arrays made by `array_of` and `memory_of`, which may live during the call only (see `graph.view`).
"""
import numpy as np

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.strings cimport load_strings, store_strings
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport (
    BFLOAT16, CONSTANT, DYNAMIC, MAX_RANK, RESOURCE, STRING, VARIANT, Tensor, bytes_of, is_packed, shape_of, type_name,
)
from tflm_cy.graph.view cimport view_of
from tflm_cy.schema.slots cimport SUBGRAPH_TENSORS, TENSOR_NAME
from tflm_cy.schema.table cimport table_vector, text_bytes, vector_table

DTYPES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "INT32": "int32", "UINT8": "uint8", "INT64": "int64", "BOOL": "bool", "INT16": "int16",
    "COMPLEX64": "complex64", "INT8": "int8", "FLOAT64": "float64", "COMPLEX128": "complex128", "UINT64": "uint64", "UINT32": "uint32",
    "UINT16": "uint16",
}


class TensorInfo:
    """What a delegate is told about a tensor.

    Attributes
    ----------
    index : int
    name : str
    shape : tuple of int
        As in the file, or as an input was resized before.
    type : str
        The schema's name, "FLOAT32".
    dtype : numpy.dtype or None
        None for packed integers, strings and handles.
    scales, zero_points : tuple
        Empty without quantization; one of each, or several along `quantized_dimension`.
    value : numpy.ndarray or None
        A copy of a constant's value.
    """

    __slots__ = ("dtype", "index", "name", "quantized_dimension", "scales", "shape", "type", "value", "zero_points")

    def __repr__(self):
        return f"TensorInfo({self.index}, {self.name!r}, {self.type} {list(self.shape)})"


class NodeInfo:
    """What a delegate is told about a node: index, op_name, inputs and outputs (TensorInfo, None where omitted), custom_options (bytes)."""

    __slots__ = ("custom_options", "index", "inputs", "op_name", "outputs")

    def __repr__(self):
        return f"NodeInfo({self.index}, {self.op_name})"


cdef bint is_viewable(const Tensor* tensor) noexcept:
    """True when numpy has the type and the elements lie one behind the other."""
    return not (tensor.type == STRING or tensor.type == RESOURCE or tensor.type == VARIANT or is_packed(tensor) or tensor.type == BFLOAT16
                or tensor.sparsity != NULL)


cdef str tensor_name(Subgraph g, int t):
    cdef const uint8_t* tensor = vector_table(table_vector(g.table, SUBGRAPH_TENSORS), g.file_index(t))
    return text_bytes(table_vector(tensor, TENSOR_NAME)).decode("utf-8", "replace")


def name_of(Subgraph g, int t):
    """A tensor for a message: its number, the name that the file gives it, and the first node that reads it."""
    cdef const Node* node
    cdef int n, i
    for n in range(g.graph.node_count):
        node = &g.graph.nodes[n]
        for i in range(node.input_count):
            if node.inputs[i] == t and g.operator_names[n] != "DELEGATE":
                return f"tensor {t} '{tensor_name(g, t)}', which node number {n} ({g.operator_names[n]}) reads"
    return f"tensor {t} '{tensor_name(g, t)}'"


cdef object tensor_info(Subgraph g, int t):
    cdef const Tensor* tensor = &g.tensors[t]
    cdef int i
    info = TensorInfo()
    info.index = g.file_index(t)
    info.name = tensor_name(g, t)
    info.shape = tuple(shape_of(tensor))
    info.type = type_name(tensor.type)
    info.dtype = np.dtype(DTYPES[info.type]) if info.type in DTYPES else None
    info.scales = tuple([tensor.scales[i] for i in range(tensor.scale_count)])
    info.zero_points = tuple([tensor.zero_points[i] for i in range(tensor.zero_point_count)])
    info.quantized_dimension = tensor.quantized_dimension
    info.value = None
    if tensor.allocation == CONSTANT and is_viewable(tensor) and info.dtype is not None:
        if <int64_t>tensor.bytes >= bytes_of(tensor.type, tensor.rank, tensor.dims):
            info.value = np.frombuffer(
                (<const char*>tensor.data)[:bytes_of(tensor.type, tensor.rank, tensor.dims)], info.dtype).reshape(info.shape)
    return info


cdef object node_info(Subgraph g, int n):
    cdef const Node* node = &g.graph.nodes[n]
    cdef int i
    info = NodeInfo()
    info.index = n
    info.op_name = g.operator_names[n]
    info.inputs = tuple([None if node.inputs[i] < 0 else tensor_info(g, node.inputs[i]) for i in range(node.input_count)])
    info.outputs = tuple([None if node.outputs[i] < 0 else tensor_info(g, node.outputs[i]) for i in range(node.output_count)])
    info.custom_options = b""
    if node.custom_options != NULL:
        info.custom_options = (<const char*>node.custom_options)[:node.custom_options_size]
    return info


cdef object array_of(Subgraph g, const Tensor* tensor, bint readonly):
    """A numpy view of a tensor."""
    return memory_of(g, tensor.data, tensor.bytes, shape_of(tensor), np.dtype(DTYPES[type_name(tensor.type)]), readonly)


cdef object memory_of(Subgraph g, void* data, size_t bytes, shape, dtype, bint readonly):
    """A numpy array over memory that the subgraph keeps."""
    if bytes == 0:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, view_of(g, data, bytes, readonly))


cdef object strings_of(Subgraph g, const Tensor* tensor):
    """The value of a string tensor: an object array of bytes, which owns them. Where a resize wants more than were set, the others are None."""
    items = load_strings(tensor)
    array = np.empty(shape_of(tensor), dtype=object)
    flat = array.reshape(-1)
    flat[:len(items)] = items[:len(flat)]
    return array


cdef int store_value(Subgraph g, Tensor* tensor, value, str what) except -1:
    """Give a tensor a value while invoking: of its dtype exactly; a dynamic one, and strings, take the value's shape."""
    cdef int32_t[MAX_RANK] dims
    cdef int d
    array = np.asarray(value)
    if array.ndim > MAX_RANK:
        raise ValueError(f"rank {array.ndim} of {what} exceeds {MAX_RANK}")
    for d in range(array.ndim):
        dims[d] = array.shape[d]
    if tensor.type == STRING:
        items = [item.encode() if isinstance(item, str) else bytes(item) for item in array.ravel().tolist()]
        if g.resize(tensor, array.ndim, dims) != 0:
            raise ValueError((<bytes>g.message).decode("utf-8", "replace"))
        return store_strings(g.allocator, tensor, items)
    dtype = np.dtype(DTYPES[type_name(tensor.type)])
    if array.dtype != dtype:
        raise ValueError(f"{what} is {dtype}, not {array.dtype}")
    if tensor.allocation == DYNAMIC:
        if g.resize(tensor, array.ndim, dims) != 0:
            raise ValueError((<bytes>g.message).decode("utf-8", "replace"))
    elif list(array.shape) != shape_of(tensor):
        raise ValueError(f"{what} has the shape {shape_of(tensor)}, not {list(array.shape)}, and it was not said to be dynamic")
    if tensor.bytes > 0:
        array_of(g, tensor, False)[...] = array
    return 0
