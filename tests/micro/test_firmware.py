"""The lines for a firmware compile against declarations with TFLM's names and signatures."""

import shutil
import subprocess
from pathlib import Path

import pytest

from compat.builder import Model, Tensor
from compat.firmware import all_lines, complaints, program
from tests.micro.models import branches, chain, loaded
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.requests import KERNELS
from tflm_cy.micro.resolver import firmware, method
from tflm_cy.micro.signal_requests import CUSTOM_KERNELS

_STUBS = Path(__file__).parent / "stubs"
_HEADER = _STUBS / "tensorflow/lite/micro/micro_mutable_op_resolver.h"
_PROGRAM = """
#include "tensorflow/lite/micro/micro_interpreter.h"

TfLiteStatus SetUp(const tflite::Model* model) {{
{lines}
  return kTfLiteOk;
}}
"""


def compiled(lines, tmp_path):
    """What the compiler says of the lines in a function; '' when nothing."""
    source = tmp_path / "firmware.cc"
    source.write_text(_PROGRAM.format(lines=lines))
    command = ["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused", "-I", str(_STUBS), str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def variables(*names):
    model = Model()
    main = model.subgraph("main")
    for container, name in names:
        [handle] = main.op("VAR_HANDLE", [], [Tensor([1], "resource")], container=container, shared_name=name)
        main.op("ASSIGN_VARIABLE", [handle, Tensor([2], "float32")], [])
    return model


def custom(*names):
    model = Model()
    main = model.subgraph("main")
    for name in names:
        main.op(name, [Tensor([2], "float32")], [Tensor([2], "float32")], custom_options=b"\0")
    return model


_MODELS = {
    "chain": chain,
    "branches": branches,
    "variables": lambda: variables(("", "a"), ("", "b"), ("", "a"), ("other", "a")),
    "custom": lambda: custom("edgetpu-custom-op", 'a "quoted" \\ name\n', "Größe", "ethos-u", "TFLM_DECODE"),
    "what TFLM lacks": lambda: Model.single("RFFT2D", [Tensor([1, 8, 8], "float32")], [Tensor([1, 8, 5], "complex64")]),
}


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
@pytest.mark.parametrize("name", _MODELS)
def test_the_lines_compile(name, tmp_path):
    lines = firmware(view(loaded(_MODELS[name]())), 1999)
    assert compiled(lines, tmp_path) == ""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_a_line_that_is_wrong_does_not_compile(tmp_path):
    assert "AddRfft2d" in compiled("static tflite::MicroMutableOpResolver<1> resolver; resolver.AddRfft2d();", tmp_path)


def test_every_operator_of_tflm_has_a_method_of_the_resolver():
    methods = {line.split("(")[0].split()[-1] for line in _HEADER.read_text().split("\n") if "TfLiteStatus Add" in line}
    assert {method(op) for op in (*KERNELS, *CUSTOM_KERNELS)} <= methods


def test_variables_are_made_room_for():
    lines = firmware(view(loaded(_MODELS["variables"]())), 1999)
    assert "tflite::MicroResourceVariables::Create(allocator, 3);" in lines
    assert "MicroResourceVariables" not in firmware(view(loaded(chain())), 1999)


def test_custom_operators_by_name_and_no_line_for_what_tflm_lacks():
    lines = firmware(view(loaded(_MODELS["custom"]())), 1999)
    assert 'resolver.AddCustom("edgetpu-custom-op", Register_EDGETPU_CUSTOM_OP())' in lines
    assert "resolver.AddEthosU()" in lines and "resolver.AddDecode()" in lines
    assert 'AddCustom("a \\"quoted\\" \\\\ name\\012", ' in lines and 'AddCustom("Gr\\303\\266\\303\\237e", ' in lines
    assert "resolver.Add" not in firmware(view(loaded(_MODELS["what TFLM lacks"]())), 1999)
    flex = custom("FlexTensorListReserve", "edgetpu-custom-op")
    assert "Flex" not in firmware(view(loaded(flex)), 1999)


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
@pytest.mark.parametrize("name", _MODELS)
def test_the_lines_of_every_target_and_option_compile(name, tmp_path):
    lines = list(dict.fromkeys(all_lines(loaded(_MODELS[name]()))))
    assert any(".tflm_head" in text for text in lines)
    assert complaints(program(lines), tmp_path) == ""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_the_program_of_the_page_compiles(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "firmware.md").read_text()
    program = page.split("```cpp\n")[1].split("```")[0]
    source = tmp_path / "main.cc"
    source.write_text(program)
    command = ["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", str(_STUBS), str(source)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""
