"""The output is the input."""

from fake_interpreter import DISTRIBUTIONS, MODES, side

__all__ = ["DISTRIBUTIONS", "MODES", "start"]

start = side(lambda x: x.copy())
