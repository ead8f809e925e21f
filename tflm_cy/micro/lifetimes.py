"""When TFLM needs each tensor and scratch buffer: one clock for the whole model, through IF, WHILE and CALL_ONCE.

| event | clock | first use | last use |
| --- | --- | --- | --- |
| a graph's inputs | as it is | now, if none yet | now |
| a node begins | + 1 | of its outputs, if none yet | |
| a child graph begins | + 1, then the child's own walk | | |
| the node ends | as the children left it | | of its inputs and outputs |
| its scratch | | where the node began | where it ended |
| a graph's outputs, behind its last node | as it is | now, if none yet | now |

Intervals are closed, so a node's inputs and outputs never share memory. A read sets no first use: what nobody writes
lives from -1. What is never used lives at [-1, -1]. An input dies at its last read; an output lives to the end. Every
subgraph is planned, those that no node reaches at [-1, -1].

Source: tensorflow/tflite-micro:tensorflow/lite/micro/micro_allocation_info.cc.
"""

from collections import defaultdict

MOST_STEPS = 10_000_000  # of the clock: nested graphs can unfold without end


class Lifetimes:
    """First and last uses.

    Parameters
    ----------
    graph : GraphView
    scratch_nodes : sequence of (int, int)
        (subgraph, node) of every scratch request, in the order of the requests.

    Attributes
    ----------
    tensors : dict of (subgraph, tensor) to [first, last]
    scratch : list of [first, last]
    node_times : list of (int, Node)
        When each node of the walk ran: the clock at its end. A node that runs in several walks stands there as often.
    """

    def __init__(self, graph, scratch_nodes=()):
        self.tensors = {place: [-1, -1] for place in graph.tensor_places}
        self.scratch = [[-1, -1] for _ in scratch_nodes]
        self.node_times = []
        self._graph = graph
        self._clock = 0
        self._requests = defaultdict(list)
        for life, node in zip(self.scratch, scratch_nodes, strict=True):
            self._requests[node].append(life)
        self._walk(0, ())

    def _walk(self, g, above):
        if g in above:
            raise ValueError(f"subgraph {g} runs itself")
        subgraph = self._graph.subgraphs[g]
        for t in subgraph.inputs:
            self._used(g, t, born=True)
        for node in subgraph.nodes:
            self._tick()
            begin = self._clock
            for t in node.outputs:
                life = self.tensors[g, t]
                life[0] = begin if life[0] == -1 else life[0]
            for child in node.children:
                self._tick()
                self._walk(child, (*above, g))
            for t in node.inputs:
                if t >= 0:
                    self._used(g, t)
            for t in node.outputs:
                self._used(g, t)
            for life in self._requests[g, node.index]:
                life[0] = begin if life[0] == -1 else life[0]
                life[1] = self._clock
            self.node_times.append((self._clock, node))
        for t in subgraph.outputs:
            self._used(g, t, born=True)

    def _used(self, g, t, born=False):
        life = self.tensors[g, t]
        if born and life[0] == -1:
            life[0] = self._clock
        life[1] = self._clock

    def _tick(self):
        self._clock += 1
        if self._clock > MOST_STEPS:
            raise ValueError(f"the nested graphs run more than {MOST_STEPS} nodes")
