"""Differences that we want, each with its reason. The report prints every entry that was met, with how often.

An entry is (case pattern, difference pattern, reason); patterns are fnmatch's, `[` standing for itself. The first is
matched with the case's id, the second with the text of the difference as the report shows it ("a <> b", a being the
side that decides). Keep both narrow: an entry that fits too much hides faults.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Deviation:
    cases: str
    difference: str
    reason: str

    def fits(self, case_id, difference):
        return fnmatchcase(case_id, _literal_brackets(self.cases)) and fnmatchcase(
            difference, _literal_brackets(self.difference)
        )


def _literal_brackets(pattern):
    return pattern.replace("[", "[[]")


DEVIATIONS = (
    Deviation(
        "*",
        "raised ValueError in get_tensor: Invalid tensor size.*  <>  ok",
        "an output found empty at run time is returned as an empty array; TensorFlow raises on it",
    ),
    Deviation(
        "*/person_detect.tflite#*",
        "raised ValueError in construct: *  <>  ok",
        "TensorFlow refuses quantized_dimension 3 on rank-1 tensors that have one scale; it has no meaning there",
    ),
)


def deviation_for(case_id, difference, deviations=DEVIATIONS):
    """The first entry that explains a difference, or None."""
    return next((d for d in deviations if d.fits(case_id, difference)), None)
