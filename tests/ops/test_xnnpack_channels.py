"""Convolutions of the delegate whose images have other channels than those that they were made for."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, run

from .delegated import Constant, f32, only_where_supported
from .delegated import run as run_operator

pytestmark = only_where_supported

PLAIN = {"stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}


@pytest.mark.parametrize(("multiplier", "want"), [(1, [10, 200, 30, 400]), (2, [10, 100, 20, 200])])
def test_a_depth_multiplier_tells_how_many_channels_are_read(multiplier, want):
    x = f32([1, 2, 3, 4]).reshape(1, 1, 2, 2)
    filters, bias = Constant(f32([10, 100]).reshape(1, 1, 1, 2)), Constant(np.zeros(2, np.float32))
    options = {"padding": "VALID", "depth_multiplier": multiplier, **PLAIN}
    [y] = run_operator("DEPTHWISE_CONV_2D", [x, filters, bias], [(1, 1, 2, 2)], **options)
    assert y.ravel().tolist() == want


def convolution():
    """Of two channels, one output channel: a + 10 b."""
    x, y = Tensor([1, 1, 2, 2], "float32"), Tensor([1, 1, 2, 1], "float32")
    filters, bias = f32([1, 10]).reshape(1, 1, 1, 2), np.zeros(1, np.float32)
    operands = [x, Tensor.constant(filters), Tensor.constant(bias)]
    interpreter = allocated(Model.single("CONV_2D", operands, [y], padding="VALID", **PLAIN))
    [y] = run(interpreter, f32([1, 2, 3, 4]).reshape(1, 1, 2, 2))
    assert y.ravel().tolist() == [21, 43]
    return interpreter


def with_channels(interpreter, channels):
    shape = [1, 1, 2, channels]
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], shape)
    interpreter.allocate_tensors()
    return run(interpreter, np.arange(1, 1 + 2 * channels, dtype=np.float32).reshape(shape))[0].ravel().tolist()


def test_of_more_channels_as_many_are_read_as_the_convolution_was_made_for():
    assert with_channels(convolution(), 4) == [21, 43]


def test_fewer_channels_are_refused():
    with pytest.raises(RuntimeError, match="1 input channels, filters of 2"):
        with_channels(convolution(), 1)
