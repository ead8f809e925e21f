"""What a stage costs, estimated from intervals alone: bytes of the head, bytes of the tail, multiplications.

    costs = Costs(demand, segments, strict=False)
    costs.untouched[3]                                   # bytes alive at operator 3 as it is
    costs.stage(segment, Stage(0, 3, 3, 1))              # Cost(head=20480, tail=2944, macs=41472)

The head is that of a plan without gaps: what lives through the stage, the rows of its sources that later tiles read, the
tiles that are done, and the largest step of the tile. At a step the operator's output may lie over inputs that die
(unless `strict`). The search looks at thousands of stages this way, and plans the few best ones exactly.
"""

from functools import cached_property
from math import prod
from typing import NamedTuple

from tflm_cy.micro.patchwise.operators import CONVOLUTIONS
from tflm_cy.micro.patchwise.regions import COLUMNS, ROWS, axis_needs, bounds, clipped, made, margins, work
from tflm_cy.micro.patchwise.steps import CONCATENATION, COPY, Kernels, tile_steps
from tflm_cy.micro.safe_overlaps import relaxed_rows


class Cost(NamedTuple):
    """Of a stage; `tail` and `macs` are what is added."""

    head: int
    tail: int
    macs: int


class Part(NamedTuple):
    """One part of the output along one axis."""

    needs: dict[int, tuple[int, int]]
    regions: dict[tuple[int, int], tuple[int, int]]  # (operator, input) -> what it reads of the image
    margins: dict[tuple[int, int], tuple[int, int]]  # (operator, input) -> how far it leaves the image
    made: dict[int, tuple[int, int]]  # what operators make
    work: dict[int, int]  # (operator's number) -> how much it does
    shape: tuple  # equal where tiles have equal steps


