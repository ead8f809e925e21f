"""A damaged model by name: the same model, seed and name always give the same bytes.

    Source("add1.tflite", content).mutant("flip:1033", seed=0)

| name | what |
| --- | --- |
| none:0 | the model as it is |
| truncate:K/N | the first K / N of the file |
| flip:K | K even: one byte anywhere; K odd: one to four bytes of the structure |
| edit:K | one to four fields changed, the file well formed |
"""

from zlib import crc32

import numpy as np

from ..builder.schema import OPERATORS
from .damage import flipped, structure, truncated
from .edit import edited


def registered_codes():
    """Numbers of the builtin operators that exist here."""
    from tflm_cy.ops.index import MODULES

    return [code for code, name in enumerate(OPERATORS) if name in MODULES]


class Source:
    """A model to be damaged."""

    def __init__(self, name, content):
        self.name, self.content = name, content
        self._spans = self._codes = None

    def mutant(self, mutation, seed):
        """The bytes of a mutation."""
        kind, _, number = mutation.partition(":")
        if kind == "none":
            return self.content
        if kind == "truncate":
            return truncated(self.content, *map(int, number.split("/")))
        rng = np.random.default_rng([seed, crc32(self.name.encode()), crc32(kind.encode()), int(number)])
        if kind == "flip":
            if self._spans is None:
                self._spans = structure(self.content)
            return flipped(self.content, self._spans, rng, in_structure=int(number) % 2 == 1)
        if kind == "edit":
            if self._codes is None:
                self._codes = registered_codes()
            return edited(self.content, rng, self._codes)
        raise ValueError(f"no mutation {mutation!r}: none:0, truncate:K/N, flip:K or edit:K")


def mutations(truncations, flips, edits):
    """All names, the undamaged model first."""
    names = ["none:0"]
    names += [f"truncate:{i}/{truncations}" for i in range(truncations)]
    names += [f"flip:{i}" for i in range(flips)]
    return names + [f"edit:{i}" for i in range(edits)]
