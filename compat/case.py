"""One thing to compare: a model, what is fed to it, and the name by which it is found again.

A case is named `op/dtype/variant#seed`; the same name always gives the same bytes, whichever others run beside it.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

# The modes whose bytes differ: BUILTIN is AUTO by another name.
MODES = ("AUTO", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")


@dataclass
class Case:
    """`feeds[i]` are the arrays set before invoke i, in the order of the graph's inputs.

    A model is its bytes or the path of a file. An array whose shape is not the input's current one resizes the input
    first (and allocates again). `refused` says that TensorFlow is expected to raise (None: in
    some modes, or for types that it does not look at; then the report does not wonder); `text` describes the attributes
    for people. `options` are the interpreter's, by keyword. Without feeds the model is only allocated, after `resizes`
    (tensor -> shape), and what was planned is compared even if that fails. With `before` the model is first allocated at the file's
    shapes and, where that holds arrays, runs on them; what raises is noted, and the feeds follow. With a
    `program` its calls are made instead (see `calls`). `origins` are the ids of the cases that this one was made of, the nearest first:
    what is excused of them is excused of this.
    """

    op: str
    dtype: str
    variant: str
    seed: int
    model: bytes | Path
    feeds: list[list[np.ndarray]]
    text: str = ""
    refused: bool | None = False
    options: dict = field(default_factory=dict)
    resizes: dict = field(default_factory=dict)
    before: list[np.ndarray] | None = None
    origins: tuple[str, ...] = ()
    program: tuple = ()

    @property
    def id(self):
        return f"{self.op}/{self.dtype}/{self.variant}#{self.seed}"

    def digest(self):
        """A hash of all that the outputs may depend on."""
        content = self.model if isinstance(self.model, bytes) else Path(self.model).read_bytes()
        found = hashlib.sha256(hashlib.sha256(content).digest())
        for feed in [*self.feeds, *([] if self.before is None else [self.before, ()])]:
            for array in feed:
                found.update(f"{array.dtype} {array.shape};".encode())
                found.update(array.tobytes() if array.dtype != object else repr(array.tolist()).encode())
            found.update(b"|")
        if self.options or self.resizes:
            found.update(repr((sorted(self.options.items()), sorted(self.resizes.items()))).encode())
        if self.program:
            found.update(f"calls {self.program!r} {_meaning_of_calls()}".encode())
        return found.hexdigest()


@cache
def _meaning_of_calls():
    """A hash of what makes a program's calls and reads what they give: outcomes that were read in another way are others."""
    sources = (Path(__file__).with_name(f"{name}.py") for name in ("calls", "details", "inside"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
