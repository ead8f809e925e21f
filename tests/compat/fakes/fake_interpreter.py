"""An interpreter without a runtime: one float32 input, one output that a function of the input decides."""

import numpy as np

MODES = ("BUILTIN_REF",)
DISTRIBUTIONS = ()


class FakeInterpreter:
    """tf.lite.Interpreter's calls; `function` makes the output of an invoke from the input."""

    def __init__(self, function):
        self.function, self.value, self.ready, self.output = function, np.zeros(4, np.float32), False, None

    def get_input_details(self):
        return [{"index": 0, "shape": np.array(self.value.shape), "dtype": np.float32}]

    def get_output_details(self):
        return [{"index": 1}]

    def resize_tensor_input(self, index, shape):
        self.value, self.ready = np.zeros(shape, np.float32), False

    def allocate_tensors(self):
        self.ready = True

    def set_tensor(self, index, value):
        self.value = value

    def invoke(self):
        if not self.ready:
            raise RuntimeError("not ready")
        self.output = self.function(self.value)

    def get_tensor(self, index):
        return self.output


def side(function):
    """`start` of a side whose interpreters compute `function`."""
    return lambda: lambda model, mode: FakeInterpreter(function)
