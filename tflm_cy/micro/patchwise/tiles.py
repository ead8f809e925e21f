"""A stage as operators: each tile depth first, then the tiles joined.

    draw_stage(draft, segment, Stage(0, 3, 3, 1))        # appends the operators to a `drafts.Draft`

Per tile every image that stands in front of the stage is cut by a SLICE before the operator that reads it; where a
window leaves the image a PAD follows; then the operator, with VALID padding. The columns of a band are joined, then the
bands. All tiles share weights; SLICE rather than STRIDED_SLICE, because equal sizes are one constant.
"""

import struct

from tflm_cy.micro.patchwise.image_operators import same_padding
from tflm_cy.micro.patchwise.operators import PADS, SAME, VALID, WINDOWED
from tflm_cy.micro.patchwise.regions import COLUMNS, ROWS, axis_needs, bounds, clipped, made, margins
from tflm_cy.micro.patchwise.stage import MOST_PARTS

_SHAPED = {
    "RESHAPE": 1,
    "RESIZE_BILINEAR": 1,
    "RESIZE_NEAREST_NEIGHBOR": 1,
    "SLICE": 2,
    "TRANSPOSE_CONV": 0,
}  # operator -> input
_LOWEST = {"FLOAT32": struct.pack("<f", float("-inf")), "INT8": b"\x80", "INT16": b"\x00\x80"}


def draw_stage(draft, segment, stage):
    """Append the operators of a stage; ValueError when a tile would read its padding only."""
    rows, columns = stage.rows, stage.columns
    height, width = segment.size
    bands = []
    for r, band in enumerate(bounds(height, rows)):
        tiles = [
            _Tile(draft, segment, band, column, stage.early, f"tile {r},{c}").draw()
            for c, column in enumerate(bounds(width, columns))
        ]
        along = COLUMNS if columns > 1 else ROWS
        bands.append(_joined(draft, segment, tiles, along, segment.output if rows == 1 else None))
    if rows > 1:
        _joined(draft, segment, bands, ROWS, segment.output)


def tile_needs(segment, band, column):
    """({tensor: rows}, {tensor: columns}) of a tile; ValueError when a part of it would be empty."""
    needs = axis_needs(segment, ROWS, *band), axis_needs(segment, COLUMNS, *column)
    if None in needs:
        raise ValueError("a tile would need nothing of the image but its padding")
    return needs


