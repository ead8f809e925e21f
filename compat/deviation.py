"""One difference that we want: where, which, why; see `deviations`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from .branches import branch_case
from .builder import operator_name, read_model

_READ = re.compile(r"invoke \d+, output (\d+): ")
_NODE = re.compile(r"  <>  raised .*?(?:Node number (\d+) \((?!TfLiteXNNPackDelegate)|It runs \w+ \(node (\d+)\))")


@dataclass(frozen=True)
class Deviation:
    cases: str
    difference: str
    reason: str
    modes: tuple = ()
    text: str = "*"  # of the case
    cause: Callable | None = None  # what must be true of the case (`causes`)
    computed_by: str = ""  # the operator that an output that differs, or a node that is refused here, depends on

    def fits(self, case_id, difference, mode, case):
        return (
            (not self.modes or mode in self.modes)
            and fnmatchcase(case.text, literal_brackets(self.text))
            and fnmatchcase(case_id, literal_brackets(self.cases))
            and any(fnmatchcase(text, literal_brackets(self.difference)) for text in _told(difference, case))
            and any(map(partial(self._is_due, difference), _with_branch(case)))
        )

    def _is_due(self, difference, case):
        return (not self.computed_by or _is_computed_by(self.computed_by, difference, case)) and (
            self.cause is None or self.cause(case)
        )


def _with_branch(case):
    """A case, and where its main graph is an IF or STABLEHLO_CASE of `placeholders` alone: that of the branch."""
    yield case
    if case.variant.endswith((", IF", ", CASE")):
        yield branch_case(case)


def _told(difference, case):
    """A difference, and of a program how the case that it is made of would tell it: of the operator's first output, where it is an output
    that the operator computes."""
    yield difference
    if case.program and (case.op == "GRAPH" or _is_computed_by(case.op, difference, case)):
        read = _READ.match(difference)
        yield f"invoke 0, output 0: {difference[read.end() :]}" if read else difference


def _is_computed_by(operator, difference, case):
    """Whether the output of the main graph that differs, or its node that is refused here, depends on a node of an operator."""
    model = read_model(case.model)
    graph = model["subgraphs"][0]
    wanted, found = _differs(difference, graph), False
    for node in reversed(graph["operators"]):
        if wanted.intersection(map(int, node["outputs"])):
            wanted.update(map(int, node["inputs"]))
            found = found or operator_name(model, node) == operator
    return found


def _differs(difference, graph):
    """The tensor that a difference is about: an output, or the operands of a node that is refused."""
    read, refused = _READ.match(difference), _NODE.search(difference)
    if read:
        return {int(t) for t in graph["outputs"][int(read[1]) :][:1]}
    if refused and int(refused[1] or refused[2]) < len(graph["operators"]):
        return {int(t) for t in graph["operators"][int(refused[1] or refused[2])]["inputs"]}
    return set()


def literal_brackets(pattern):
    return pattern.replace("[", "[[]")
