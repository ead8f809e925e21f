"""The microcontroller runtime's Python package; one arithmetic and one thread, whatever is asked.

Its interpreter knows inputs and outputs by position and cannot resize; the arena is fixed at construction.
"""

import importlib

import numpy as np

MODES = ("MICRO",)
DISTRIBUTIONS = ("tflite-micro",)
ARENA_BYTES = 64 << 20


class Runtime:
    """tf.lite.Interpreter's calls over tflite_micro's; a tensor's index is its position."""

    def __init__(self, runtime, model):
        load = runtime.Interpreter.from_bytes if isinstance(model, bytes) else runtime.Interpreter.from_file
        self._runtime = load(model, arena_size=ARENA_BYTES)

    def allocate_tensors(self):
        pass

    def resize_tensor_input(self, index, shape):
        raise RuntimeError("tflite_micro cannot resize inputs")

    def _details(self, get):
        found = []
        while True:
            try:
                details = get(len(found))
            except (IndexError, ValueError):
                return found
            found.append({"index": len(found), "shape": np.asarray(details["shape"]), "dtype": details["dtype"]})

    def get_input_details(self):
        return self._details(self._runtime.get_input_details)

    def get_output_details(self):
        return self._details(self._runtime.get_output_details)

    def set_tensor(self, index, value):
        self._runtime.set_input(value, index)

    def invoke(self):
        self._runtime.invoke()

    def get_tensor(self, index):
        return self._runtime.get_output(index)


def start():
    runtime = importlib.import_module("tflite_micro").runtime
    return lambda model, mode, threads=1: Runtime(runtime, model)
