"""A model's content where its path is wanted: one line that says `model_content=`, and never the content."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter
from tflm_cy.micro import MicroInterpreter

CONTENT = Model.single("NEG", [Tensor([4], "float32")], [Tensor([4], "float32")]).to_bytes()


@pytest.mark.parametrize(
    "given, error",
    [
        (CONTENT, ValueError),
        (CONTENT + bytes(1 << 20), ValueError),
        (b"\x1f\x8b\0 not even a model", ValueError),
        (b"x" * 5000, ValueError),
        (bytearray(CONTENT), TypeError),
        (memoryview(CONTENT), TypeError),
        (np.frombuffer(CONTENT, np.uint8), ValueError),
        (5, TypeError),
    ],
    ids=["model", "megabyte", "other", "long", "bytearray", "memoryview", "array", "number"],
)
def test_content_given_as_a_path(given, error):
    with pytest.raises(error, match="model_content=") as caught:
        Interpreter(given)
    assert len(str(caught.value)) < 200 and "\n" not in str(caught.value)


def test_a_path_beyond_all_lengths_is_not_repeated():
    with pytest.raises(ValueError, match=r"Could not open 'head/xx.*xx/tail.tflite'") as caught:
        Interpreter("head/" + "x" * (5 << 20) + "/tail.tflite")
    assert len(str(caught.value)) < 2000


def test_bytes_are_a_path_too(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(CONTENT)
    assert Interpreter(bytes(path)).get_input_details()[0]["shape"].tolist() == [4]
    with pytest.raises(FileNotFoundError):
        Interpreter(b"none.tflite")


def test_constants_stay_in_a_planned_arena():
    """Nothing can be prepared again there."""
    x, y = Tensor([1, 4], "int8", scale=0.5), Tensor([1, 4], "int8", scale=0.5)
    factor = Tensor.constant(np.int8([7]), scale=0.5)
    micro = MicroInterpreter(Model.single("MUL", [x, factor], [y]).to_bytes(), preserve_all_tensors=True)
    with pytest.raises(ValueError, match="is constant"):
        micro.core.set_tensor(1, np.int8([8]))
    assert micro.invoke() == 0
    micro.core.run_node(0)
