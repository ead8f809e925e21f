"""What is measured: models from folders, with compat's inputs for them, and tiny ones built here when there are none.

The tiny ones have TFLM's hello_world's layers: one number through two layers of 16 to one number, random weights.
"""

import numpy as np

from compat.builder import Model, Tensor
from compat.case import Case
from compat.models import model_cases

SEED = 0


def find_cases(folders, part=""):
    """A case per model below the folders, smallest file first, so that a long run shows figures early."""
    cases = model_cases(folders, seeds=[SEED], invokes=1, part=part)
    return sorted(cases, key=lambda case: (case.model.stat().st_size, case.id))


def name_of(case):
    """A case's name in the report."""
    return case.variant if case.op == "." else f"{case.op}/{case.variant}"


def hello_worlds():
    """Two models of hello_world's size."""
    return [_hello_world("float32"), _hello_world("int8")]


def _hello_world(dtype):
    rng = np.random.default_rng(SEED)
    quantized = dtype != "float32"
    scales = {"scale": 0.05, "zero_point": 0} if quantized else {}
    model = Model("hello_world's layers, random weights")
    graph = model.subgraph("main")
    x = graph.tensor(Tensor([1, 1], dtype, **scales))
    for units, activation in ((16, "RELU"), (16, "RELU"), (1, "NONE")):
        shape = (units, x.shape[1])
        values = rng.integers(-127, 128, shape).astype(np.int8) if quantized else rng.standard_normal(shape, np.float32)
        weights = Tensor.constant(values, **({"scale": 0.01, "zero_point": 0} if quantized else {}))
        bias = np.zeros(units, np.int32 if quantized else np.float32)
        biases = Tensor.constant(bias, **({"scale": 0.0005, "zero_point": 0} if quantized else {}))
        y = Tensor([1, units], dtype, **scales)
        options = {"fused_activation_function": activation}
        graph.op("FULLY_CONNECTED", [x, weights, biases], [y], version=4 if quantized else 1, **options)
        x = y
    value = rng.integers(-128, 128, (1, 1)).astype(np.int8) if quantized else rng.random((1, 1), np.float32)
    return Case("built", dtype, f"hello_world_{dtype}", SEED, model.to_bytes(), [[value]])
