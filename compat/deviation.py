"""One difference that we want: where, which, why; see `deviations`."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase


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
            and fnmatchcase(difference, literal_brackets(self.difference))
            and (self.cause is None or self.cause(case))
        )


def literal_brackets(pattern):
    return pattern.replace("[", "[[]")
