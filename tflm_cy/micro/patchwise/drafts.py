"""The main graph while it is rewritten: tensors that join it, tensors that nobody needs any more, operators in order.

    draft = Draft(graph)
    begin = draft.constant((0, 4, 0, 0))
    tile = draft.like(12, (1, 4, 48, 8), "12 patch 0")
    draft.add("SLICE", (12, begin, draft.constant((1, 4, 48, 8))), tile)

The result is a graph_view.GraphView, which `arena_usage.demand` takes as it takes a file's, and what the writer needs to
make the same file of it. Tensors that are kept keep their numbers, so that operators that are kept stay as they are;
new ones take the numbers of those that are not needed any more.
"""

import struct
from dataclasses import dataclass, replace
from types import SimpleNamespace

from tflm_cy.micro.graph_view import GraphView, Node, Subgraph, Tensor
from tflm_cy.schema.layouts import OPTIONS_OF
from tflm_cy.schema.reader import absent, slots

_NOTHING = memoryview(b"")


@dataclass
class Origin:
    """Where a tensor that the file has not comes from: one of the file that it is like, or no one; and its constant."""

    like: int | None
    data: bytes = b""


@dataclass
class NewNode:
    """An operator that the file has not: a copy of another (`origin`) with other tensors and options, or another one."""

    node: Node
    origin: int | None
    options: dict  # what differs from the origin's


class Draft:
    """See the module.

    Parameters
    ----------
    graph : graph_view.GraphView
        Is not changed.
    kept : collection of int
        The operators of the main graph that stay.
    """

    def __init__(self, graph, kept):
        self.graph = graph
        main = graph.subgraphs[0]
        self.main = main
        self.nodes = []  # int: an operator that is kept, or NewNode
        self.tensors = list(main.tensors)
        self.new = {}  # tensor that the file has not -> Origin
        self._constants = {}
        self._options = {}
        used = {t for i in kept for t in (*main.nodes[i].inputs, *main.nodes[i].outputs, *main.nodes[i].intermediates)}
        self._used = used | {*main.inputs, *main.outputs}
        self._free = None

    def free(self, needed):
        """Tensors that neither a kept operator nor one of `needed` names give their numbers to new ones."""
        used = self._used | set(needed)
        self._free = [t for t in reversed(range(len(self.main.tensors))) if t not in used]

    def keep(self, index):
        """The operator `index` of the graph comes next, as it is."""
        self.nodes.append(index)

    def like(self, t, shape, name):
        """A new tensor of the type and quantization of one of the file."""
        tensor = self.main.tensors[t]
        new = Tensor(
            name, tensor.type, tuple(shape), False, tensor.scales, tensor.zero_points, _NOTHING, axis=tensor.axis
        )
        return self._join(new, Origin(t))

    def constant(self, values, shape=None):
        """A constant of int32; equal ones are one tensor."""
        shape = (len(values),) if shape is None else shape
        key = (tuple(values), shape)
        if key not in self._constants:
            data = struct.pack(f"<{len(values)}i", *values)
            tensor = Tensor("", "INT32", shape, False, (), (), memoryview(data))
            self._constants[key] = self._join(tensor, Origin(None, data))
        return self._constants[key]

    def scalar_like(self, t, number, name):
        """A constant of one element of the type and quantization of a tensor of the file, given as bytes."""
        key = (number, t)
        if key not in self._constants:
            new = replace(self.main.tensors[t], name=name, shape=(1,), data=memoryview(number), variable=False)
            self._constants[key] = self._join(new, Origin(t, number))
        return self._constants[key]

    def add(self, op, inputs, output, **options):
        """A new operator without an original."""
        kind = OPTIONS_OF.get(op)
        values = absent(kind or "AbsOptions") if not options else SimpleNamespace(**options)
        self.nodes.append(NewNode(self._node(op, inputs, (output,), values), None, options))

    def copy(self, index, inputs, output, **options):
        """A copy of operator `index` with other tensors and, maybe, other options."""
        origin = self.main.nodes[index]
        values = origin.options
        if options:
            key = (index, *sorted(options.items()))
            if key not in self._options:
                fields = {name: getattr(values, name) for name in slots(values.kind)}
                self._options[key] = SimpleNamespace(**{**fields, **options})
            values = self._options[key]
        node = self._node(origin.op, inputs, (output,), values)
        node.custom_bytes = origin.custom_bytes
        self.nodes.append(NewNode(node, index, options))

    def view(self):
        """The graph_view.GraphView of what there is."""
        nodes = []
        for index, found in enumerate(self.nodes):
            node = found.node if isinstance(found, NewNode) else self.main.nodes[found]
            nodes.append(replace(node, index=index, tensors=self.tensors))
        main = Subgraph(self.tensors, nodes, self.main.inputs, self.main.outputs)
        metadata = [entry for entry in self.graph.metadata if not entry[0].startswith("OfflineMemoryAllocation")]
        return GraphView([main, *self.graph.subgraphs[1:]], metadata, self.graph.file_bytes)

    def _join(self, tensor, origin):
        t = self._free.pop() if self._free else len(self.tensors)
        self.tensors[t : t + 1] = [tensor]
        self.new[t] = origin
        return t

    def _node(self, op, inputs, outputs, options):
        return Node(0, len(self.nodes), op, False, tuple(inputs), outputs, options, b"", self.tensors)
