"""What users write and TensorFlow's converter makes of it: `python -m compat.converted`.

A family is a function in one of the modules below: it draws a program, that is a function over tensors or a Keras network, with the shapes
of its inputs, some of whose dimensions are free. Shapes, options and values are drawn by the seed; the same family and seed always give
the same program.

    @family
    def squeeze_and_excite(d):
        layers = d.keras.layers
        ...
        return Program(network, [Input([None, 9, 7, 4])])

Each program is converted in one of the forms that users ask the converter for (`conversion.FORMS`).
"""

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MODULES = ("layers", "images", "sequences", "attention", "indexing", "control", "numbers", "words")
FAMILIES = {}


@dataclass
class Input:
    """One input: its shape, None where it is free, and the law of its values: a function of the draw and a shape."""

    shape: list
    dtype: str = "float32"
    values: Any = None
    free: tuple = (1, 5)  # sizes of free dimensions, both ends included


@dataclass
class Program:
    """A function of as many tensors as there are inputs, or a Keras network of one input.

    Free dimensions of one name (`ties`: (input, dimension) -> name) are of one size. `keeps` are objects whose variables the function uses.
    """

    function: Any
    inputs: list
    ties: dict = field(default_factory=dict)
    keeps: list = field(default_factory=list)
    frozen: bool = False  # the variables are constants


class ProgramDraw:
    """Seeded material: sizes, choices, arrays, and TensorFlow itself."""

    def __init__(self, tf, seed):
        self.tf, self.keras, self.rng = tf, tf.keras, np.random.default_rng(seed)

    def between(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def choice(self, *items):
        return items[int(self.rng.integers(len(items)))]

    def flag(self, probability=0.5):
        return bool(self.rng.random() < probability)

    def sizes(self, count, low=1, high=7):
        return [self.between(low, high) for _ in range(count)]

    def batch(self):
        """A first dimension: free more often than not."""
        return None if self.flag(0.6) else self.between(1, 3)

    def array(self, *shape, scale=1.0):
        """A float32 array: weights."""
        return self.rng.normal(0, scale, shape).astype(np.float32)

    def constant(self, *shape, scale=1.0):
        return self.tf.constant(self.array(*shape, scale=scale))

    def permutation(self, count):
        return [int(i) for i in self.rng.permutation(count)]


def integers(low, high, dtype="int32"):
    """The law of integers between two ends, both included."""
    return lambda d, shape: d.rng.integers(low, high + 1, shape).astype(dtype)


def family(function):
    """Register a family by its name."""
    FAMILIES[function.__name__] = function
    return function


def families():
    """Name -> function, of all modules."""
    for module in MODULES:
        importlib.import_module(f"{__name__}.{module}")
    return FAMILIES
