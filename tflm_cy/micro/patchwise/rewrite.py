"""The rewritten model: its graph, and its bytes.

    patched = rewrite(model, [Stage(0, 3, 3, 1)])
    patched.view                                         # a graph_view.GraphView
    patched.model()                                      # a schema.model.Model

Everything of the file that is not rewritten stays the byte that it is (`schema.writer`); weights are shared.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from tflm_cy.micro.graph_view import GraphView, view
from tflm_cy.micro.patchwise.drafts import Draft, NewNode
from tflm_cy.micro.patchwise.stage import Segments, Stage
from tflm_cy.micro.patchwise.tiles import draw_stage
from tflm_cy.schema.front import present
from tflm_cy.schema.model import Model
from tflm_cy.schema.names import BUILTIN_NAMES, TENSOR_TYPE_NAMES
from tflm_cy.schema.reader import read
from tflm_cy.schema.writer import MainGraph, rewritten

# operator -> the version in which it takes a type (1 where it is not here)
_VERSIONS = {
    "SLICE": {"INT8": 2, "INT16": 4},
    "PAD": {"INT8": 2, "INT16": 4},
    "PADV2": {"INT8": 2, "INT16": 2},
    "CONCATENATION": {"INT8": 2, "INT16": 3},
}
_MOST_CODES = 127  # larger operator numbers stand in a second field


@dataclass(frozen=True)
class Patched:
    """A model with some stages computed tile by tile."""

    source: Model
    stages: tuple[Stage, ...]
    view: GraphView
    draft: Draft = field(repr=False)

    @property
    def operators(self):
        """How many there are."""
        return len(self.draft.nodes)

    def content(self, metadata=None):
        """The bytes of the model; `metadata` as in `schema.writer.rewritten`."""
        return rewritten(self.source, metadata, main=_Writer(self.source, self.draft).main())

    def model(self, metadata=None):
        """The same as a Model."""
        return Model.from_buffer(self.content(metadata))


def rewrite(model, stages, graph=None, segments=None):
    """The Patched of a model.

    Parameters
    ----------
    model : schema.model.Model
    stages : sequence of Stage
        Disjoint, in any order.
    graph : graph_view.GraphView, optional
        Of the model, if it is known already.
    segments : Segments, optional
        Of its main graph.

    Raises
    ------
    ValueError
        A stage cannot be tiled so, or two have operators in common.
    """
    graph = graph or view(model)
    segments = segments or Segments(graph.subgraphs[0])
    stages = tuple(sorted(stages))
    for a, b in pairwise(stages):
        if b.first <= a.last:
            raise ValueError(f"{a} and {b} have operators in common")
    found = {stage.first: (stage, _segment(segments, stage)) for stage in stages}
    inside = {i for stage in stages for i in range(stage.first, stage.last + 1)}
    draft = Draft(graph, [node.index for node in graph.subgraphs[0].nodes if node.index not in inside])
    draft.free(_needed([segment for _, segment in found.values()]))
    for node in graph.subgraphs[0].nodes:
        if node.index in found:
            stage, segment = found[node.index]
            draw_stage(draft, segment, stage)
        elif node.index not in inside:
            draft.keep(node.index)
    return Patched(model, stages, draft.view(), draft)


def _segment(segments, stage):
    segment = segments(stage.first, stage.last, stage.axis)
    if segment is None:
        raise ValueError(f"operators {stage.first} to {stage.last} cannot be computed tile by tile")
    rows, columns = segment.limits
    if not (1 <= stage.rows <= rows and 1 <= stage.columns <= columns):
        raise ValueError(f"{stage}: the output has {rows} rows and {columns} columns")
    return segment


def _needed(segments):
    """Tensors of stages that copies of their operators name: constants, and what is not cut; images on either side."""
    for segment in segments:
        yield segment.output
        yield from segment.sources
        for operator in segment.operators:
            yield from (t for i, t in enumerate(operator.node.inputs) if i not in operator.windows)


class _Writer:
    """The draft as tables of the schema."""

    def __init__(self, model, draft):
        self._root = read(model)
        self._graph = self._root.subgraphs[0]
        self._tensors, self._operators = self._graph.tensors, self._graph.operators
        self._draft = draft
        self._buffers, self._codes = [], []
        self._contents = {}
        self._options = {}
        self._first_buffer, self._first_code = len(self._root.buffers), len(self._root.operator_codes)
        self._known = {}
        for index, code in enumerate(self._root.operator_codes):
            self._known.setdefault(max(code.builtin_code, code.deprecated_builtin_code), index)

    def main(self):
        tensors = [
            self._tensor(tensor, self._draft.new[t]) if t in self._draft.new else self._tensors[t]
            for t, tensor in enumerate(self._draft.tensors)
        ]
        operators = [
            self._operator(found) if isinstance(found, NewNode) else self._operators[found]
            for found in self._draft.nodes
        ]
        return MainGraph(tensors, operators, self._buffers, self._codes)

    def _tensor(self, tensor, origin):
        fields = {"shape": tensor.shape, "type": TENSOR_TYPE_NAMES.index(tensor.type)}
        if tensor.name:
            fields["name"] = tensor.name
        if origin.data:
            fields["buffer"] = self._buffer(origin.data)
        if origin.like is not None:
            fields["quantization"] = self._tensors[origin.like].quantization
        return fields

    def _buffer(self, data):
        if data not in self._contents:
            self._contents[data] = self._first_buffer + len(self._buffers)
            self._buffers.append(data)
        return self._contents[data]

    def _operator(self, new):
        node = new.node
        if new.origin is None:
            source = node.tensors[node.inputs[0]]
            code = self._code(node.op, source.type, source.rank)
            fields = {"opcode_index": code, "inputs": node.inputs, "outputs": node.outputs}
            if new.options:
                fields["builtin_options"] = (f"{node.op.title()}Options", self._shared(node.op, new.options, {}))
            return fields
        origin = self._operators[new.origin]
        fields = {**present(origin), "inputs": node.inputs, "outputs": node.outputs}
        if new.options and "builtin_options" in fields:
            member, table = fields["builtin_options"]
            fields["builtin_options"] = (member, self._shared(new.origin, new.options, present(table)))
        return fields

    def _shared(self, key, options, others):
        """One dict for equal options, so that they are one table."""
        key = (key, *sorted(options.items()))
        return self._options.setdefault(key, {**others, **options})

    def _code(self, op, kind, rank):
        number = BUILTIN_NAMES.index(op)
        if number not in self._known:
            self._known[number] = self._first_code + len(self._codes)
            version = 5 if op == "SLICE" and rank > 4 else _VERSIONS[op].get(kind, 1)
            code = {"deprecated_builtin_code": min(number, _MOST_CODES), "builtin_code": number, "version": version}
            self._codes.append(code)
        return self._known[number]
