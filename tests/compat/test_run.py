"""Sides in their processes: results, crashes and hangs of fake sides all come back as verdicts."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compat.__main__ import main
from compat.builder import Model, Tensor
from compat.case import Case
from compat.deviation import Deviation
from compat.outcome import Outcome
from compat.process import SideFailedError, SideProcess
from compat.report import Tally, reproduction, to_html, to_json, to_text
from compat.run import DEVIATES, DIFFERS, EQUAL, NOT_COMPARED, REFUSED, Side, judge, run

FAKES = Path(__file__).parent / "fakes"


@pytest.fixture(autouse=True)
def fakes(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(FAKES))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(FAKES))


def case(first, seed=0, shape=(4,)):
    feeds = [[np.full(shape, first, np.float32)] for _ in range(2)]
    model = Model.single("RELU", [Tensor([4], "float32")], [Tensor([4], "float32")]).to_bytes()
    return Case("RELU", "float32", "random", seed, model, feeds, text="made by hand")


def test_crashes_hangs_and_refusals_become_results():
    jobs = [case(first, seed) for seed, first in enumerate((0, 1, 0, 2, 3, 4, 0))]
    results = {r.case.seed: r for r in run(jobs, Side("fake_same"), Side("fake_wrong"), jobs=2, timeout=3)}
    assert [results[i].verdict for i in range(7)] == [EQUAL, DIFFERS, EQUAL, DIFFERS, DIFFERS, DIFFERS, EQUAL]
    assert results[1].b.status == "crashed" and results[1].b.error == "SIGSEGV"
    assert results[3].b.status == "hung"
    assert "ValueError in invoke: three is refused" in results[4].difference
    assert results[5].b.error == "SIGABRT" and "about to abort" in results[5].b.text


def test_outputs_that_differ_are_found():
    good = next(run([case(0)], Side("fake_same"), Side("fake_wrong"), timeout=20))
    assert good.verdict == EQUAL and len(good.a.invokes) == 2
    good.b.invokes[1][0].data = np.float32([0, 0, -0.0, 0]).tobytes()
    assert judge(good.case, "BUILTIN_REF", good.a, good.b).difference.startswith("invoke 1, output 0")


def test_a_death_of_the_deciding_side_is_not_compared_but_excuses_nobody():
    ok, dead = Outcome("ok"), Outcome("crashed", error="SIGABRT")
    assert judge(case(0), "BUILTIN_REF", dead, ok).verdict == NOT_COMPARED
    assert judge(case(0), "BUILTIN_REF", dead, dead).verdict == DIFFERS
    assert judge(case(0), "BUILTIN_REF", dead, dead, same_side=True).verdict == NOT_COMPARED
    refused = Outcome("raised", error="RuntimeError")
    assert judge(case(0), "BUILTIN_REF", refused, refused).verdict == REFUSED


def test_an_expected_deviation_is_counted_with_its_reason():
    empty = Outcome("raised", stage="get_tensor", error="ValueError", text="Invalid tensor size.")
    result = judge(case(0), "BUILTIN_REF", empty, Outcome("ok"))
    assert result.verdict == DEVIATES and "empty array" in result.reason
    other = Outcome("raised", stage="get_tensor", error="ValueError", text="Something else.")
    assert judge(case(0), "BUILTIN_REF", other, Outcome("ok")).verdict == DIFFERS


def test_a_deviation_of_some_graphs_looks_at_their_nodes():
    entry = Deviation("GRAPH/*", "ok  <>  *", "sums", ("AUTO",), "*SUM(*->* int8[*")
    sums, means = (replace(case(0), text=f"ABS(0)->1 int8[2]; {op}(1 2)->3 int8[1]") for op in ("SUM", "MEAN"))
    assert entry.fits("GRAPH/int8/chain#1", "ok  <>  raised", "AUTO", sums)
    assert not entry.fits("GRAPH/int8/chain#1", "ok  <>  raised", "AUTO", means)
    assert not entry.fits("GRAPH/int8/chain#1", "ok  <>  raised", "BUILTIN_REF", sums)


def test_an_input_of_another_shape_is_resized():
    result = next(run([case(0, shape=(2, 3))], Side("fake_same"), Side("fake_same"), timeout=20))
    assert result.verdict == EQUAL and result.a.invokes[0][0].shape == (2, 3)


def test_threads_are_passed_on_and_what_a_delegate_took_comes_back():
    found = run([case(0)], Side("fake_same"), Side("fake_same"), threads=(1, 2, 4), timeout=20)
    results = {result.threads: result for result in found}
    assert {threads: r.a.delegates for threads, r in results.items()} == {1: [], 2: [[[0], [2]]], 4: [[[0], [4]]]}
    results[2].b.delegates = [[[0], [1, 2]]]
    judged = judge(results[2].case, "AUTO", results[2].a, results[2].b)
    assert judged.verdict == DIFFERS and judged.difference == "delegate node 0: [0] -> [2] <> [0] -> [1, 2]"


def test_a_side_that_is_not_installed_is_no_result():
    with pytest.raises(SideFailedError, match="a_package_that_nobody_has"):
        SideProcess("fake_missing").run(case(0), "BUILTIN_REF")
    with pytest.raises(SideFailedError):
        list(run([case(0)], Side("fake_missing"), Side("fake_same")))


def test_the_report_names_the_command_for_each_difference():
    tally = Tally(("fake_same:BUILTIN_REF", "fake_wrong:BUILTIN_REF"), ("--b", "fake_wrong"))
    for result in run([case(0), case(3, 7)], Side("fake_same"), Side("fake_wrong"), timeout=20):
        tally.add(result)
    command = "--b fake_wrong --op RELU --dtype float32 --case random --mode BUILTIN_REF --seed 7"
    text, page, data = to_text(tally), to_html(tally), to_json(tally)
    assert command in text and command in page and command in data["listed"][0]["command"]
    assert "--threads" not in command and "threads" in text.splitlines()[2]
    assert tally.failed() and data["total"] == {EQUAL: 1, DIFFERS: 1} and "made by hand" in text


def test_the_command_of_a_run_with_threads_names_them():
    result = next(run([case(3, 7)], Side("fake_same"), Side("fake_wrong"), threads=(4,), timeout=20))
    assert reproduction(result).endswith("--mode BUILTIN_REF --seed 7 --threads 4")


def test_exit_codes(capsys, tmp_path):
    report = tmp_path / "report.json"
    same = [
        "--a",
        "fake_same",
        "--b",
        "fake_same",
        "--op",
        "SQUARE",
        "--dtype",
        "float32",
        "--case",
        "random",
        "--jobs",
        "1",
        "--seeds",
        "1",
    ]
    assert main([*same, "--json", str(report), "--html", str(tmp_path / "r.html")]) == 0
    assert json.loads(report.read_text())["total"] == {"equal": 1}
    assert main([*same, "--case", "no such variant"]) == 2
    assert main([*same, "--op", "NO_SUCH_OP"]) == 2
    assert main(["--a", "no_such_side"]) == 2
    assert main([*same, "--mode", "NO_MODE"]) == 2
    assert main([*same, "--threads", "0"]) == 2
    assert main([*same, "--json", str(report), "--threads", "1", "2"]) == 0
    assert [row["threads"] for row in json.loads(report.read_text())["rows"]] == [1, 2]
    assert main(["--a", "fake_same", "--b", "fake_missing", "--op", "SQUARE", "--seeds", "1", "--jobs", "1"]) == 2
    capsys.readouterr()


def test_a_difference_is_exit_code_1(capsys, monkeypatch):
    from compat import __main__ as command_line

    monkeypatch.setattr(command_line, "generated_cases", lambda *_, **__: iter([case(3)]))
    assert main(["--a", "fake_same", "--b", "fake_wrong", "--jobs", "1"]) == 1
    assert "three is refused" in capsys.readouterr().out


def test_another_python_may_run_a_side():
    result = next(run([case(0)], Side("fake_same", python=sys.executable), Side("fake_same"), timeout=20))
    assert result.verdict == EQUAL
