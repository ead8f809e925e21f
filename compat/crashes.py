"""Cases that the deciding side does not survive, each with the cause. The report prints every entry that was met, with how often;
a crash that is not listed here is shown with its case.

An entry is (case pattern, reason, modes); patterns are fnmatch's, `[` standing for itself. Nothing is compared there, so that an entry
explains and excuses nothing: what the other side does with the case is its own.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from .deviations import literal_brackets


@dataclass(frozen=True)
class Crash:
    cases: str
    reason: str
    modes: tuple = ()


TENSORFLOW = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")

CRASHES = ()


def crash_reason(case_id, mode, crashes=CRASHES):
    """Why the deciding side dies on a case, None where that is not known."""
    found = (
        c.reason
        for c in crashes
        if (not c.modes or mode in c.modes) and fnmatchcase(case_id, literal_brackets(c.cases))
    )
    return next(found, None)
