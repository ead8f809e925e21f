"""TensorFlow Lite's own arena for a model, beside TFLM's: what the same tensors take on a computer.

    >>> from tflm_cy.micro.tflite_arena import tflite_arena      # doctest: +SKIP
    >>> tflite_arena(graph)                                      # doctest: +SKIP
    Arena(bytes=110720, persistent=0, alignment=64)

It is that of the main graph with the reference kernels and without delegates, by `memory.ArenaPlanner`: tensors on
multiples of 64 bytes, inputs and outputs never reused, variables in an arena that persists. What kernels ask for besides
(temporaries) is not counted: it differs between kernels; nor is what behind a node with a dynamic output has no size yet.
"""

from typing import NamedTuple

from tflm_cy.memory.arena_planner import NOT_IN_ARENA, PERSISTENT, READ_WRITE, ArenaPlanner, PlannedNode

ALIGNMENT = 64

# op -> (positions of inputs that output 0 may take over, whether the data stays as it is)
TAKES_OVER = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "BITCAST"), ((0,), True)),
    **dict.fromkeys(("ADD", "SUB", "MUL", "DIV"), ((0, 1), False)),
    **dict.fromkeys(("SOFTMAX", "DYNAMIC_UPDATE_SLICE"), ((0,), False)),
}


class Arena(NamedTuple):
    """Bytes of the arena of tensors, and of the one of variables."""

    bytes: int
    persistent: int
    alignment: int


def tflite_arena(graph):
    """The Arena of a graph_view.GraphView."""
    main = graph.subgraphs[0]
    written = {t for node in main.nodes for t in node.outputs} | set(main.inputs)
    arenas = []
    for t, tensor in enumerate(main.tensors):
        planned = not tensor.constant and t in written and tensor.has_size and tensor.type != "RESOURCE"
        arenas.append(PERSISTENT if tensor.variable else READ_WRITE if planned else NOT_IN_ARENA)
    sizes = [tensor.nbytes if tensor.has_size else 0 for tensor in main.tensors]
    nodes = [PlannedNode(node.inputs, node.outputs, (), *TAKES_OVER.get(node.op, ((), False))) for node in main.nodes]
    variables = [t for t, tensor in enumerate(main.tensors) if tensor.variable]
    planner = ArenaPlanner(sizes, nodes, main.inputs, main.outputs, variables, arenas, alignment=ALIGNMENT)
    planner.plan()
    planner.execute()
    return Arena(planner.arena_bytes, planner.persistent_bytes, ALIGNMENT)
