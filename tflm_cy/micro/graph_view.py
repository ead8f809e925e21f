"""A model as TFLM sees it before it allocates: tensors with their bytes, nodes with their options.

    >>> from tflm_cy.micro.graph_view import view                # doctest: +SKIP
    >>> view(model).subgraphs[0].nodes[0].op                     # doctest: +SKIP
    'DEPTHWISE_CONV_2D'

What TFLM takes from the file and TensorFlow Lite does not: a tensor is constant when its buffer holds bytes; an int4
element counts a byte; it is quantized only when both scales and zero points are given. Shapes are those of the file;
one with an open dimension (-1), which TFLM fills in behind a RESHAPE, is refused by the schema's verifier already.

Raises ValueError that names the tensor or node when the model's indices, shapes or operators cannot be TFLM's.
"""

import struct
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from tflm_cy.schema.flexbuffer import options as flexbuffer_options
from tflm_cy.schema.layouts import OPTIONS_OF
from tflm_cy.schema.names import BUILTIN_NAMES, TENSOR_TYPE_NAMES
from tflm_cy.schema.reader import Table, absent, read

_FOLLOWING = 64

ELEMENT_BYTES = {
    **dict.fromkeys(("INT8", "UINT8", "BOOL", "INT4"), 1),
    **dict.fromkeys(("INT16", "UINT16", "FLOAT16", "BFLOAT16"), 2),
    **dict.fromkeys(("INT32", "UINT32", "FLOAT32", "RESOURCE"), 4),
    **dict.fromkeys(("INT64", "UINT64", "FLOAT64", "COMPLEX64"), 8),
    "COMPLEX128": 16,
}


@dataclass
class Tensor:
    """One tensor of a subgraph."""

    name: str
    type: str
    shape: tuple[int, ...]
    variable: bool
    scales: tuple[float, ...]  # empty unless there are zero points too
    zero_points: tuple[int, ...]
    data: memoryview = field(repr=False)  # empty unless it is constant
    sparse: bool = False  # the file says so; TFLM does not look
    following: memoryview = field(default=memoryview(b""), repr=False)  # what the file holds behind a constant's bytes
    axis: int = 0  # that the scales belong to, where there are several
    behind_shape: int = 0  # what the file holds behind the shape: a kernel that asks for one dimension more finds it

    @property
    def constant(self):
        return len(self.data) > 0

    @property
    def rank(self):
        return len(self.shape)

    @property
    def elements(self):
        return prod(self.shape)

    @property
    def affine(self):
        """Whether it is quantized for TFLM."""
        return len(self.scales) > 0

    @property
    def scale(self):
        return self.scales[0] if self.scales else 0.0

    @property
    def zero_point(self):
        return self.zero_points[0] if self.scales else 0

    @property
    def has_size(self):
        """Whether TFLM knows how many bytes an element takes."""
        return self.type in ELEMENT_BYTES

    @property
    def element_bytes(self):
        if self.type not in ELEMENT_BYTES:
            raise ValueError(f"tensor '{self.name}' has type {self.type}, which TFLM cannot hold")
        return ELEMENT_BYTES[self.type]

    @property
    def nbytes(self):
        return self.elements * self.element_bytes


@dataclass
class Node:
    """One operator of a subgraph, as its kernel's prepare finds it."""

    subgraph: int
    index: int
    op: str  # the builtin's name, or a custom operator's own
    custom: bool
    inputs: tuple[int, ...]  # tensor indices, -1 where an optional input is left out
    outputs: tuple[int, ...]
    options: Table
    custom_bytes: bytes
    tensors: list[Tensor]  # of the subgraph
    intermediates: tuple[int, ...] = ()
    has_custom_options: bool = False  # also when they are empty
    lost: str = ""  # which subgraph it runs that is not there

    def input(self, i):
        """The tensor of input i; None when it is left out."""
        t = self.inputs[i] if i < len(self.inputs) else -1
        return self.tensors[t] if t >= 0 else None

    def output(self, i):
        return self.tensors[self.outputs[i]]

    def constant_values(self, i):
        """The numbers of input i, a constant of int32 or int64 (axes, paddings); None if it is no such tensor."""
        tensor = self.input(i)
        letter = {"INT32": "i", "INT64": "q"}.get(tensor.type) if tensor is not None and tensor.constant else None
        if letter is None or len(tensor.data) < tensor.nbytes:
            return None
        return struct.unpack_from(f"<{tensor.elements}{letter}", tensor.data)

    @cached_property
    def custom_options(self):
        """The FlexBuffer map of a custom operator."""
        return flexbuffer_options(self.custom_bytes)

    @property
    def children(self):
        """The subgraphs that it runs, in the order in which TFLM walks them."""
        fields = {
            "IF": ("then_subgraph_index", "else_subgraph_index"),
            "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
            "CALL_ONCE": ("init_subgraph_index",),
        }.get(self.op, ())
        return [] if self.lost else [getattr(self.options, name) for name in fields]

    def __str__(self):
        place = f" of subgraph {self.subgraph}" if self.subgraph else ""
        return f"node {self.index} {self.op}{place}"


