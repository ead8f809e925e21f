"""A runtime that is refused, dies or hangs in invoke as the model's bytes ask."""

import os
import time

import fake_steady

from benchmarks.sides import Side


class Interpreter(fake_steady.Interpreter):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def allocate_tensors(self):
        if self.model == b"refuse":
            raise ValueError("no such operator")
        super().allocate_tensors()

    def invoke(self):
        if self.model == b"abort":
            os.write(2, b"about to abort\n")
            os.abort()
        if self.model == b"hang":
            time.sleep(60)
        super().invoke()
        self.result = self.result + (self.model == b"differ")


def start():
    return lambda model, mode, threads: Interpreter(model)


SIDE = Side("fake_faulty", "fake_faulty", "import fake_faulty", start)
