"""As `tflm_cy_micro`, with outputs laid over the inputs that die, wherever an operator's kernel permits it."""

import importlib

from .tflite_micro import Runtime

MODES = ("MICRO",)
DISTRIBUTIONS = ()


class Overlapping(Runtime):
    """The calls of `Runtime`, on memory planned by `overlap`."""

    def __init__(self, runtime, model):
        super().__init__(runtime, model)
        self._runtime._interpreter = runtime.MicroInterpreter(model, planner="overlap")


def start():
    runtime = importlib.import_module("tflm_cy.micro.runtime")
    return lambda model, mode, threads=1: Overlapping(runtime, model)
