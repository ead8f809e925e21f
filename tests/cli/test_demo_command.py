"""`python -m tflm_cy demo`: runs, and its figures are true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tflm_cy
import tflm_cy.demo
from tflm_cy.cli import demo, main

FOLDER = Path(tflm_cy.demo.__file__).parent


def count_correct(name):
    """Of the held-out images, computed image by image through the public interface."""
    interpreter = tflm_cy.Interpreter(str(FOLDER / name))
    interpreter.allocate_tensors()
    source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    correct = 0
    with np.load(FOLDER / "digits_test.npz") as data:
        for image, label in zip(data["images"], data["labels"], strict=True):
            x = (image / np.float32(16)).reshape(source["shape"]).astype(np.float32)
            if source["dtype"] is np.int8:
                scale, zero_point = source["quantization"]
                x = np.clip(np.rint(x / scale) + zero_point, -128, 127).astype(np.int8)
            interpreter.set_tensor(source["index"], x)
            interpreter.invoke()
            correct += int(interpreter.get_tensor(result["index"]).argmax() == label)
        return correct, len(data["labels"])


def run_demo(tmp_path, *arguments, **environ):
    """stdout of the command, run from another folder as an installed package is."""
    root = str(FOLDER.parents[1])
    environ = {**os.environ, "PYTHONPATH": root, "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "0", **environ}
    return subprocess.run(
        [sys.executable, "-m", "tflm_cy", "demo", *arguments],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        timeout=60,
    )


def test_the_accuracy_that_it_prints_is_true(tmp_path):
    result = run_demo(tmp_path, COLUMNS="80")
    assert result.returncode == 0 and result.stderr == b""
    text = result.stdout.decode()
    for name in ("digits_float.tflite", "digits_int8.tflite"):
        correct, total = count_correct(name)
        row = next(line for line in text.splitlines() if line.startswith(name))
        assert re.search(rf"\s{correct} of {total}\s+{100 * correct / total:.2f} %\s", row)
        size = f"{(FOLDER / name).stat().st_size / 1024:.1f} KiB"
        assert row.endswith(size)
    assert "▀" in text and "\x1b" not in text
    assert len(re.findall(r"read \d", text)) == 14


def test_a_plain_terminal_gets_plain_characters(tmp_path):
    result = run_demo(tmp_path, "--pictures", "3", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert result.stdout.isascii() and b"\x1b" not in result.stdout and b"@@" in result.stdout


def test_no_pictures(capsys):
    assert main(["demo", "--pictures", "0"]) == 0
    assert "read " not in capsys.readouterr().out.partition("\n")[2].partition("model")[0]


def test_captions_say_what_was_written_when_it_was_misread():
    read, labels = np.array([1, 2, 3, 4, 9]), np.array([1, 2, 3, 4, 5])
    assert demo._choose(read, labels, 3).tolist() == [0, 1, 4]
    assert demo._caption(9, 5) == "read 9, is 5"
    assert demo._caption(4, 4) == "read 4"
    assert demo._choose(read, labels, 0).tolist() == []


@pytest.mark.parametrize("mode", ["AUTO", "builtin_ref"])
def test_modes(capsys, mode):
    assert main(["demo", "--mode", mode, "--pictures", "0"]) == 0
    assert "digits_int8.tflite" in capsys.readouterr().out
