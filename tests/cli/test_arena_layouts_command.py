"""`arena` with --shared, --split, --fast and --slow: what it prints and writes, and what it refuses."""

import json
from pathlib import Path

import pytest

import tflm_cy.demo
from tflm_cy.cli import main

INT8 = Path(tflm_cy.demo.__file__).parent / "digits_int8.tflite"
FLOAT = INT8.with_name("digits_float.tflite")


def run(capsys, *arguments):
    code = main(["arena", *map(str, arguments)])
    return code, capsys.readouterr()


def test_shared(tmp_path, capsys):
    numbers = tmp_path / "n.json"
    code, said = run(capsys, INT8, FLOAT, "--shared", "--target", "cortex-m55", "--json", numbers)
    found = json.loads(numbers.read_text())
    assert code == 0 and found["target"] == "cortex-m55+cmsis-nn"
    sizes = found["shared"]
    assert f"kTensorArenaSize = {-(-sizes['smallest_arena'] // 16) * 16};" in said.out
    assert "interpreter_model_digits_int8(model_digits_int8, resolver, allocator)" in said.out
    assert sizes["smallest_arena"] < sizes["sum_alone"] and len(sizes["models"]) == 2
    assert run(capsys, INT8, FLOAT, "--shared", "--arena", sizes["smallest_arena"] // 2)[0] == 1


def test_split(tmp_path, capsys):
    code, said = run(capsys, INT8, "--split", "--json", tmp_path / "n.json")
    sizes = json.loads((tmp_path / "n.json").read_text())["split"]
    assert code == 0 and f"kPersistentArenaSize = {sizes['persistent']};" in said.out
    assert f"kNonPersistentArenaSize = {sizes['non_persistent']};" in said.out


def test_two_memories(tmp_path, capsys):
    code, said = run(capsys, INT8, "--fast", "2K", "--slow", "1M", "--json", tmp_path / "n.json")
    found = json.loads((tmp_path / "n.json").read_text())["memories"]
    assert code == 0 and f"{found['moved']} bytes per invoke" in said.out
    assert found["bound"] <= found["moved"] <= found["first_fit"] <= found["all_slow"]
    assert sum(item["moved"] for item in found["items"] if not item["fast"]) == found["moved"]
    assert all(item["offset"] + item["bytes"] <= 2048 for item in found["items"] if item["fast"])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([FLOAT], "several models want --shared"),
        (["--fast", "1K"], "go together"),
        (["--shared", "--split"], "give one of them"),
        (["--split", "--export-plan", "x.tflite"], "--export-plan belongs to one arena"),
        (["--fast", "1K", "--slow", "1M", "--csv", "x.csv"], "--csv belongs to one arena"),
        (["--fast", "16", "--slow", "16"], "slow memory"),
    ],
)
def test_wrong_usage(capsys, words, why):
    code, said = run(capsys, INT8, *words)
    assert code == 2 and why in said.err
