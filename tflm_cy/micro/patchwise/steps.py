"""The steps of one tile, as bytes: what `tiles` will emit, without emitting it.

    steps, tail = tile_steps(segment, band, column, early=False, strict=False, kept={})

A step is (bytes of the tile's pieces at once, sources that the tile still needs whole). An output may lie over the pieces
that die at its step, unless `strict`; so a step counts the larger of both.
"""

from tflm_cy.micro.patchwise.operators import PADS, WINDOWED, same_padding

# bytes of the tail on a 32-bit target: node, output's tensor, options, op data, half a constant
SLICE, PAD, CONCATENATION = 62, 126, 92
COPY = 44  # node and tensor of an operator's copy; what its kernel keeps comes from the demand


def tile_steps(segment, band, column, early, strict, kept):
    """([(bytes, waiting sources)], bytes of the tail) of a tile.

    Parameters
    ----------
    segment : stage.Segment
    band, column : costs.Part
        Of the output, along height and width.
    early, strict : bool
        As in `stage.Stage` and `search.Wanted`.
    kept : dict of int to int
        What an operator's kernel keeps in the tail.
    """
    walk = _Walk(segment, band, column, strict)
    if early:
        walk.cut_early()
    for operator in segment.operators:
        if operator.output in band.needs:
            walk.operator(operator)
            walk.tail += COPY + kept.get(operator.node.index, 0)
    return walk.steps, walk.tail


def piece_bytes(tensor, rows, columns):
    """Bytes of a part of an image."""
    height, width = rows[1] - rows[0], columns[1] - columns[0]
    return height * width * tensor.shape[0] * tensor.shape[3] * tensor.element_bytes


class _Walk:
    def __init__(self, segment, band, column, strict):
        self.segment, self.band, self.column, self.strict = segment, band, column, strict
        self.steps, self.tail = [], 0
        self._live, self._held, self._finished = {}, 0, set()
        self._last = {}
        for operator in segment.operators:
            if operator.output in band.needs:
                self._last.update({operator.node.inputs[i]: operator.node.index for i in operator.windows})

    def operator(self, operator):
        """An operator with what stands in front of it."""
        self._held = 0
        for i in operator.windows:
            self._held += self._input(operator, i)
        output = operator.output
        size = piece_bytes(self.segment.tensors[output], self.band.needs[output], self.column.needs[output])
        dying, self._held = self._held, 0
        self._step(dying, size)
        self._live[output] = size

    def _step(self, dying, output):
        others = sum(self._live.values()) + self._held
        larger = dying + output if self.strict else max(dying, output)
        waiting = tuple(t for t in self.segment.sources if t not in self._finished)
        self.steps.append((others + larger, waiting))

    def _input(self, operator, i):
        """Bytes that die at the operator."""
        t, key = operator.node.inputs[i], (operator.node.index, i)
        tensor = self.segment.tensors[t]
        rows, columns = self.band.regions[key], self.column.regions[key]
        ends = self._last[t] == operator.node.index
        dying = 0
        if key in self._live:
            dying = self._live.pop(key)
        elif t in self.segment.sources:
            if ends and not self.strict:  # the part may lie over what is cut
                self._finished.add(t)
            dying = self._cut(t, rows, columns)
            if ends:
                self._finished.add(t)
        else:
            dying = self._live.pop(t) if ends else 0
            if (rows, columns) != (self.band.needs[t], self.column.needs[t]):
                self.tail += SLICE
                cut = piece_bytes(tensor, rows, columns)
                self._step(dying, cut)
                dying = cut
        outside = self.band.margins[key], self.column.margins[key]
        if needs_pad(operator, (rows[1] - rows[0], columns[1] - columns[0]), outside):
            self.tail += PAD
            (top, bottom), (left, right) = outside
            padded = piece_bytes(tensor, (rows[0] - top, rows[1] + bottom), (columns[0] - left, columns[1] + right))
            self._step(dying, padded)
            dying = padded
        return dying

    def _cut(self, t, rows, columns):
        """Cut a part of a source; its bytes, 0 when it is all of it."""
        tensor = self.segment.tensors[t]
        if (rows[1] - rows[0], columns[1] - columns[0]) == tensor.shape[1:3]:
            return 0
        self.tail += SLICE
        cut = piece_bytes(tensor, rows, columns)
        self._step(0, cut)
        return cut

    def cut_early(self):
        """Cut all that the tile reads of its sources."""
        for operator in self.segment.operators:
            for i in operator.windows if operator.output in self.band.needs else ():
                t, key = operator.node.inputs[i], (operator.node.index, i)
                if t in self.segment.sources:
                    self._live[key] = self._cut(t, self.band.regions[key], self.column.regions[key])
        self._finished.update(self.segment.sources)


def needs_pad(operator, size, outside):
    """Whether a PAD stands in front of an operator: its window leaves the image, and SAME padding would not do the same."""
    if operator.node.op in PADS or operator.node.op not in WINDOWED or outside == ((0, 0), (0, 0)):
        return False
    windows = operator.windows[0]
    same = [same_padding(s, w.extent, w.stride) == o for s, w, o in zip(size, windows, outside, strict=True)]
    return not all(same)
