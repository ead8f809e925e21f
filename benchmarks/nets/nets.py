"""What a net is, and the list of all: `@net("family")` in front of a function that builds one with Keras.

    @net("vgg")
    def vgg(layers, draw):  # draw: widths for a seed
        x = start = layers.Input([64, 64, 3], batch_size=1)
        ...
        return start, x  # inputs and outputs, each one tensor or a list

A function may draw sizes with `draw(low, high)`, so that another seed makes another net of the same kind. `while_loop` nets have a WHILE,
which TensorFlow's converter cannot quantize; they exist in the kinds with float32 activations only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

KINDS = ("float32", "float16", "dynamic", "int8", "int16x8")
NETS = {}


@dataclass(frozen=True)
class Net:
    family: str
    name: str
    build: Callable
    while_loop: bool = False

    def kinds(self):
        return KINDS[:3] if self.while_loop else KINDS

    def made(self, layers, seed):
        """Inputs and outputs of the net for a seed."""
        rng = np.random.default_rng([seed, crc32(self.name.encode())])
        return self.build(layers, lambda low, high: int(rng.integers(low, high + 1)))


def net(family, while_loop=False):
    def note(build):
        NETS[build.__name__] = Net(family, build.__name__, build, while_loop)
        return build

    return note


def all_nets(families=None):
    """The nets of these families, or all of them."""
    from . import (  # noqa: F401 (they fill the list)
        attention,
        detectors,
        grouped,
        images,
        normalized,
        pictures,
        recurrent,
        sequences,
        sets,
    )

    return [found for found in NETS.values() if not families or found.family in families]
