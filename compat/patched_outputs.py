"""What TensorFlow computes of seeded random inputs: of two files of one model the inputs are the same."""

from hashlib import sha256

import numpy as np


def fed_shapes(graph):
    """{position of a graph's input: its values}: of a TRANSPOSE_CONV that is fed its output's shape, which TFLM takes from
    the file."""
    main = graph.subgraphs[0]
    shapes = {node.inputs[0]: node.output(0).shape for node in main.nodes if node.op == "TRANSPOSE_CONV"}
    return {position: shapes[t] for position, t in enumerate(main.inputs) if t in shapes}


def tensorflow_outputs(content, mode, runs, fed=None):
    """The outputs' digests per run; None when TensorFlow does not take the model. `fed`: as of `fed_shapes`."""
    import tensorflow as tf

    kind = getattr(tf.lite.experimental.OpResolverType, mode)
    try:
        interpreter = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=kind)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError):
        return None
    rng, results = np.random.default_rng(0), []
    for _ in range(runs):
        for position, details in enumerate(interpreter.get_input_details()):
            dtype = np.dtype(details["dtype"])
            known = (fed or {}).get(position)
            values = _values(rng, dtype, details["shape"]) if known is None else np.array(known, dtype)
            interpreter.set_tensor(details["index"], values)
        interpreter.invoke()
        outputs = (interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details())
        results.append([sha256(output.tobytes()).hexdigest() for output in outputs])
    return results


def _values(rng, dtype, shape):
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, endpoint=True, dtype=dtype)
