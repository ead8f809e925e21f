"""A stage: operators that follow each other and are computed tile by tile, and the grid of tiles.

    Stage(first=0, last=3, rows=3, columns=1)

A stage has one tensor that is needed behind it, its output, which is cut into `rows` bands and `columns` columns as
equal as they can be. What the tiles need of the tensors in front of it follows (`regions`).
"""

from typing import NamedTuple

from tflm_cy.micro.patchwise.operators import tile_operator

MOST_PARTS = 10  # tensors that TFLM's CONCATENATION takes


class Stage(NamedTuple):
    """Operators `first` to `last` of the main graph in `rows` by `columns` tiles.

    `early`: a tile cuts all that its operators read of its sources at its start, so that these rows of the sources are
    not needed any more; otherwise each operator's part is cut right before it runs.
    """

    first: int
    last: int
    rows: int
    columns: int
    early: bool = False

    def __str__(self):
        return f"operators {self.first} to {self.last} in {self.rows} x {self.columns} tiles"


class Segment:
    """Operators that a stage can consist of; see `segment`.

    Attributes
    ----------
    first, last : int
    operators : list of TileOperator
    output : int
        The tensor that is needed behind it.
    sources : list of int
        The images from before that are cut.
    """

    def __init__(self, graph, operators, output):
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
        """Height and width of the output."""
        return self.tensors[self.output].shape[1:3]


def segment(graph, first, last):
    """The Segment of operators `first` to `last` of a graph_view.Subgraph; None when they cannot be a stage."""
    found = Segments(graph)
    return found(first, last)


class Segments:
    """The segments of one graph, made when they are asked for."""

    def __init__(self, graph):
        self._graph = graph
        self.operators = [tile_operator(node) for node in graph.nodes]
        self._last_read = {}
        self._readers = {}
        for node in graph.nodes:
            for t in node.inputs:
                self._readers.setdefault(t, []).append(node.index)
        self._kept = set(graph.outputs)

    def __call__(self, first, last):
        """The Segment of operators `first` to `last`, or None."""
        chosen = self.operators[first : last + 1]
        if not chosen or None in chosen:
            return None
        inside = {operator.output for operator in chosen}
        needed = [t for t in inside if self._needed_behind(t, last)]
        if len(needed) != 1 or needed[0] != chosen[-1].output:
            return None
        for operator in chosen:
            whole = [t for i, t in enumerate(operator.node.inputs) if i not in operator.windows]
            if inside.intersection(whole):
                return None
        return Segment(self._graph, chosen, needed[0])

    def _needed_behind(self, t, last):
        return t in self._kept or any(reader > last for reader in self._readers.get(t, ()))
