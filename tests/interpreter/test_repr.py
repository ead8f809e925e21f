"""What an interpreter says of itself, in every state that it can be in."""

import numpy as np
import pytest

import tflm_cy
from compat.builder import Model, Tensor
from tflm_cy import Interpreter, InterpreterWithCustomOps, OpResolverType


def content(name="x"):
    x, y = Tensor([1, 4], "float32", name=name), Tensor([1, 4], "float32", name="y")
    return Model.single("NEG", [x], [y]).to_bytes()


def test_it_tells_model_mode_and_threads(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(content())
    text = repr(Interpreter(path, num_threads=2, experimental_op_resolver_type=OpResolverType.BUILTIN_REF))
    assert (
        text.startswith("<tflm_cy.Interpreter '/") and "model.tflite' BUILTIN_REF, 2 threads, not allocated: " in text
    )


def test_states(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.tflite").write_bytes(content())
    interpreter = Interpreter("m.tflite")
    said = "<tflm_cy.Interpreter 'm.tflite' AUTO, 1 thread, {}: x float32[{}] -> y float32[{}]>"
    assert repr(interpreter) == said.format("not allocated", "1,4", "1,4")
    interpreter.allocate_tensors()
    assert repr(interpreter) == said.format("allocated", "1,4", "1,4")
    interpreter.resize_tensor_input(0, [3, 4])
    assert repr(interpreter) == said.format("not allocated", "3,4", "1,4")
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.zeros((3, 4), np.float32))
    interpreter.invoke()
    assert repr(interpreter) == said.format("allocated", "3,4", "3,4")


def test_a_model_s_content_and_a_subclass():
    class Mine(Interpreter):
        pass

    assert repr(Mine(model_content=content())).startswith(
        f"<{__name__}.test_a_model_s_content_and_a_subclass.<locals>.Mine of {len(content())} bytes AUTO, "
    )
    assert repr(InterpreterWithCustomOps(model_content=content())).startswith("<tflm_cy.InterpreterWithCustomOps of ")


def test_names_keep_their_head_and_stay_on_the_line():
    name = "head/" + "x" * 500 + "/tail"
    text = repr(Interpreter(model_content=content(name)))
    assert "head/xx" in text and "/tail float32" in text and len(text) < 200
    text = repr(Interpreter(model_content=content("a\x1b[31m\nb")))
    assert "\n" not in text and "\x1b" not in text


def test_many_inputs_are_counted():
    xs = [Tensor([1], "float32", name=f"x{i}") for i in range(9)]
    model = Model.single("ADD_N", xs, [Tensor([1], "float32", name="y")])
    assert "x2 float32[1] and 6 more -> y float32[1]>" in repr(Interpreter(model_content=model.to_bytes()))


@pytest.mark.parametrize("take", ["_interpreter", "_arguments"])
def test_half_made_ones(take):
    assert repr(Interpreter.__new__(Interpreter)) == "<tflm_cy.Interpreter, not constructed>"
    interpreter = Interpreter(model_content=content())
    delattr(interpreter, take)
    assert repr(interpreter) == "<tflm_cy.Interpreter, not constructed>"


def test_one_whose_file_is_gone(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(content())
    interpreter = Interpreter(str(path))
    path.unlink()
    assert "-> y float32[1,4]>" in repr(interpreter)


def test_dir_lists_what_is_imported_late():
    assert set(tflm_cy.__all__) <= set(dir(tflm_cy))
    for module in ("memory", "micro"):
        package = __import__(f"tflm_cy.{module}", fromlist=[module])
        assert set(package.__all__) <= set(dir(package))
        assert all(hasattr(package, name) for name in dir(package))
