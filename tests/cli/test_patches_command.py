"""`python -m tflm_cy arena MODEL --patches`: what is told is of the copy that is written."""

import json
from pathlib import Path

import numpy as np
import pytest

import tflm_cy
import tflm_cy.demo
from tflm_cy.cli.main import main
from tflm_cy.micro.arena_usage import demand
from tflm_cy.schema.model import Model

MODEL = str(Path(tflm_cy.demo.__file__).with_name("digits_int8.tflite"))
HEAD = ["arena", MODEL, "--patches", "--optimize", "head"]


def outputs(path):
    interpreter = tflm_cy.Interpreter(str(path))
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()[0]
    values = np.random.default_rng(0).integers(-128, 128, details["shape"]).astype(details["dtype"])
    interpreter.set_tensor(details["index"], values)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tobytes()


def test_the_copy_and_what_is_told_of_it(tmp_path, capsys):
    copy, told, page = tmp_path / "copy.tflite", tmp_path / "told.json", tmp_path / "page.html"
    assert main([*HEAD, "--export-plan", str(copy), "--json", str(told), "--html", str(page)]) == 0
    text = capsys.readouterr().out
    found = json.loads(told.read_text())
    patches = found["patches"]
    asked = demand(Model.from_path(copy))
    assert asked.plan().high_water_mark == patches["head"] == found["planners"]["greedy"]["head"]
    assert patches["head"] < patches["before"]["overlap_head"] and patches["stages"]
    assert len(asked.graph.nodes) == patches["operators"]
    assert copy.stat().st_size == Path(MODEL).stat().st_size + patches["file_growth"]
    assert outputs(copy) == outputs(MODEL)
    assert "operators instead of 8" in text and "carries a patch-wise plan" in text and "Stages" in text
    assert "tile 0,0" in page.read_text() and "patch-wise plan, head" in page.read_text()


def test_strict_and_limited(tmp_path, capsys):
    assert main([*HEAD, "--strict", "--json", "-"]) == 0
    strict = json.loads(capsys.readouterr().out)["patches"]
    assert strict["strict"] and strict["head"] >= 784
    assert main([*HEAD, "--extra-macs", "0", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["patches"]["extra_macs_percent"] == 0


def test_nothing_to_gain(capsys):
    assert main(["arena", MODEL, "--patches"]) == 0
    assert "No stages were found that need less" in capsys.readouterr().out


@pytest.mark.parametrize("option", [["--extra-macs", "-1"], ["--seconds", "-1"]])
def test_wrong_usage(option, capsys):
    assert main([*HEAD, *option]) == 2
    assert "not negative" in capsys.readouterr().err


def test_a_model_that_tflm_refuses(tmp_path, capsys):
    from compat.builder import Model as Builder
    from compat.builder import Tensor

    path = tmp_path / "refused.tflite"
    path.write_bytes(Builder.single("MyOp", [Tensor([4], "int8")], [Tensor([4], "int8")]).to_bytes())
    assert main(["arena", str(path), "--patches"]) == 2
    assert "cannot be planned" in capsys.readouterr().err
