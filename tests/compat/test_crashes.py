"""Why a side dies: found by case and mode, printed by the report, and no excuse for the other side."""

from compat.case import Case
from compat.crashes import Crash, crash_reason
from compat.outcome import Outcome
from compat.report.plain import Tally, to_text
from compat.run import DIFFERS, NOT_COMPARED, judge

CASE = Case("SVDF", "float32", "no bias", 3, b"", [])


def died():
    return Outcome("crashed", error="SIGSEGV")


def test_an_entry_holds_for_its_modes():
    crashes = (Crash("SVDF/*/no bias#*", "a reason", ("MICRO",)),)
    assert crash_reason(CASE.id, "MICRO", crashes) == "a reason"
    assert crash_reason(CASE.id, "AUTO", crashes) is None
    assert crash_reason("SVDF/float32/random#3", "MICRO", crashes) is None


def test_the_report_prints_reasons_and_what_has_none():
    tally = Tally(("tflite_micro", "tflm_cy_micro"))
    tally.add(judge(CASE, "MICRO", died(), Outcome("ok")))
    tally.add(judge(Case("NEW", "float32", "case", 0, b"", []), "MICRO", died(), Outcome("ok")))
    text = to_text(tally)
    assert "NOT COMPARED 1 x: TFLM gives back a bias that is not there" in text
    assert "NOT COMPARED NEW/float32/case#0 MICRO: crashed (SIGSEGV)" in text


def test_a_reason_does_not_excuse_the_other_sides_death():
    assert judge(CASE, "MICRO", died(), Outcome("ok")).verdict == NOT_COMPARED
    assert judge(CASE, "MICRO", died(), died()).verdict == DIFFERS
