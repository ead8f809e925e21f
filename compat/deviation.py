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
    computed_by: str = ""  # the operator that an output that differs depends on

    def fits(self, case_id, difference, mode, case):
        return (
            (not self.modes or mode in self.modes)
            and fnmatchcase(case.text, literal_brackets(self.text))
            and fnmatchcase(case_id, literal_brackets(self.cases))
            and any(fnmatchcase(text, literal_brackets(self.difference)) for text in _told(difference, case))
            and (not self.computed_by or _is_computed_by(self.computed_by, difference, case))
            and (self.cause is None or self.cause(case))
        )


def _told(difference, case):
    """A difference, and of a program how the case that it is made of would tell it: of the operator's first output, where it is an output
    that the operator computes."""
    yield difference
    if case.program and (case.op == "GRAPH" or _is_computed_by(case.op, difference, case)):
        read = _READ.match(difference)
        yield f"invoke 0, output 0: {difference[read.end() :]}" if read else difference


def _is_computed_by(operator, difference, case):
    """Whether the output of the main graph that differs depends on a node of an operator."""
    read, model = _READ.match(difference), read_model(case.model)
    graph = model["subgraphs"][0]
    wanted, found = {int(t) for t in graph["outputs"][int(read[1]) :][:1]} if read else set(), False
    for node in reversed(graph["operators"]):
        if wanted.intersection(map(int, node["outputs"])):
            wanted.update(map(int, node["inputs"]))
            found = found or operator_name(model, node) == operator
    return found


def literal_brackets(pattern):
    return pattern.replace("[", "[[]")
