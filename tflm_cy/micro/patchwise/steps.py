"""The steps of one tile, as bytes: what `tiles` will emit, without emitting it.

    steps, tail = tile_steps(segment, band, column, early=False, strict=False, kernels=kernels)

A step is (bytes of the tile's pieces at once, sources that the tile still needs whole). An output may lie over the pieces
that die at its step, unless `strict`; so a step counts the larger of both.
"""

from typing import NamedTuple

from tflm_cy.micro.patchwise.image_operators import same_padding
from tflm_cy.micro.patchwise.operators import WINDOWED

# bytes of the tail on a 32-bit target: node, output's tensor, options, op data, half a constant
SLICE, PAD, CONCATENATION = 62, 126, 92
COPY = 44  # node and tensor of an operator's copy; what its kernel keeps comes from the demand


class Kernels(NamedTuple):
    """What kernels of operators ask for: bytes of the tail, bytes of scratch, by the operator's number."""

    kept: dict[int, int]
    scratch: dict[int, int]


def tile_steps(segment, band, column, early, strict, kernels):
    """([(bytes, waiting sources)], bytes of the tail) of a tile.

    Parameters
    ----------
    segment : stage.Segment
    band, column : costs.Part
        Of the output, along the two axes.
    early, strict : bool
        As in `stage.Stage` and `search.Wanted`.
    kernels : Kernels
    """
    walk = _Walk(segment, band, column, strict, kernels)
    if early:
        walk.cut_early()
    for operator in segment.operators:
        if operator.output in band.needs:
            walk.operator(operator)
            walk.tail += COPY + kernels.kept.get(operator.node.index, 0)
    return walk.steps, walk.tail


class _Walk:
    def __init__(self, segment, band, column, strict, kernels):
        self.segment, self.band, self.column, self.strict, self.kernels = segment, band, column, strict, kernels
        self.steps, self.tail = [], 0
        self._live, self._held, self._finished = {}, 0, set()
        self._last = {}
        for operator in segment.operators:
            if operator.output in band.needs:
                self._last.update({operator.node.inputs[i]: operator.node.index for i in operator.windows})

    def operator(self, operator):
        """An operator with what stands in front of it, and with what cuts its output."""
        self._held = 0
        for i in operator.windows:
            self._held += self._input(operator, i)
        output = operator.output
        made = self.segment.part_bytes(output, self.band.made[output], self.column.made[output])
        size = self.segment.part_bytes(output, self.band.needs[output], self.column.needs[output])
        dying, self._held = self._held, 0
        self._step(dying, made, self._scratch(operator, made))
        if made != size:
            self.tail += SLICE
            self._step(made, size)
        self._live[output] = size

    def _scratch(self, operator, made):
        """Bytes of scratch: sums of a transposed convolution are as many as outputs, others are taken as they are."""
        scratch = self.kernels.scratch.get(operator.node.index, 0)
        if operator.node.op == "TRANSPOSE_CONV":
            return scratch * made // self.segment.tensors[operator.output].nbytes
        return scratch

    def _step(self, dying, output, scratch=0):
        others = sum(self._live.values()) + self._held + scratch
        larger = dying + output if self.strict else max(dying, output)
        waiting = tuple(t for t in self.segment.sources if t not in self._finished)
        self.steps.append((others + larger, waiting))

    def _input(self, operator, i):
        """Bytes that die at the operator."""
        t, key = operator.node.inputs[i], (operator.node.index, i)
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
            dying = self._live.pop(t, 0) if ends else 0
            if (rows, columns) != (self.band.needs[t], self.column.needs[t]):
                self.tail += SLICE
                cut = self.segment.part_bytes(t, rows, columns)
                self._step(dying, cut)
                dying = cut
        outside = self.band.margins[key], self.column.margins[key]
        if needs_pad(operator, (rows[1] - rows[0], columns[1] - columns[0]), outside):
            self.tail += PAD
            (top, bottom), (left, right) = outside
            padded = self.segment.part_bytes(
                t, (rows[0] - top, rows[1] + bottom), (columns[0] - left, columns[1] + right)
            )
            self._step(dying, padded)
            dying = padded
        return dying

    def _cut(self, t, rows, columns):
        """Cut a part of a source; its bytes, 0 when it is all of it."""
        cut = self.segment.part_bytes(t, rows, columns)
        if cut == self.segment.tensors[t].nbytes:
            return 0
        self.tail += SLICE
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
    if operator.node.op not in WINDOWED or outside == ((0, 0), (0, 0)):
        return False
    windows = operator.windows[0]
    same = [same_padding(s, w.extent, w.stride) == o for s, w, o in zip(size, windows, outside, strict=True)]
    return not all(same)
