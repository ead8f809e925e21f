"""A stage: operators that follow each other and are computed tile by tile, and the grid of tiles.

    Stage(first=0, last=3, rows=3, columns=1)
    segments = Segments(graph)
    segments(0, 3)                                       # the Segment, None when they cannot be a stage

A stage has one tensor that is needed behind it, its output, which is cut into `rows` bands and `columns` columns as
equal as they can be. What the tiles need of the tensors in front of it follows (`regions`).
"""

from functools import cached_property
from typing import NamedTuple

from tflm_cy.micro.patchwise.operators import IMAGE, extent
from tflm_cy.micro.patchwise.tileable import tile_operator

MOST_PARTS = 10  # tensors that TFLM's CONCATENATION takes


class Stage(NamedTuple):
    """Operators `first` to `last` of the main graph in `rows` by `columns` tiles.

    `early`: a tile cuts all that its operators read of its sources at its start, so that these rows of the sources are
    not needed any more; otherwise each operator's part is cut right before it runs. `axis`: the bands are cut along it,
    the columns along the one behind it.
    """

    first: int
    last: int
    rows: int
    columns: int
    early: bool = False
    axis: int = IMAGE

    def __str__(self):
        where = "" if self.axis == IMAGE else f" along axis {self.axis}"
        return f"operators {self.first} to {self.last} in {self.rows} x {self.columns} tiles{where}"


class Segment:
    """Operators that a stage can consist of.

    Attributes
    ----------
    first, last : int
    operators : list of TileOperator
    output : int
        The tensor that is needed behind it.
    sources : list of int
        The tensors from before that are cut.
    axis : int
        As in `Stage`.
    """

    def __init__(self, graph, operators, output, axis):
        self.axis = axis
        self.first = operators[0].node.index
        self.last = operators[-1].node.index
        self.operators = operators
        self.output = output
        self.tensors = graph.tensors
        inside = {operator.output for operator in operators}
        cut = (operator.node.inputs[i] for operator in operators for i in operator.windows)
        self.sources = list(dict.fromkeys(t for t in cut if t not in inside))
        self.inside = inside
        readers = [operator.node.inputs[i] for operator in operators for i in operator.windows]
        self.has_choice = any(readers.count(t) > 1 for t in self.sources)  # whether `early` makes a difference

    @property
    def size(self):
        """Rows and columns of the output."""
        return self.extents(self.output)

    @cached_property
    def limits(self):
        """The most bands, and the most columns."""
        rows, columns = self.size
        return rows, columns if all(operator.columns for operator in self.operators) else 1

    def extents(self, t):
        """Rows and columns of a tensor."""
        tensor = self.tensors[t]
        return extent(tensor, self.axis), extent(tensor, self.axis + 1)

    def part(self, t, rows, columns):
        """The shape of a part of a tensor."""
        shape = list(self.tensors[t].shape)
        shape[self.axis : self.axis + 2] = [e - f for f, e in (rows, columns)][: len(shape) - self.axis]
        return tuple(shape)

    def part_bytes(self, t, rows, columns):
        """Bytes of a part of a tensor."""
        height, width = self.extents(t)
        return (rows[1] - rows[0]) * (columns[1] - columns[0]) * (self.tensors[t].nbytes // (height * width))


class Segments:
    """The segments of one graph, made when they are asked for."""

    def __init__(self, graph):
        self._graph = graph
        self._operators = {}
        self._readers = {}
        for node in graph.nodes:
            for t in node.inputs:
                self._readers.setdefault(t, []).append(node.index)
        self._kept = set(graph.outputs)

    def operators(self, axis=IMAGE):
        """Per node its TileOperator along an axis, or None."""
        if axis not in self._operators:
            self._operators[axis] = [tile_operator(node, axis) for node in self._graph.nodes]
        return self._operators[axis]

    def __call__(self, first, last, axis=IMAGE):
        """The Segment of operators `first` to `last`, or None."""
        chosen = self.operators(axis)[first : last + 1]
        if len(chosen) != last + 1 - first or not chosen or None in chosen:
            return None
        inside = {operator.output for operator in chosen}
        needed = [t for t in inside if self._needed_behind(t, last)]
        if len(needed) != 1 or needed[0] != chosen[-1].output:
            return None
        for operator in chosen:
            whole = [t for i, t in enumerate(operator.node.inputs) if i not in operator.windows]
            if inside.intersection(whole):
                return None
        return Segment(self._graph, chosen, needed[0], axis)

    def _needed_behind(self, t, last):
        return t in self._kept or any(reader > last for reader in self._readers.get(t, ()))
