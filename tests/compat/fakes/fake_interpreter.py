"""An interpreter without a runtime: one float32 input, one output that a function of the input decides."""

import numpy as np

MODES = ("BUILTIN_REF",)
DISTRIBUTIONS = ()


class FakeInterpreter:
    """tf.lite.Interpreter's calls; `function` makes the output of an invoke from the input."""

    def __init__(self, function, threads=1):
        self.threads, self.delegate = threads, []
        self.function, self.value, self.ready, self.output = function, np.zeros(4, np.float32), False, None

    def get_input_details(self):
        return [{"index": 0, "shape": np.array(self.value.shape), "dtype": np.float32}]

    def _get_ops_details(self):
        return [{"op_name": "RELU", "inputs": [0], "outputs": [1]}, *self.delegate]

    def get_output_details(self):
        return [{"index": 1}]

    def resize_tensor_input(self, index, shape):
        self.value, self.ready = np.zeros(shape, np.float32), False

    def allocate_tensors(self):
        self.ready = True
        if self.threads > 1:  # not what threads do anywhere: it shows both in the outcome
            self.delegate = [{"op_name": "DELEGATE", "inputs": np.array([0]), "outputs": np.array([self.threads])}]

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
    return lambda: lambda model, mode, threads=1: FakeInterpreter(function, threads)
