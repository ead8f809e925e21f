"""`python -m tflm_cy doctor`: the questions of TFLM's users, and what it writes."""

import json
import time
from pathlib import Path

import pytest

import tflm_cy.demo
from tests.cli.doctor_questions import QUESTIONS
from tflm_cy.cli import main
from tflm_cy.micro.diagnosis import Diagnosis

INT8 = Path(tflm_cy.demo.__file__).parent / "digits_int8.tflite"
PAGE = Path(__file__).parents[2] / "docs" / "doctor.md"


def run(capsys, *arguments):
    code = main(["doctor", *map(str, arguments)])
    return code, capsys.readouterr()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.thread.replace("/issues/", "#"))
def test_questions(tmp_path, capsys, question):
    path = tmp_path / "model.tflite"
    path.write_bytes(question.model().to_bytes())
    begin = time.process_time()
    code, said = run(capsys, path, *question.arguments)
    assert time.process_time() - begin < 5
    assert code == int(not question.runs), said.out
    assert said.err == ""
    for text in question.answers:
        assert text in said.out, said.out
    for text in question.silent:
        assert text not in said.out


def test_the_page_lists_the_questions():
    page = PAGE.read_text()
    assert len({question.thread for question in QUESTIONS}) >= 20
    for question in QUESTIONS:
        assert f"https://github.com/{question.thread})" in page, question.thread


def test_the_least_arena_and_a_byte_less(capsys):
    needed = Diagnosis(INT8, "cortex-m55").figures.smallest_arena
    code, said = run(capsys, INT8, "--target", "cortex-m55", "--arena", needed)
    assert code == 0 and "enough" in said.out and "What fails first" not in said.out
    code, said = run(capsys, INT8, "--target", "cortex-m55", "--arena", needed - 1)
    assert code == 1 and "What fails first" in said.out


@pytest.mark.parametrize("target", ["host64", "cortex-m4", "cortex-m55", "esp32s3"])
def test_what_is_too_small_has_a_shortage(target):
    least = Diagnosis(INT8, target).figures.smallest_arena
    for size in range(0, least + 64, 48):
        found = Diagnosis(INT8, target, size)
        assert found.runs == (size >= least)
        assert (found.shortage is None) == found.runs, size
        if found.shortage:
            assert found.shortage.requested > found.shortage.available and found.shortage.words
    # what TFLM allocates before it looks at the model stands in no message


def test_the_files(tmp_path, capsys):
    page, numbers = tmp_path / "d.html", tmp_path / "d.json"
    code, _ = run(capsys, INT8, "--arena", "2K", "--html", page, "--json", numbers)
    assert code == 1
    text = page.read_text()
    assert "Does not run" in text and "<svg" in text and "kTensorArenaSize" in text
    data = json.loads(numbers.read_text())
    assert (data["target"], data["kernels"], data["runs"]) == ("cortex-m4", "cmsis-nn", False)
    assert data["arena"]["given"] == 2048 and data["arena"]["needed"] % 16 == 0
    assert data["first"]["call"] == "AllocateTensors" and data["first"]["words"].startswith("Failed to ")
    assert data["outputs"]["equal"] is True and data["outputs"]["nodes"] == []
    assert data["macs"] == sum(row["macs"] for row in data["operators"]) > 0
    assert 0 < data["flash"]["weights"] < data["flash"]["model"] == INT8.stat().st_size


@pytest.mark.parametrize("words", [["--arena", "-1"], ["--arena", "much"], ["--target", "toaster"]])
def test_wrong_usage(capsys, words):
    try:
        code = run(capsys, INT8, *words)[0]
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2


def test_without_outputs(capsys):
    assert "not compared" in run(capsys, INT8, "--no-outputs")[1].out
