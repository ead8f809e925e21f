"""Tensors without elements: set, read and viewed before an allocation, too; a resize always asks for one."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter


def make(shape, **fields):
    x, y = Tensor(shape, "float32", **fields), Tensor(shape, "float32")
    return Interpreter(model_content=Model.single("ABS", [x], [y]).to_bytes())


def test_nothing_is_set_and_read_without_memory():
    interpreter = make([2, 0])
    interpreter.set_tensor(0, np.zeros([2, 0], np.float32))
    assert interpreter.get_tensor(0).shape == interpreter.get_tensor(1).shape == (2, 0)
    with pytest.raises(ValueError, match="Dimension mismatch"):
        interpreter.set_tensor(0, np.zeros([1, 0], np.float32))


def test_a_view_of_nothing_counts_while_it_lives():
    interpreter = make([0, 3])
    view = interpreter.tensor(0)()
    assert view.shape == (0, 3)
    with pytest.raises(RuntimeError, match="at least 1 reference"):
        interpreter.allocate_tensors()
    del view
    interpreter.allocate_tensors()
    interpreter.invoke()


def test_the_same_shape_again_asks_for_an_allocation():
    interpreter = make([0, 3])
    interpreter.allocate_tensors()
    interpreter.resize_tensor_input(0, [0, 3])
    with pytest.raises(RuntimeError, match="not ready"):
        interpreter.invoke()
    interpreter.allocate_tensors()
    interpreter.invoke()


def test_a_strict_resize_compares_with_the_signature_and_not_with_the_last_shape():
    interpreter = make([1, 3], shape_signature=[-1, 3])
    interpreter.resize_tensor_input(0, [4, 5])
    with pytest.raises(RuntimeError, match="dimension 1"):
        interpreter.resize_tensor_input(0, [4, 5], strict=True)
    interpreter.resize_tensor_input(0, [7, 3], strict=True)
    interpreter.allocate_tensors()
    assert interpreter.get_input_details()[0]["shape"].tolist() == [7, 3]


def test_variables_are_reset_once_they_have_memory():
    x, y = Tensor([1, 2], "float32"), Tensor([1, 2], "float32")
    w, state = Tensor.constant(np.eye(2, dtype=np.float32)), Tensor([1, 2], "float32", variable=True)
    inputs = [x, w, w, Tensor.constant(np.zeros(2, np.float32)), state]
    model = Model.single("RNN", inputs, [y], fused_activation_function="NONE").to_bytes()
    interpreter = Interpreter(model_content=model)
    with pytest.raises(RuntimeError, match="no memory"):
        interpreter.reset_all_variables()
    interpreter.allocate_tensors()
    interpreter.reset_all_variables()
    make([1]).reset_all_variables()


def test_strings_that_were_set_forget_their_signature():
    x, y = Tensor([2], "string", shape_signature=[-1]), Tensor([1], "int32")
    model = Model()
    graph = model.subgraph("main")
    graph.op("SHAPE", [x], [y], out_type="INT32")
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    assert interpreter.get_input_details()[0]["shape_signature"].tolist() == [-1]
    interpreter.set_tensor(0, np.array([b"", b""], object))
    assert interpreter.get_input_details()[0]["shape_signature"].tolist() == [2]
