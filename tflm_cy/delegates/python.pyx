"""Delegates written in Python: `Interpreter(..., experimental_delegates=[mine])`.

    class Negate:
        def supports(self, node):              # asked for every node of the plan, once
            return node.op_name == "NEG"

        def build(self, subset):               # one call for each partition of the nodes that are supported
            def kernel(inputs, outputs):       # numpy views, in the order of subset.inputs and subset.outputs
                np.negative(inputs[0], out=outputs[0])
            return kernel

A kernel may have a method `prepare(shapes)`, which gets the shapes of its inputs and returns those of its outputs,
whenever they may have changed; without it they are the file's. It runs with the GIL held; what it raises is raised by `invoke`.

Views die with the call: a kernel that keeps one makes `invoke` raise, and every call after it until the view is gone.
"""
import numpy as np

from libc.stdint cimport int32_t, int64_t

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.delegate import Delegate
from tflm_cy.graph.partition cimport Partition
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport (
    CONSTANT, INT2, INT4, MAX_RANK, RESOURCE, STRING, UINT4, VARIANT, Tensor, bytes_of, shape_of, type_name,
)
from tflm_cy.graph.view cimport view
from tflm_cy.schema.slots cimport SUBGRAPH_TENSORS, TENSOR_NAME
from tflm_cy.schema.table cimport Vector, table_vector, vector_table

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


class Subset:
    """One partition: nodes (NodeInfo, in the order in which they would run), inputs and outputs (TensorInfo)."""

    __slots__ = ("inputs", "nodes", "outputs")


cdef bint is_viewable(const Tensor* tensor) noexcept:
    return not (tensor.type == STRING or tensor.type == RESOURCE or tensor.type == VARIANT or tensor.type == INT4 or tensor.type == UINT4
                or tensor.type == INT2 or tensor.sparsity != NULL)


cdef object tensor_info(Subgraph g, int t):
    cdef const Tensor* tensor = &g.tensors[t]
    cdef Vector name = table_vector(vector_table(table_vector(g.table, SUBGRAPH_TENSORS), t), TENSOR_NAME)
    cdef int i
    info = TensorInfo()
    info.index = t
    info.name = "" if name.data == NULL else (<const char*>name.data)[:name.length].decode("utf-8", "replace")
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
    cdef const Node* node = &g.nodes[n]
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
    dtype = np.dtype(DTYPES[type_name(tensor.type)])
    if tensor.bytes == 0:
        return np.empty(shape_of(tensor), dtype)
    return np.ndarray(shape_of(tensor), dtype, view(g, tensor, readonly))


class PythonDelegate(Delegate):
    """A user's object with `supports` and `build` as a delegate."""

    def __init__(self, mine):
        self.mine = mine
        self.name = type(mine).__name__
        self.kernels = {}

    def claim(self, Subgraph subgraph):
        delegated = {(<Partition>partition).index for partition in subgraph.partitions}
        return [n for n in subgraph.execution_plan if n not in delegated and self.mine.supports(node_info(subgraph, n))]

    def build(self, Subgraph subgraph, Partition partition):
        cdef int t
        subset = Subset()
        subset.nodes = [node_info(subgraph, n) for n in partition.nodes]
        subset.inputs = [tensor_info(subgraph, t) for t in partition.inputs]
        subset.outputs = [tensor_info(subgraph, t) for t in partition.outputs]
        for t in partition.inputs + partition.outputs:
            if not is_viewable(&subgraph.tensors[t]) or type_name(subgraph.tensors[t].type) not in DTYPES:
                raise ValueError(
                    f"{self.name} cannot take nodes with tensor {t}: {type_name(subgraph.tensors[t].type)} has no numpy view")
        kernel = self.mine.build(subset)
        if not callable(kernel):
            raise TypeError(f"{self.name}.build gave {type(kernel).__name__}, not a callable")
        self.kernels[(subgraph.index, partition.index)] = kernel
        subgraph.registrations[partition.index] = REGISTRATION


cdef object kernel_of(Subgraph g, const Node* node):
    for partition in g.partitions:
        if (<Partition>partition).index == node.index:
            return (<Partition>partition).delegate.kernels[(g.index, node.index)]
    raise RuntimeError("the kernel is lost")


cdef int prepare(Context context, Node* node) except -1:
    """Shapes of the outputs."""
    cdef Subgraph g = <Subgraph>context
    cdef int32_t[MAX_RANK] dims
    cdef int i, d
    cdef Tensor* tensor
    kernel = kernel_of(g, node)
    if hasattr(kernel, "prepare"):
        shapes = list(kernel.prepare([tuple(shape_of(context.input(node, i))) for i in range(node.input_count)]))
        if len(shapes) != node.output_count:
            raise ValueError(f"prepare gave {len(shapes)} shapes for {node.output_count} outputs")
        for i in range(node.output_count):
            shape = tuple(shapes[i])
            if len(shape) > MAX_RANK:
                raise ValueError(f"rank {len(shape)} exceeds {MAX_RANK}")
            for d in range(len(shape)):
                dims[d] = shape[d]
            context.set_shape(context.output(node, i), len(shape), dims)
    for i in range(node.output_count):
        tensor = context.output(node, i)
        for d in range(tensor.rank):
            if tensor.dims[d] < 0:
                raise ValueError(f"the shape {shape_of(tensor)} of output {i} is not known; the kernel wants a method prepare")
    node.invoke = invoke
    return 0


cdef int invoke(Context context, Node* node) noexcept nogil:
    with gil:
        return call(context, node)


cdef int call(Context context, Node* node) noexcept:
    cdef Subgraph g = <Subgraph>context
    cdef int i
    try:
        inputs = [array_of(g, context.input(node, i), True) for i in range(node.input_count)]
        outputs = [array_of(g, context.output(node, i), False) for i in range(node.output_count)]
        kernel_of(g, node)(inputs, outputs)
        del inputs, outputs
        if g.shared.live_views > 0:
            raise RuntimeError("the kernel has kept a view of a tensor; it must copy what it keeps")
    except BaseException as error:
        return context.fail_because(error)
    return 0


REGISTRATION = register(prepare, version=1)
