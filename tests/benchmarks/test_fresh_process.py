"""What a fresh process says about itself."""

import sysconfig

import pytest

from benchmarks import imports
from benchmarks.failure import NotRunError
from benchmarks.fresh import ask
from benchmarks.probe import parse_status
from benchmarks.sides import Side


def test_resident_bytes_are_read_from_the_status_text():
    text = "Name:\tpython\nVmPeak:\t 148008 kB\nVmHWM:\t   33004 kB\nVmRSS:\t   33000 kB\nThreads:\t2\n"
    assert parse_status(text) == [33_000 * 1024, 33_004 * 1024]


def test_memory_that_an_import_takes_is_seen():
    answer = ask("import", "kept = b'x' * 50_000_000; freed = b'x' * 30_000_000; del freed")
    most = 90e6 if sysconfig.get_config_var("Py_GIL_DISABLED") else 60e6  # its allocator gives freed memory back later
    assert 45e6 < answer["rss"] < most
    assert 75e6 < answer["peak"] < 90e6


def test_output_of_an_import_does_not_disturb_the_answer():
    assert ask("import", "import os; print('hello'); os.write(1, b'hello')")["seconds"] > 0


def test_deaths_and_errors_are_reasons():
    with pytest.raises(NotRunError, match="SIGABRT"):
        ask("import", "import os; os.abort()")
    with pytest.raises(NotRunError, match="ModuleNotFoundError"):
        ask("import", "import no_such_runtime")
    with pytest.raises(NotRunError, match="hung"):
        ask("import", "import time; time.sleep(60)", timeout=1)


def test_sides_take_turns_and_the_first_round_does_not_count(monkeypatch):
    asked, seconds = [], iter([100.0, 100.0, 1.0, 10.0, 3.0, 30.0, 2.0, 20.0])

    def answer(kind, statement, timeout):
        asked.append(statement)
        return {"seconds": next(seconds), "rss": 5, "peak": 6}

    monkeypatch.setattr(imports, "ask", answer)
    sides = [Side(name, name, f"import {name}", None) for name in ("a", "b")]
    found = imports.measure(sides, runs=3)
    assert asked == ["import a", "import b"] * 4
    assert (found["a"]["seconds"], found["a"]["seconds_min"], found["b"]["seconds"]) == (2.0, 1.0, 20.0)
