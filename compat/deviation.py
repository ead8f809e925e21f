"""One difference that we want: where, which, why; see `deviations`."""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Deviation:
    cases: str
    difference: str
    reason: str
    modes: tuple = ()
    text: str = "*"  # of the case

    def fits(self, case_id, difference, mode, text=""):
        return (
            (not self.modes or mode in self.modes)
            and fnmatchcase(text, literal_brackets(self.text))
            and fnmatchcase(case_id, literal_brackets(self.cases))
            and fnmatchcase(difference, literal_brackets(self.difference))
        )


def literal_brackets(pattern):
    return pattern.replace("[", "[[]")
