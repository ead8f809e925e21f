"""Where TensorFlow puts tensors: run in a child process, one JSON line per model.

    python -m compat.addresses.observed BUILTIN_REF a.tflite b.tflite

A line holds the number of the model and what the interpreter shows after allocate_tensors(): tensors (the kernels'
temporaries stand behind those of the file), their bytes and addresses (None without memory), and the nodes. A model that
TensorFlow refuses gives its error.
"""

import json
import sys
from contextlib import suppress


def look(path, mode):
    """What there is to see of one model."""
    import numpy as np
    import tensorflow as tf

    resolver = getattr(tf.lite.experimental.OpResolverType, mode)
    interpreter = tf.lite.Interpreter(path, experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    tensors = []
    for details in interpreter.get_tensor_details():
        index, shape = details["index"], [int(size) for size in details["shape"]]
        dtype = np.dtype(details["dtype"])
        nbytes = int(np.prod(shape)) * dtype.itemsize if dtype.kind not in "SO" else 0
        tensors.append(
            {
                "index": index,
                "name": details["name"],
                "shape": shape,
                "bytes": nbytes,
                "type": dtype.name,
                "address": None,
            }
        )
        with suppress(ValueError):  # no memory, or strings
            view = interpreter.tensor(index)()
            if isinstance(view, np.ndarray):  # what has no dimension comes as a copy
                tensors[-1]["address"] = int(view.__array_interface__["data"][0])
    nodes = [
        {"op": o["op_name"], "inputs": [int(t) for t in o["inputs"]], "outputs": [int(t) for t in o["outputs"]]}
        for o in interpreter._get_ops_details()
    ]
    return {"tensors": tensors, "nodes": nodes}


def main():
    mode, *files = sys.argv[1:]
    for number, path in enumerate(files):
        try:
            found = look(path, mode)
        except Exception as error:  # whatever it is: TensorFlow does not run the model
            found = {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"}
        print(json.dumps([number, found]), flush=True)


if __name__ == "__main__":
    main()
