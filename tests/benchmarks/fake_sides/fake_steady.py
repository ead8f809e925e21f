"""A runtime in a few lines: it adds 1 to what is fed. Other fakes are this one with a fault."""

import numpy as np

from benchmarks.sides import Side


class Interpreter:
    def __init__(self):
        self.shape, self.ready, self.value = [1, 2], False, None

    def get_input_details(self):
        return [{"index": 4, "shape": np.array(self.shape), "dtype": np.float32}]

    def get_output_details(self):
        return [{"index": 7, "shape": np.array(self.shape), "dtype": np.float32}]

    def resize_tensor_input(self, index, shape):
        assert index == 4
        self.shape, self.ready = list(shape), False

    def allocate_tensors(self):
        self.ready = True

    def set_tensor(self, index, value):
        assert self.ready and index == 4 and list(value.shape) == self.shape
        self.value = value

    def invoke(self):
        self.result = self.value + 1

    def get_tensor(self, index):
        assert index == 7
        return self.result


def start():
    return lambda model, mode, threads: Interpreter()


SIDE = Side("fake_steady", "fake_steady", "import fake_steady", start)