class Costs:
    """The costs of stages of one graph; see the module."""

    def __init__(self, demand, segments, strict=False):
        self._demand = demand
        self._segments = segments
        self._strict = strict
        main = demand.graph.subgraphs[0]
        self._tensors = main.tensors
        self._bytes = {b.place[1]: b.size for b in demand.buffers if not b.scratch and not b.place[0]}
        self._last = {t: len(main.nodes) for t in main.outputs}
        self._first = {}
        for node in main.nodes:
            self._first.update(dict.fromkeys(node.outputs, node.index))
            for t in node.inputs:
                self._last[t] = max(self._last.get(t, -1), node.index)
        self._bands = {}
        kept, scratch = {}, {}
        for allocation in demand.before:
            if allocation.place is not None and not allocation.place[0]:
                index = allocation.place[1]
                kept[index] = kept.get(index, 0) + -(-allocation.size // 16) * 16
        for buffer in demand.buffers:
            if buffer.scratch and not buffer.place[0]:
                scratch[buffer.place[1]] = scratch.get(buffer.place[1], 0) + buffer.size
        self._kernels = Kernels(kept, scratch)

    @cached_property
    def untouched(self):
        """Per operator the bytes that must be there at once while it runs."""
        buffers = self._demand.buffers
        covered = {}
        for output, source, d in relaxed_rows(self._demand, strict=self._strict):
            covered.setdefault(source, []).append((output, buffers[output].size - d))
        found = []
        for clock, node in self._demand.node_times:
            if node.subgraph:
                continue
            total = 0
            for i, b in enumerate(buffers):
                if b.first <= clock <= b.last:
                    over = (size for o, size in covered.get(i, ()) if buffers[o].first <= clock <= buffers[o].last)
                    total += max(b.size - max(over, default=0), 0)
            found.append(total)
        return found

    @cached_property
    def macs(self):
        """Multiplications of all operators that can be tiled, and of fully connected ones."""
        total = 0
        for node in self._demand.graph.subgraphs[0].nodes:
            axes = range(node.output(0).rank if node.outputs else 0)
            alone = next(filter(None, (self._segments(node.index, node.index, axis) for axis in axes)), None)
            if alone is not None:
                rows, columns = ([(0, size)] for size in alone.size)
                total += self._macs(alone, self._cut(alone, ROWS, rows), self._cut(alone, COLUMNS, columns))
            elif node.op in ("FULLY_CONNECTED", *CONVOLUTIONS) and node.input(1) is not None and node.outputs:
                total += node.input(1).elements * _positions(node)
        return total

    def extra_macs(self, segment, rows, columns):
        """Multiplications that the grid adds; None when a tile would be empty."""
        bands = self._axis(segment, ROWS, rows), self._axis(segment, COLUMNS, columns)
        if None in bands:
            return None
        return self._macs(segment, *bands) - self._macs(segment, *(self._axis(segment, a, 1) for a in (ROWS, COLUMNS)))

    @staticmethod
    def _macs(segment, bands, columns):
        total = 0
        for operator in segment.operators:
            if operator.macs and operator.output in bands[0].needs:
                index = operator.node.index
                total += operator.macs * sum(b.work[index] for b in bands) * sum(c.work[index] for c in columns)
        return total

    def stage(self, segment, stage):
        """The Cost of a Stage; None when a tile would be empty."""
        rows, columns = stage.rows, stage.columns
        macs = self.extra_macs(segment, rows, columns)
        if macs is None:
            return None
        bands, across = self._axis(segment, ROWS, rows), self._axis(segment, COLUMNS, columns)
        through = self._through(segment)
        out_row = self._row_bytes(segment, segment.output)
        contiguous = segment.size[0] == 1 and self._outer(segment, segment.output) == 1
        known, head, tail = {}, 0, 0
        done = 0
        for r, band in enumerate(bands):
            behind = bands[r + 1] if r + 1 < rows else None
            band_bytes = 0
            for c, column in enumerate(across):
                key = (band.shape, column.shape)
                if key not in known:
                    known[key] = tile_steps(segment, band, column, stage.early, self._strict, self._kernels)
                steps, kept = known[key]
                tail += kept
                later = band if c + 1 < columns else behind
                head = max(head, done + band_bytes + self._peak(segment, steps, band, later))
                band_bytes += segment.part_bytes(
                    segment.output, band.needs[segment.output], column.needs[segment.output]
                )
            height = band.needs[segment.output][1] - band.needs[segment.output][0]
            if columns > 1 and (self._strict or not contiguous):
                twice = band_bytes * (2 if self._strict else 2 - 1 / columns)
                head = max(head, int(done + twice + self._sources(segment, behind)))
            done += height * out_row
        whole = self._bytes.get(segment.output, done)
        head = max(head, 2 * whole if self._strict and rows > 1 else whole)
        joins = (rows if columns > 1 else 0) + (1 if rows > 1 else 0)
        tail += joins * CONCATENATION - sum(COPY + self._kernels.kept.get(o.node.index, 0) for o in segment.operators)
        return Cost(head + through, tail, macs)

    def _axis(self, segment, along, parts):
        key = (segment.first, segment.last, segment.axis, along, parts)
        if key not in self._bands:
            possible = parts == 1 or parts <= segment.limits[along]
            self._bands[key] = self._cut(segment, along, bounds(segment.size[along], parts)) if possible else None
        return self._bands[key]

    @staticmethod
    def _cut(segment, along, intervals):
        found = []
        for first, end in intervals:
            needs = axis_needs(segment, along, first, end)
            if needs is None:
                return None
            regions, outside, whole, done = {}, {}, {}, {}
            for operator in segment.operators:
                if operator.output not in needs:
                    continue
                wanted = needs[operator.output]
                for i in operator.windows:
                    regions[operator.node.index, i] = clipped(segment, operator, i, along, wanted)
                    outside[operator.node.index, i] = margins(segment, operator, i, along, wanted)
                whole[operator.output] = made(segment, operator, along, wanted)
                done[operator.node.index] = work(segment, operator, along, wanted)
            lengths = tuple(e - f for f, e in (*needs.values(), *regions.values(), *whole.values()))
            found.append(Part(needs, regions, outside, whole, done, (lengths, tuple(outside.values()))))
        return found

    def _through(self, segment):
        """Bytes of tensors that live through the stage and are not cut by it, and of what is read whole."""
        total = 0
        for t, size in self._bytes.items():
            if t in segment.sources or t in segment.inside:
                continue
            if self._first.get(t, -1) < segment.first <= self._last.get(t, -1):
                total += size
        return total

    def _row_bytes(self, segment, t):
        return self._tensors[t].nbytes // segment.extents(t)[0]

    def _outer(self, segment, t):
        """How many images of rows a tensor holds: with several, the first rows are not its first bytes."""
        return prod(self._tensors[t].shape[: segment.axis])

    def _sources(self, segment, band):
        """Bytes of the sources that a band and those behind it still need; `band` None: none of them."""
        return sum(self._source(segment, t, band) for t in segment.sources)

    def _source(self, segment, t, band):
        size = self._bytes.get(t, 0)
        if self._last.get(t, -1) > segment.last or self._outer(segment, t) > 1:
            return size
        if band is None:
            return 0
        return size - band.needs[t][0] * self._row_bytes(segment, t) if t in band.needs else 0

    def _peak(self, segment, steps, band, later):
        """The largest step of a tile with what its sources still need."""
        before = {t: self._source(segment, t, band) for t in segment.sources}
        behind = {t: self._source(segment, t, later) for t in segment.sources}
        return max(
            size + sum(before[t] if t in waiting else behind[t] for t in segment.sources) for size, waiting in steps
        )


def _positions(node):
    """How often a node's weights are used: output values per unit, which depthwise weights have one of per channel."""
    channels = max(node.output(0).shape[-1:], default=1)
    return node.output(0).elements // max(channels, 1)
