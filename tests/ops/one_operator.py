"""A model of one operator, run: what the tests of the operators stand on.

    [y] = run("RESHAPE", [(x, "float32"), shape], [Tensor([1], "float32")], new_shape=[3, -1])

An array among the inputs becomes a constant; a pair of array and type, or of array and Tensor, is fed while running.
"""

import numpy as np

from compat.builder import Model, Tensor
from tests.harness import allocated, feed, outputs_of, same
from tflm_cy import OpResolverType

__all__ = ["interpret", "run", "same"]


def interpret(op, inputs, outputs, version=1, resolver=OpResolverType.BUILTIN_REF, **options):
    """An allocated Interpreter with its inputs set, not yet invoked."""
    tensors, values = [], []
    for entry in inputs:
        if isinstance(entry, tuple):
            value, kind = np.asarray(entry[0]), entry[1]
            tensors.append(kind if isinstance(kind, Tensor) else Tensor(value.shape, kind))
            values.append(value)
        elif entry is None or isinstance(entry, Tensor):
            tensors.append(entry)
        else:
            tensors.append(Tensor.constant(entry))
    blob = Model.single(op, tensors, outputs, version, **options).to_bytes()
    interpreter = allocated(blob, experimental_op_resolver_type=resolver)
    feed(interpreter, *values)
    return interpreter


def run(op, inputs, outputs, version=1, **options):
    """The outputs of the second of two invokes."""
    interpreter = interpret(op, inputs, outputs, version, **options)
    interpreter.invoke()
    interpreter.invoke()
    return outputs_of(interpreter)