class _Tile:
    """The operators of one tile. A piece is (tensor, its rows, its columns): a part of an image, made for this tile."""

    def __init__(self, draft, segment, band, column, early, name):
        self._draft, self._segment = draft, segment
        self._needs = tile_needs(segment, band, column)
        self._early = early
        self._name = name
        self._pieces = {}
        self._cut = {}

    def draw(self):
        """The tensor that holds the tile of the stage's output."""
        operators = [operator for operator in self._segment.operators if operator.output in self._needs[0]]
        for operator in operators if self._early else ():
            for i in operator.windows:
                if operator.node.inputs[i] in self._segment.sources:
                    self._region(operator.node.inputs[i], *self._reach(operator, i, clipped))
        for operator in operators:
            self._pieces[operator.output] = self._operator(operator)
        return self._pieces[self._segment.output][0]

    def _operator(self, operator):
        """Append one operator; the piece of its output."""
        node, wanted = operator.node, [needs[operator.output] for needs in self._needs]
        inputs = list(node.inputs)
        pads = (0, 0)
        for i in operator.windows:
            pads = self._reach(operator, i, margins)
            inputs[i] = self._region(node.inputs[i], *self._reach(operator, i, clipped))
        if node.op in PADS:
            return self._explicit_pad(node, inputs, pads), *wanted
        whole = [made(self._segment, operator, along, w) for along, w in zip((ROWS, COLUMNS), wanted, strict=True)]
        shape = self._segment.part(operator.output, *whole)
        options = {}
        if node.op in WINDOWED and node.options.padding == SAME and not self._is_same(operator, inputs[0], pads):
            inputs[0] = self._padded(node, inputs[0], pads)
            options = {"padding": VALID}
        elif node.op in _SHAPED:
            options = self._shaped(node, inputs, shape)
        output = self._new(operator.output, shape)
        self._draft.copy(node.index, inputs, output, **options)
        return self._sliced(operator.output, (output, *whole), *wanted), *wanted

    def _shaped(self, node, inputs, shape):
        """The options of an operator that is told the size of its output, which its inputs get."""
        i = _SHAPED[node.op]
        wanted = shape[1:3] if node.op.startswith("RESIZE") else shape
        inputs[i : i + 1] = [self._draft.constant(wanted)]
        if node.op == "RESHAPE":
            return {"new_shape": shape}
        return {"padding": VALID} if node.op == "TRANSPOSE_CONV" else {}

    def _reach(self, operator, i, look):
        """Along height and width what `regions.clipped` or `regions.margins` says of an input."""
        return [
            look(self._segment, operator, i, along, self._needs[along][operator.output]) for along in (ROWS, COLUMNS)
        ]

    def _is_same(self, operator, t, pads):
        """Whether SAME padding of the tile leaves it where the whole image's does."""
        sizes = self._draft.tensors[t].shape[1:3]
        return all(
            same_padding(size, window.extent, window.stride) == margin
            for size, window, margin in zip(sizes, operator.windows[0], pads, strict=True)
        )

    def _region(self, t, rows, columns):
        """A tensor with exactly this part of an image."""
        key = (t, rows, columns)
        if key not in self._cut:
            self._cut[key] = self._sliced(t, self._pieces.get(t) or self._whole(t), rows, columns)
        return self._cut[key]

    def _sliced(self, t, piece, rows, columns):
        """A part of a piece; the piece's tensor when it is all of it."""
        source, has_rows, has_columns = piece
        if (has_rows, has_columns) == (tuple(rows), tuple(columns)):
            return source
        shape = self._segment.part(t, rows, columns)
        cut, begin, axis = self._new(t, shape), [0] * len(shape), self._segment.axis
        begin[axis : axis + 2] = [rows[0] - has_rows[0], columns[0] - has_columns[0]][: len(shape) - axis]
        self._draft.add("SLICE", (source, self._draft.constant(begin), self._draft.constant(shape)), cut)
        return cut

    def _padded(self, node, t, pads):
        """A tensor with the values that a window reads outside of the image around another one."""
        batch, height, width, channels = self._draft.tensors[t].shape
        (top, bottom), (left, right) = pads
        if not any((top, bottom, left, right)):
            return t
        if node.op == "AVERAGE_POOL_2D":
            raise ValueError(f"{node} divides by the number of values inside of the image: its padding is not a tile's")
        shape = (batch, height + top + bottom, width + left + right, channels)
        padded = self._new(node.inputs[0], shape)
        amounts = self._draft.constant((0, 0, top, bottom, left, right, 0, 0), (4, 2))
        if node.op == "MAX_POOL_2D":
            lowest = self._draft.scalar_like(node.inputs[0], _LOWEST[node.input(0).type], "lowest")
            self._draft.add("PADV2", (t, amounts, lowest), padded)
        else:
            self._draft.add("PAD", (t, amounts), padded)
        return padded

    def _explicit_pad(self, node, inputs, pads):
        """What is left of a PAD of the model: the margins of the image that this tile has, and the channels'."""
        amounts = (0, 0, *pads[0], *pads[1], *node.constant_values(1)[6:])
        if not any(amounts):
            return inputs[0]
        batch, height, width, channels = self._draft.tensors[inputs[0]].shape
        shape = (batch, height + sum(pads[0]), width + sum(pads[1]), channels + sum(amounts[6:]))
        output = self._new(node.outputs[0], shape)
        inputs[1] = self._draft.constant(amounts, (4, 2))
        self._draft.copy(node.index, inputs, output)
        return output

    def _whole(self, t):
        rows, columns = self._segment.extents(t)
        return t, (0, rows), (0, columns)

    def _new(self, t, shape):
        return self._draft.like(t, shape, f"{t} {self._name}")


def _joined(draft, segment, parts, along, output=None):
    """One tensor of parts beside each other; at most MOST_PARTS are joined at a time."""
    if len(parts) == 1 and output is None:
        return parts[0]
    while len(parts) > MOST_PARTS:
        groups = bounds(len(parts), -(-len(parts) // MOST_PARTS))
        parts = [_join(draft, segment, parts[first:end], along) for first, end in groups]
    return _join(draft, segment, parts, along, output)


def _join(draft, segment, parts, along, output=None):
    axis = segment.axis + along
    if output is None:
        shapes = [draft.tensors[t].shape for t in parts]
        shape = list(shapes[0])
        shape[axis] = sum(s[axis] for s in shapes)
        output = draft.like(segment.output, shape, f"{segment.output} joined")
    draft.add("CONCATENATION", parts, output, axis=axis, fused_activation_function=0)
    return output
