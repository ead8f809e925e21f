"""One operator, or a few, in the default mode: what the tests of the xnnpack arithmetic stand on.

    [y] = run("ADD", [a, Constant(b)], [a.shape])          # arrays are fed, constants lie in the file
    [y] = run_quantized("ADD", [Tensor(...), Tensor.constant(...)], [Tensor(...)], [a])

`run` fails when a node is not delegated.
"""

import numpy as np
import pytest
from tflm_cy.ops.generation import supported

from compat.builder import Model, Tensor
from tests.harness import allocated
from tests.harness import run as run_interpreter

only_where_supported = pytest.mark.skipif(
    not supported(), reason="the xnnpack arithmetic wants x86-64 with AVX2 and FMA, or aarch64"
)


class Constant:
    """An operand that lies in the file."""

    def __init__(self, values, dtype="float32"):
        self.values = np.asarray(values, dtype)


def tensor_of(operand):
    if operand is None:
        return None
    if isinstance(operand, Constant):
        return Tensor.constant(operand.values)
    return Tensor(list(np.shape(operand)), np.asarray(operand).dtype)


def model_of(op, operands, shapes, version=1, **options):
    outputs = [Tensor(list(shape), "float32") for shape in shapes]
    return Model.single(op, [tensor_of(operand) for operand in operands], outputs, version, **options).to_bytes()


def invoke(blob, arrays):
    """The outputs of the second of two invokes; every node must be delegated."""
    interpreter = allocated(blob)
    assert sorted(interpreter.execution_plan()) == sorted(interpreter.delegate_nodes())
    return run_interpreter(interpreter, *arrays, invokes=2)


def run(op, operands, shapes, version=1, **options):
    """The outputs of one operator."""
    arrays = [operand for operand in operands if operand is not None and not isinstance(operand, Constant)]
    return invoke(model_of(op, operands, shapes, version, **options), arrays)


def run_quantized(op, inputs, outputs, feeds, version=1, **options):
    """As `run`, for operands and outputs that are Tensors with scales."""
    return invoke(Model.single(op, inputs, outputs, version, **options).to_bytes(), feeds)


def f32(values):
    return np.asarray(values, np.float32)


def same(got, want):
    """Equal shape and bytes."""
    want = f32(want)
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes(), (got, want)
