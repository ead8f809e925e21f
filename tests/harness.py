"""Run models in tests: construct and allocate, feed arrays, invoke, read the outputs.

interpreter = allocated(blob, num_threads=2)     # options are Interpreter's; table.choose and the like go around this call
[y] = run(interpreter, x)                        # inputs in the model's order; one invoke, or `invokes`
[y] = run_model(blob, x, invokes=2)              # both
same(y, want)                                    # type, shape and bytes
with new_objects_only():                         # gc.collect() looks only at what is made inside
    ...
"""

import contextlib
import gc

import numpy as np

from tflm_cy import Interpreter


def allocated(blob, **options):
    """An Interpreter of a model (its bytes, or a compat.builder.Model), ready to be fed."""
    content = blob if isinstance(blob, bytes | bytearray | memoryview) else blob.to_bytes()
    interpreter = Interpreter(model_content=content, **options)
    interpreter.allocate_tensors()
    return interpreter


def feed(interpreter, *arrays):
    """Set all inputs, in the model's order."""
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)


def outputs_of(interpreter):
    """Copies of all outputs, in the model's order."""
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def run(interpreter, *arrays, invokes=1):
    """The outputs for these inputs, after the last of some invokes; an invoke must leave its inputs as they are."""
    feed(interpreter, *arrays)
    for _ in range(invokes):
        interpreter.invoke()
    return outputs_of(interpreter)


def run_model(blob, *arrays, invokes=1, **options):
    """The outputs of a model for these inputs."""
    return run(allocated(blob, **options), *arrays, invokes=invokes)


def same(got, want, dtype=None):
    """Fail unless type, shape and bytes are equal."""
    want = np.asarray(want, dtype)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.tobytes() == want.tobytes(), (got, want)


@contextlib.contextmanager
def new_objects_only():
    """For many collections: each takes half a second once TensorFlow's objects are there."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
