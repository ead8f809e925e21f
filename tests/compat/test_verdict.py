"""How judges end: their exit codes, one line for what cannot be used, files before text."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tflm_cy.demo
from compat.models import find_models, tflite_files
from compat.verdict import UsageError, judge, write

ROOT = Path(__file__).parents[2]
DEMO = Path(tflm_cy.demo.__file__).parent
JUDGES = {
    "compat": ["--models"],
    "compat.fuzz": ["--models"],
    "compat.soak": ["--cycles", "1", "--models"],
    "compat.delegation": ["--models"],
    "compat.addresses": ["--models"],
    "compat.planners": ["--models"],
}


def run(*arguments, **streams):
    return subprocess.run([sys.executable, "-m", *map(str, arguments)], cwd=ROOT, timeout=300, **streams)


def test_a_folder_of_a_model_s_name_is_a_folder(tmp_path):
    inner = tmp_path / "folder.tflite"
    inner.mkdir()
    (inner / "a.tflite").write_bytes(b"")
    assert tflite_files(tmp_path) == [inner / "a.tflite"]
    assert [name for name, _ in find_models([inner])] == ["folder.tflite/a.tflite"]
    with pytest.raises(UsageError, match=r"no such folder: .*none"):
        find_models([tmp_path / "none"])


def test_fuzz_goes_through_such_a_folder(tmp_path):
    (tmp_path / "folder.tflite").mkdir()
    (tmp_path / "a.tflite").write_bytes((DEMO / "digits_int8.tflite").read_bytes())
    arguments = ["--truncations", "2", "--flips", "2", "--jobs", "1", "--models", tmp_path]
    done = run("compat.fuzz", *arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("what", ["missing", "empty"])
def test_nothing_to_compare_is_wrong_usage(tmp_path, name, what):
    folder = tmp_path / "models"
    if what == "empty":
        folder.mkdir()
    done = run(name, *JUDGES[name], folder, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith(f"{name}: ")


def test_codes(capsys):
    def ends(act):
        return judge("compat.x")(act)()

    def fail(error):
        raise error

    assert [ends(lambda value=value: value) for value in (None, False, True, 0, 1, 2)] == [0, 0, 1, 0, 1, 2]
    assert ends(lambda: fail(UsageError("no such folder"))) == 2
    assert ends(lambda: fail(ModuleNotFoundError("x", name="tensorflow"))) == 2
    assert capsys.readouterr().err.splitlines() == [
        "compat.x: no such folder",
        "compat.x: tensorflow is not installed; pip install -e '.[compat]'",
    ]
    with pytest.raises(ModuleNotFoundError):
        ends(lambda: fail(ModuleNotFoundError("x", name="tflm_cy.nothing")))


def test_a_report_that_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="No such file or directory"):
        write(tmp_path / "none" / "report.json", "{}")
    if os.path.exists("/dev/full"):
        with pytest.raises(UsageError, match="No space left"):
            write("/dev/full", "{}")


def test_a_reader_that_leaves_early_costs_no_report(tmp_path):
    report = tmp_path / "findings.json"
    arguments = ["--truncations", "2", "--flips", "2", "--jobs", "1", "--models", str(DEMO), "--json", str(report)]
    command = [sys.executable, "-m", "compat.fuzz", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(300) == 0 and b"Traceback" not in error
    assert json.loads(report.read_text())
