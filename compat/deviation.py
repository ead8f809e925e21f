"""One difference that we want: where, which, why; see `deviations`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .builder import operator_name, read_model

_READ = re.compile(r"invoke \d+, output (\d+): ")


@dataclass(frozen=True)
class Deviation:
    cases: str
    difference: str
    reason: str
    modes: tuple = ()
    text: str = "*"  # of the case
    cause: Callable | None = None  # what must be true of the case (`causes`)

    def fits(self, case_id, difference, mode, case):
        return (
            (not self.modes or mode in self.modes)
            and fnmatchcase(case.text, literal_brackets(self.text))
            and fnmatchcase(case_id, literal_brackets(self.cases))
            and any(fnmatchcase(text, literal_brackets(self.difference)) for text in _told(difference, case))
            and (self.cause is None or self.cause(case))
        )


def _told(difference, case):
    """A difference, and of a program how the case that it is made of would tell it: of the operator's first output, where it is an output
    that the operator computes."""
    yield difference
    read = _READ.match(difference) if case.program else None
    if read and _computes(case, int(read[1])):
        yield f"invoke 0, output 0: {difference[read.end() :]}"


def _computes(case, output):
    """Whether an output of the main graph depends on a node of the case's operator, or the case is a graph of several."""
    model = read_model(case.model)
    graph = model["subgraphs"][0]
    wanted, found = {int(t) for t in graph["outputs"][output : output + 1]}, case.op == "GRAPH"
    for node in reversed(graph["operators"]):
        if wanted.intersection(map(int, node["outputs"])):
            wanted.update(map(int, node["inputs"]))
            found = found or operator_name(model, node) == case.op
    return found


def literal_brackets(pattern):
    return pattern.replace("[", "[[]")
