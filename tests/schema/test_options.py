"""Options that TensorFlow refuses when an interpreter is constructed, not when tensors are allocated."""

import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter


def model_of(op, inputs=1, outputs=1, **options):
    return Model.single(
        op, [Tensor([2, 2], "float32") for _ in range(inputs)], [Tensor([2, 2], "float32")] * outputs, **options
    )


@pytest.mark.parametrize(
    ("op", "options", "text"),
    [
        ("CAST", {"in_data_type": 99}, "Unsupported data type 99"),
        ("CAST", {"out_data_type": 21}, "Unsupported data type 21"),
        ("ARG_MAX", {"output_type": 99}, "Unsupported data type 99"),
        ("SHAPE", {"out_type": -1}, "Unsupported data type -1"),
        ("CONV_2D", {"quantized_bias_type": 99}, "Unsupported data type 99"),
        ("FULLY_CONNECTED", {"quantized_bias_type": 99}, "Unsupported data type 99"),
        ("FULLY_CONNECTED", {"weights_format": 2}, "Unhandled fully-connected weights format"),
        ("LSTM", {"kernel_type": 7}, "Unhandled LSTM kernel type: 7"),
        ("LSTM", {"write_options": False}, "No valid LSTM builtin options"),
        ("RESHAPE", {"new_shape": [1] * 9}, "too many dimensions.*'reshape'"),
        ("SQUEEZE", {"squeeze_dims": [0] * 9}, "too many dimensions.*'squeeze'"),
        ("STABLEHLO_PAD", {"write_options": False}, "stablehlo.pad"),
        ("STABLEHLO_PAD", {"edge_padding_low": [0] * 9}, "too many dimensions.*'stablehlo.pad'"),
        ("STABLEHLO_PAD", {"edge_padding_low": [0]}, "not provided.*'stablehlo.pad'"),
        ("STABLEHLO_REDUCE_WINDOW", {"write_options": False}, "stablehlo.reduce_window"),
        ("STABLEHLO_REDUCE_WINDOW", {}, "'window_dimensions' attribute is not optional"),
        ("STABLEHLO_REDUCE_WINDOW", {"window_dimensions": [1], "padding": [0]}, "expected size \\(1 != 2\\)"),
        ("STABLEHLO_COMPOSITE", {"write_options": False}, "stablehlo.composite"),
        ("REDUCE_WINDOW", {"reduce_function": 7}, "Unsupported reduce function"),
        ("BUCKETIZE", {}, "boundaries array not provided"),
    ],
)
def test_refused_when_constructed(op, options, text):
    with pytest.raises(ValueError, match=text):
        Interpreter(model_content=model_of(op, **options).to_bytes())


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("CAST", {"in_data_type": 20}),
        ("FULLY_CONNECTED", {"weights_format": 1}),
        ("LSTM", {"kernel_type": 1}),
        ("RESHAPE", {"new_shape": [1] * 8}),
        ("RESHAPE", {"write_options": False}),
        ("REDUCE_WINDOW", {"reduce_function": 6}),
        ("BUCKETIZE", {"write_options": False}),
        ("CONV_2D", {"padding": 99}),
    ],
)
def test_what_shows_later_if_at_all(op, options):
    Interpreter(model_content=model_of(op, **options).to_bytes())
