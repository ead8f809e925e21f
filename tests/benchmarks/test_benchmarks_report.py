"""Text of a run: every section's table, reasons, bars; and the command line's refusals."""

import pytest

from benchmarks.__main__ import main
from benchmarks.alternation import Pairs
from benchmarks.bars import judge
from benchmarks.models import find_cases, hello_worlds
from benchmarks.report import to_text
from benchmarks.settings import Settings
from benchmarks.sides import SIDES

SUMMARY = Pairs([1e-6] * 5, [2.5e-6] * 5).summary()
PLACE = {"model": "tflm/some.tflite", "mode": "BUILTIN_REF", "theirs": "tensorflow"}


def test_every_section_is_shown():
    memory = dict.fromkeys(("rss", "peak", "import_rss", "total"), 3e6)
    results = {
        "size": [{"side": "tflm_cy", "total": 4_150_000, "files": 178}],
        "import": [{"side": "tflm_cy", "statement": "import tflm_cy", "seconds": 0.005, "seconds_min": 0.004}],
        "calls": [{**PLACE, **dict.fromkeys(("set", "invoke", "get", "together"), SUMMARY), "same_bytes": True}],
        "latency": [{**PLACE, **SUMMARY, "same_bytes": False}],
        "load": [{**PLACE, **SUMMARY}],
        "rss": [{"model": "some", "mode": "AUTO", "side": "tflm_cy", "import_seconds": 1.5, "first_seconds": 0.1}],
    }
    results["size"][0].update(dict.fromkeys(("libraries", "python", "data", "bytecode"), 10_000))
    results["import"][0].update(rss=2.6e6, peak=2.7e6)
    results["rss"][0].update(memory)
    text = to_text(results, judge(results))
    for part in ("4.15 MB", "5.00 ms", "1.00 us / 2.50 us (2.50)", "2.50..2.50", "3.00 MB", "1.50 s"):
        assert part in text
    assert "different bytes: tflm/some.tflite BUILTIN_REF tensorflow" in text
    assert "MET: the installed package is smaller than 10 MB" in text


def test_equal_reasons_are_one_line():
    rows = [{**PLACE, "model": f"m{i}", "not_run": "no operator", "blamed": "tflm_cy"} for i in range(6)]
    lines = to_text({"latency": [*rows, {**PLACE, "not_run": "other", "blamed": None}]}).splitlines()
    assert [line for line in lines if line.endswith(": no operator")] == [
        "not run: m0 BUILTIN_REF tensorflow, m1 BUILTIN_REF tensorflow, m2 BUILTIN_REF tensorflow, "
        "m3 BUILTIN_REF tensorflow and 2 more: no operator"
    ]
    assert any(line.endswith(": other") for line in lines)


def test_tiny_models_are_the_same_every_time_and_tiny():
    first, again = hello_worlds(), hello_worlds()
    assert [case.model for case in first] == [case.model for case in again]
    assert all(len(case.model) <= 4096 for case in first)
    assert all((a.feeds[0][0] == b.feeds[0][0]).all() for a, b in zip(first, again, strict=True))


def test_models_come_smallest_first(tmp_path):
    small, large = (case.model for case in sorted(hello_worlds(), key=lambda case: len(case.model)))
    (tmp_path / "a_large.tflite").write_bytes(large)
    (tmp_path / "b_small.tflite").write_bytes(small)
    names = [case.model.name for case in find_cases([tmp_path])]
    assert names == ["b_small.tflite", "a_large.tflite"]
    assert [case.model.name for case in find_cases([tmp_path], "large")] == ["a_large.tflite"]


def test_settings_of_a_quick_look_and_what_the_user_says():
    quick = Settings.chosen(quick=True, pairs=7, seconds=None)
    assert (quick.pairs, quick.seconds) == (7, 1.0)
    assert Settings.chosen().pairs == 150
    assert Settings.chosen(threads=2).cpu is None


def test_a_side_of_one_arithmetic_has_only_that():
    assert SIDES["tflite_micro"].mode("BUILTIN_REF") == "MICRO"
    assert SIDES["tensorflow"].mode("AUTO") == "AUTO"


@pytest.mark.parametrize(
    "arguments", [["--only", "speed"], ["--modes", "FASTEST"], ["--threads", "0"], ["--against", "no_such_runtime"]]
)
def test_wrong_usage_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err
