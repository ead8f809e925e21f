"""This package, in each of its resolvers."""

from . import lookalike

MODES = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
DISTRIBUTIONS = ()


def start():
    return lookalike("tflm_cy.interpreter")


def plans(interpreter):
    found = []
    for graph in range(len(interpreter._interpreter.subgraphs)):
        nodes = interpreter.delegate_nodes(graph)
        delegates = [[node, *(list(part) for part in nodes[node])] for node in sorted(nodes)]
        found.append([list(interpreter.execution_plan(graph)), delegates])
    return found
