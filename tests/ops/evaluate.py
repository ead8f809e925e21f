"""Run one operator through the Interpreter: what the tests of element-wise operators share."""

import numpy as np

from compat.builder import Model, Tensor
from tests.harness import run_model
from tflm_cy import OpResolverType

REFUSED = (ValueError, RuntimeError)  # when prepared, when invoked


def like(array, scale=None, zero_point=None):
    """A tensor of an array's shape and type."""
    quantization = {} if scale is None else {"scale": scale, "zero_point": zero_point or 0}
    return Tensor(list(array.shape), array.dtype, **quantization)


def run(blob, arrays, resolver=OpResolverType.BUILTIN_REF):
    """Outputs of a model for its inputs, in order."""
    return run_model(blob, *arrays, experimental_op_resolver_type=resolver)


def evaluate(op, arrays, output, version=1, resolver=OpResolverType.BUILTIN_REF, inputs=None, **options):
    """The output of one operator on arrays; `output` is a Tensor, or a dtype (then its shape is left to the operator)."""
    inputs = inputs or [like(array) for array in arrays]
    if not isinstance(output, Tensor):
        output = Tensor(list(np.broadcast_shapes(*(array.shape for array in arrays))), output)
    return run(Model.single(op, inputs, [output], version, **options).to_bytes(), arrays, resolver)[0]


def real(values, scale, zero_point=0):
    """What quantized values stand for, in float64."""
    return scale * (values.astype(np.float64) - zero_point)


def same_bytes(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
