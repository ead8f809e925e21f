"""What each operator's kernels ask of the arena besides the tensors, for one target's kernels.

>>> from tflm_cy.micro.operator_usage import usage           # doctest: +SKIP
>>> usage(demand(model, "cortex-m55+cmsis-nn"))["FULLY_CONNECTED"]       # doctest: +SKIP
Usage(nodes=10, persistent=5664, scratch=0, largest_scratch=0)
"""

from typing import NamedTuple


class Usage(NamedTuple):
    """Bytes of all nodes of an operator; scratch buffers share memory, so their sum is more than they take."""

    nodes: int
    persistent: int  # op data and what prepare keeps: in the tail
    scratch: int  # in the head
    largest_scratch: int  # of one node


def usage(demand):
    """{operator: Usage} of an `arena_usage.Demand`, in the order in which the operators first occur."""
    kept, scratch = {}, {}
    for allocation in demand.before:
        if allocation.place is not None:
            kept[allocation.place] = kept.get(allocation.place, 0) + allocation.size
    for buffer in demand.buffers:
        if buffer.scratch:
            scratch[buffer.place] = scratch.get(buffer.place, 0) + buffer.nbytes
    found = {}
    for node in demand.graph.nodes:
        key = (node.subgraph, node.index)
        nodes, persistent, total, largest = found.get(node.op, (0, 0, 0, 0))
        mine = scratch.get(key, 0)
        found[node.op] = Usage(nodes + 1, persistent + kept.get(key, 0), total + mine, max(largest, mine))
    return found
