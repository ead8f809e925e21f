"""REVERSE_V2 of rows of every length, which vectors of 16 and 32 bytes and words take apart."""

import numpy as np
import pytest

import tflm_cy
from compat.builder import Model, Tensor


def reverse(x, axes):
    inputs = [Tensor(x.shape, x.dtype.name), Tensor.constant(np.array(axes, np.int32))]
    interpreter = tflm_cy.Interpreter(
        model_content=Model.single("REVERSE_V2", inputs, [Tensor(x.shape, x.dtype.name)], 1).to_bytes()
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64"])
def test_rows_of_every_length(dtype):
    rng = np.random.default_rng(0)
    for n in [*range(1, 70), 127, 128, 129, 300, 5000]:
        x = rng.integers(-128, 128, [3, n]).astype(dtype)
        for axes in ([1], [0], [0, 1]):
            np.testing.assert_array_equal(reverse(x, axes), np.flip(x, axes))
