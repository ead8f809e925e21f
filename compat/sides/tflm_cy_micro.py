"""This package by TFLM's rules, through the runtime that replaces tflite_micro's, in the smallest arena.

Every case runs in an arena of exactly `arena_used_bytes`, and must not fit in one byte less.
"""

import importlib

from .tflite_micro import Runtime

MODES = ("MICRO",)
DISTRIBUTIONS = ()


class Tight(Runtime):
    """The calls of `Runtime`; the arena is as large as it has to be and no larger."""

    def __init__(self, runtime, model):
        super().__init__(runtime, model)
        used = self._runtime._interpreter.arena_used_bytes
        try:
            runtime.MicroInterpreter(model, arena=used - 1)
        except runtime.ArenaExhausted as error:
            if str(used) not in str(error):
                raise AssertionError(f"the arena's error does not say that {used} bytes suffice: {error}") from error
        else:
            raise AssertionError(f"{used - 1} bytes suffice, arena_used_bytes says {used}")
        self._runtime._interpreter = runtime.MicroInterpreter(model, arena=used)


def start():
    runtime = importlib.import_module("tflm_cy.micro.runtime")
    runtime.ArenaExhausted = importlib.import_module("tflm_cy.memory.arena").ArenaExhausted
    return lambda model, mode, threads=1: Tight(runtime, model)
