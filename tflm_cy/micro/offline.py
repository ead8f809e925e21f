"""The offline plan in a model's metadata: offsets of tensors from the head, fixed before the model reaches the device.

    >>> from tflm_cy.micro.offline import OfflinePlan
    >>> OfflinePlan([0, -1, 48]).to_bytes().hex(" ", 4)
    '01000000 01000000 03000000 00000000 ffffffff 30000000'

The metadata entry `OfflineMemoryAllocation` is a buffer of little-endian int32: format version, number of subgraphs,
number n of offsets, n offsets. -1 leaves a tensor to the planner; entries of tensors that are not planned (constants)
are not looked at. The offsets count the tensors of all subgraphs, one after the other. Of several entries the last holds.

TFLM checks n and nothing else: tensors that overlap while both are alive give wrong results, an offset of -2 lies
before the arena. `read_plan` accepts what TFLM accepts; `check_plan` says what is wrong with it. A plan may overlap

- an output with an input that dies there, as far as the kernels read ahead of what they write; where this package
  exports such a plan a second entry, `ASSUMPTION`, says which kernels that was computed for;
- a copy (RESHAPE) with what it is a copy of, at one place;
- whatever Vela lets overlap in a model for Arm's Ethos-U: the scratch tensors of an `ethos-u` node are the arena itself,
  and its inputs and outputs lie in it as the command stream needs them.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/docs/memory_management.md, micro_allocation_info.cc and
kernels/ethos_u/ethosu.cc.
"""

import struct
from dataclasses import dataclass

from tflm_cy.micro.signal_requests import NPU

ENTRY = "OfflineMemoryAllocation"
ASSUMPTION = "OfflineMemoryAllocationAssumption"
ONLINE = -1
VERSIONS = (0, 1)
_SCRATCH = slice(2, 4)  # inputs of an `ethos-u` node: the command stream, weights, the arena, the fast arena, then data


@dataclass(frozen=True)
class OfflinePlan:
    """The offsets of all tensors of a model, -1 where the planner chooses."""

    offsets: list[int]
    version: int = 1
    subgraphs: int = 1  # TFLM does not look at it

    def to_bytes(self):
        """The contents of the metadata's buffer; ValueError for an offset of 2 GiB or more."""
        if max(self.offsets, default=0) >= 1 << 31:
            raise ValueError(f"offset {max(self.offsets)} does not fit in an offline plan, which holds int32")
        count = len(self.offsets)
        return struct.pack(f"<{3 + count}i", self.version, self.subgraphs, count, *self.offsets)


def read_plan(graph):
    """The OfflinePlan of a GraphView; None when it has none.

    Raises
    ------
    ValueError
        TFLM would refuse it: too few bytes, or another number of offsets than the model has tensors.
    """
    found = [content for name, content in graph.metadata if name == ENTRY]
    if not found:
        return None
    content = found[-1]
    if len(content) < 12:
        raise ValueError(f"the offline plan has {len(content)} bytes; its header alone has 12")
    version, subgraphs, count = struct.unpack_from("<3i", content)
    tensors = len(graph.tensor_places)
    if count != tensors:
        raise ValueError(f"the offline plan has {count} offsets for {tensors} tensors")
    if len(content) < 12 + 4 * count:
        raise ValueError(f"the offline plan has {len(content)} bytes, too few for its {count} offsets")
    return OfflinePlan(list(struct.unpack_from(f"<{count}i", content, 12)), version, subgraphs)


def check_plan(plan, buffers, relaxed=(), alignment=16, *, graph=None, copies=()):
    """What is wrong with a plan, although TFLM would follow it.

    Parameters
    ----------
    plan : OfflinePlan
    buffers : sequence of Buffer
        The model's planned buffers (`figures`); those of the plan have `fixed` offsets.
    relaxed : sequence of (int, int, int)
        Which may overlap although alive together, as in `memory.Problem`.
    alignment : int
    graph : GraphView, optional
        The model: which of its nodes an Ethos-U runs.
    copies : sequence of (int, int)
        Buffers that have the same bytes, as of `distances.aliases`: they may lie at one place.

    Returns
    -------
    list of str
        Empty for a sound plan.
    """
    found = []
    if plan.version not in VERSIONS:
        found.append(f"format version {plan.version} is not known; there are {VERSIONS}")
    fixed = [(i, buffer) for i, buffer in enumerate(buffers) if buffer.fixed != ONLINE]
    for _, buffer in fixed:
        if buffer.fixed < 0:
            found.append(f"{buffer} lies before the arena: offset {buffer.fixed}")
        elif buffer.fixed % alignment:
            found.append(f"{buffer} is not aligned: offset {buffer.fixed} is no multiple of {alignment}")
    permits = _Permits(buffers, relaxed, copies, graph)
    fixed.sort(key=lambda entry: entry[1].fixed)
    for k, (i, a) in enumerate(fixed):
        for j, b in fixed[k + 1 :]:
            if b.fixed >= a.fixed + a.size:
                break
            if a.first <= b.last and b.first <= a.last and not permits(i, j):
                found.append(f"{a} and {b} are alive together and overlap")
    return found


class _Permits:
    """Which pairs of buffers may overlap although both are alive."""

    def __init__(self, buffers, relaxed, copies, graph):
        self._buffers = buffers
        self._distances = {(output, source): d for output, source, d in relaxed}
        self._group = list(range(len(buffers)))
        for output, source in copies:
            kept, gone = self._group[source], self._group[output]
            self._group = [kept if group == gone else group for group in self._group]
        self._regions, self._together = set(), []
        for node in graph.nodes if graph is not None else ():
            if node.custom and node.op == NPU:
                places = [(node.subgraph, t) for t in (*node.inputs, *node.outputs)]
                self._regions.update(places[_SCRATCH])
                self._together.append(set(places))

    def __call__(self, i, j):
        a, b = self._buffers[i], self._buffers[j]
        if self._group[i] == self._group[j] and a.fixed == b.fixed:
            return True
        forth, back = self._distances.get((i, j)), self._distances.get((j, i))
        if (forth is not None and b.fixed - a.fixed >= forth) or (back is not None and a.fixed - b.fixed >= back):
            return True  # the input lies far enough behind the output
        if a.scratch or b.scratch:
            return False
        return bool({a.place, b.place} & self._regions) or any({a.place, b.place} <= node for node in self._together)