@dataclass
class Subgraph:
    """Tensors and nodes; inputs and outputs are tensor indices."""

    tensors: list[Tensor]
    nodes: list[Node]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass
class GraphView:
    """All subgraphs of a model; the main one is the first."""

    subgraphs: list[Subgraph]
    metadata: list[tuple[str, memoryview]]  # in the file's order, names may repeat
    file_bytes: int

    @property
    def nodes(self):
        """All nodes, subgraph by subgraph: the order of TFLM's init and prepare."""
        return [node for subgraph in self.subgraphs for node in subgraph.nodes]

    @property
    def variables(self):
        """(container, name) of the resource variables, in the order in which TFLM meets them."""
        handles = (node.options for node in self.nodes if node.op == "VAR_HANDLE")
        return list(dict.fromkeys((options.container, options.shared_name) for options in handles))

    @property
    def tensor_places(self):
        """(subgraph, tensor) of all tensors, in the order in which offline plans count them."""
        return [(g, t) for g, subgraph in enumerate(self.subgraphs) for t in range(len(subgraph.tensors))]

    def tensor(self, place):
        return self.subgraphs[place[0]].tensors[place[1]]


def view(model):
    """The GraphView of a `schema.model.Model`."""
    root = read(model)
    buffers = root.buffers
    codes = [_operator_name(code) for code in root.operator_codes]
    subgraphs = [_subgraph(g, table, buffers, codes) for g, table in enumerate(root.subgraphs)]
    if not subgraphs:
        raise ValueError("the model has no subgraph")
    count = len(subgraphs)
    for node in (node for subgraph in subgraphs for node in subgraph.nodes):
        for child in node.children:
            if not 0 < child < count:
                node.lost = f"it runs subgraph {child} of {count}"
    metadata = [(entry.name, _buffer(buffers, entry.buffer)) for entry in root.metadata]
    return GraphView(subgraphs, metadata, model.nbytes)


def _subgraph(g, table, buffers, codes):
    tensors = [_tensor(tensor, buffers) for tensor in table.tensors]
    nodes = [_node(g, i, operator, codes, tensors) for i, operator in enumerate(table.operators)]
    for what, indices in (("input", table.inputs), ("output", table.outputs)):
        _check(indices, len(tensors), 0, f"{what} of subgraph {g}")
    return Subgraph(tensors, nodes, table.inputs, table.outputs)


def _tensor(table, buffers):
    quantization = table.quantization
    scales = quantization.scale if quantization and quantization.zero_point else ()
    number = table.type
    known = 0 <= number < len(TENSOR_TYPE_NAMES)
    return Tensor(
        name=table.name,
        type=TENSOR_TYPE_NAMES[number] if known else f"number {number}",
        shape=table.shape,
        variable=table.is_variable,
        scales=scales,
        zero_points=quantization.zero_point if quantization else (),
        data=_buffer(buffers, table.buffer),
        following=_following(buffers, table.buffer),
        sparse=table.sparsity is not None,
        axis=quantization.quantized_dimension if quantization else 0,
        behind_shape=_behind_shape(table),
    )


def _behind_shape(table):
    end = table.vector_position("shape") + 4 * len(table.shape)
    inside = table.shape and end + 4 <= len(table.content)
    return struct.unpack_from("<i", table.content, end)[0] if inside else 0


def _buffer(buffers, index):
    return buffers[index].data if index < len(buffers) else memoryview(b"")


def _following(buffers, index):
    """Some bytes: a kernel that looks beyond the end of its indices finds these."""
    start = buffers[index].vector_position("data") if index < len(buffers) else 0
    end = start + len(buffers[index].data) if start else 0
    return buffers[index].content[end : end + _FOLLOWING] if start else memoryview(b"")


def _node(g, index, table, codes, tensors):
    if table.opcode_index >= len(codes):
        raise ValueError(f"node {index} of subgraph {g} has operator code {table.opcode_index} of {len(codes)}")
    op, custom = codes[table.opcode_index]
    where = f"of node {index} {op} of subgraph {g}"
    _check(table.inputs, len(tensors), -1, "input " + where)
    _check(table.outputs, len(tensors), 0, "output " + where)
    expected = OPTIONS_OF.get(op)
    options = table.builtin_options
    if expected is None or options is None or options.kind != expected:
        options = absent(expected or "AbsOptions")
    custom_bytes = bytes(table.custom_options)
    return Node(
        g,
        index,
        op,
        custom,
        table.inputs,
        table.outputs,
        options,
        custom_bytes,
        tensors,
        table.intermediates,
        table.vector_position("custom_options") > 0,
    )


def _operator_name(code):
    """(name, whether it is a custom operator's) of an OperatorCode."""
    number = max(code.builtin_code, code.deprecated_builtin_code)
    if not 0 <= number < len(BUILTIN_NAMES):
        raise ValueError(f"there is no builtin operator {number}")
    if BUILTIN_NAMES[number] == "CUSTOM":
        return code.custom_code, True
    return BUILTIN_NAMES[number], False


def _check(indices, count, least, what):
    for index in indices:
        if not least <= index < count:
            raise ValueError(f"{what}: there is no tensor {index} among {count}")
