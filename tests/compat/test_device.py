"""compat.device: which target a title means, and that a wrong figure is found."""

import json
from pathlib import Path

import pytest

import tflm_cy.demo
from compat.device import computed, difference, main, named
from compat.verdict import UsageError
from tflm_cy.micro.graph_view import view
from tflm_cy.schema.model import Model

FOLDER = Path(tflm_cy.demo.__file__).parent


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("arm-linux-gnueabihf, reference kernels", "arm-linux"),
        ("cortex-m3 (arm-none-eabi, short enums), reference kernels", "cortex-m3+reference"),
        ("cortex-m55, CMSIS-NN (MVE)", "cortex-m55+cmsis-nn"),
        ("esp-nn generic (ANSI C)", "esp32+esp-nn"),
        ("esp-nn esp32-s3", "esp32s3+esp-nn"),
        ("cortex-m33+nodsp+cmsis-nn", "cortex-m33+nodsp+cmsis-nn"),
    ],
)
def test_titles(title, name):
    assert named(title) == name


def test_a_title_of_nothing():
    with pytest.raises(UsageError, match="a toaster"):
        named("a toaster")


def test_what_differs_is_said(tmp_path, capsys):
    graph = view(Model.from_path(FOLDER / "digits_int8.tflite"))
    right = computed(graph, "cortex-m4")
    assert difference(right, right) is None and difference({"error": "refused"}, right)
    file = tmp_path / "figures.json"
    for tail, code in ((right["tail"], 0), (right["tail"] + 16, 1)):
        file.write_text(json.dumps({"cortex-m4, CMSIS-NN": {"digits_int8": {**right, "tail": tail}}}))
        assert main(["--figures", str(file), "--models", str(FOLDER)]) == code
    assert f"tail measured {right['tail'] + 16}, here {right['tail']}" in capsys.readouterr().out
    assert main(["--figures", str(file), "--models", str(tmp_path)]) == 2
