"""Tensors that are read in parts, by SLICE: which bytes are still needed when another tensor is written.

    >>> from tflm_cy.micro.partial_reads import partial_rows     # doctest: +SKIP
    >>> partial_rows(demand)                                     # doctest: +SKIP
    {(4, 0): -512}

An image that is cut into bands is needed from the first row of the next band on; what lies before may be overwritten
while the image is still alive. So a tensor T that is written at some step may lie over the beginning of an image X, as
far as no byte lies there that is read at that step or later:

    offset(X) - offset(T) >= size(T) - first byte that is read

This holds for any kernels. At the step itself, the operator that reads a part of X and writes T may do better where its
kernel reads ahead of what it writes (`safe_overlaps.distance`).
"""

import numpy as np

from tflm_cy.micro.target import ARENA_ALIGNMENT


def partial_rows(demand, distances=None):
    """{(buffer T, buffer X): d}: the least offset(X) - offset(T), a multiple of 16.

    Parameters
    ----------
    demand : arena_usage.Demand
    distances : function of (node, buffer T, buffer X), optional
        The least safe distance at a node that reads X and writes T, or None; without it no kernel is relied on.
    """
    rows = {}
    nodes = {clock: node for clock, node in demand.node_times if not node.subgraph and not node.children}
    for source, reads in _parts(demand).items():
        early = demand.buffers[source]
        for output, late in enumerate(demand.buffers):
            if late.scratch or not early.first < late.first <= early.last:
                continue
            needed = [(clock, first) for clock, first, _ in reads if clock >= late.first]
            strict = late.nbytes - min(first for _, first in needed)
            d = strict
            at_birth = any(clock == late.first for clock, _ in needed)
            kernel = distances(nodes[late.first], output, source) if distances and at_birth else None
            if kernel is not None:
                behind = [first for clock, first in needed if clock > late.first]
                d = min(strict, max(kernel, late.nbytes - min(behind)) if behind else kernel)
            d = -(-d // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
            if d < late.size:
                rows[output, source] = d
    return rows


def counted_reads(demand):
    """[(buffer, clock, first byte, end)] of the buffers that are read in parts, for the judge (`memory.check`): by
    numbering the elements and looking which of them a SLICE takes."""
    return [(source, *read) for source, reads in _parts(demand, _counted_bytes).items() for read in reads]


def _parts(demand, part_of=None):
    """{buffer: [(clock, first byte, end)]} of the tensors of which some node reads a part, all their reads."""
    part_of = part_of or sliced_bytes
    index = {buffer.place: i for i, buffer in enumerate(demand.buffers) if not buffer.scratch}
    kept = set(demand.graph.subgraphs[0].outputs)
    found, in_parts = {}, set()
    for clock, node in demand.node_times:
        if node.subgraph:
            continue
        for k, t in enumerate(node.inputs):
            source = index.get((0, t))
            if source is None or t in kept or node.tensors[t].variable:
                continue
            part = part_of(node) if k == 0 and node.op == "SLICE" else None
            if part:
                in_parts.add(source)
            found.setdefault(source, []).append((clock, *(part or (0, node.tensors[t].nbytes))))
    last = {source: max(clock for clock, *_ in reads) for source, reads in found.items()}
    return {s: found[s] for s in sorted(in_parts) if demand.buffers[s].last == last[s]}


def sliced_bytes(node):
    """(first byte, end) that a SLICE reads; None when its begin or size is not constant, or beyond the input."""
    begin, size, source = node.constant_values(1), node.constant_values(2), node.input(0)
    if begin is None or size is None or not source.elements or not node.outputs:
        return None
    taken = node.output(0).shape
    if not len(begin) == len(size) == len(taken) == source.rank:
        return None
    first = last = 0
    for start, count, length, out in zip(begin, size, source.shape, taken, strict=True):
        count = length - start if count == -1 else count
        if start < 0 or count <= 0 or start + count > length or count != out:
            return None
        first, last = first * length + start, last * length + start + count - 1
    return first * source.element_bytes, (last + 1) * source.element_bytes


def _counted_bytes(node):
    if sliced_bytes(node) is None:
        return None
    source, begin, shape = node.input(0), node.constant_values(1), node.output(0).shape
    numbers = np.arange(source.elements).reshape(source.shape)
    for axis, (start, count) in enumerate(zip(begin, shape, strict=True)):
        numbers = numbers.take(range(start, start + count), axis)
    return int(numbers.min()) * source.element_bytes, (int(numbers.max()) + 1) * source.element_bytes
