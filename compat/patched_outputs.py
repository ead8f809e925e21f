"""What TensorFlow computes of seeded random inputs: of two files of one model the inputs are the same."""

import numpy as np


def tensorflow_outputs(content, mode, runs):
    """The outputs' bytes per run; None when TensorFlow does not take the model."""
    import tensorflow as tf

    kind = getattr(tf.lite.experimental.OpResolverType, mode)
    try:
        interpreter = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=kind)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError):
        return None
    rng, results = np.random.default_rng(0), []
    for _ in range(runs):
        for details in interpreter.get_input_details():
            interpreter.set_tensor(details["index"], _values(rng, np.dtype(details["dtype"]), details["shape"]))
        interpreter.invoke()
        results.append([interpreter.get_tensor(d["index"]).tobytes() for d in interpreter.get_output_details()])
    return results


def _values(rng, dtype, shape):
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, endpoint=True, dtype=dtype)
