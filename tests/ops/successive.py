"""A model of one operator, invoked several times in a row: what the tests of windows, reductions and sequences stand on.

[y] = outputs("CUMSUM", [x, constant], [Tensor([4], "float32")], [[array]])           # one feed: one invoke
first, second = outputs("SVDF", ..., [[a], [b]])                                      # states are carried over
"""

import numpy as np

from compat.builder import Model, Tensor
from tests.harness import allocated, run, same
from tflm_cy import OpResolverType

__all__ = ["REFUSED", "build", "constant", "outputs", "same"]

REFUSED = (ValueError, RuntimeError)  # when prepared, when invoked


def constant(values, dtype, **quantization):
    return Tensor.constant(np.asarray(values, dtype), **quantization)


def build(op, inputs, results, version=1, **options):
    return Model.single(op, inputs, results, version, **options).to_bytes()


def outputs(op, inputs, results, feeds, version=1, intermediates=(), **options):
    """The first output after each invoke; `feeds` holds one list of arrays per invoke."""
    model = Model()
    main = model.subgraph("main")
    main.op(op, inputs, results, version, intermediates=intermediates, **options)
    main.outputs = list(results)
    interpreter = allocated(model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    return [run(interpreter, *arrays)[0] for arrays in feeds]
