"""What becomes of a model in the tflite_micro package: is it allocated, does it run, and which node is blamed.

    verdicts([(content, feed)])        # per model a Verdict; None where the package dies of it

The package logs from C on file descriptor 2: `Node EXPAND_DIMS (number 13) failed to prepare with status 1`. A model that
is allocated is invoked once, with the arrays given.
"""

import os
import re
import tempfile
from typing import NamedTuple

from .runtime import in_children

ARENA = 40_000_000
_BLAMED = re.compile(r"Node (\S*) \(number (\d+)\) failed to (\w+)")
_DYNAMIC = re.compile(r"Op#(\d+) \((\S*)\) of subgraph \d+ has dynamic tensor")
_MISSING = re.compile(r"(?:Failed to get registration from op code|Didn't find op for builtin opcode) '?([^\s']*)")


class Verdict(NamedTuple):
    """`stage` is where it ends: "resolve", "prepare", "plan" or "invoke"; None when it runs."""

    stage: str | None = None
    op: str | None = None
    number: int | None = None  # of the node in its subgraph
    log: str = ""

    @property
    def allocates(self):
        return self.stage in (None, "invoke")


def verdicts(models):
    """Per (content, arrays of the inputs) the package's Verdict, or None when it dies."""
    found = in_children("verdicts", models, {})
    return [None if result is None else Verdict(*result) for result in found]


def verdict(content, feed):
    """Of one model, in this process."""
    with tempfile.TemporaryFile() as log:
        saved = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            stage = _use(content, feed)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        log.seek(0)
        text = log.read().decode(errors="replace").replace("\r", "").strip()
    missing, blamed = _MISSING.search(text), _BLAMED.search(text)
    if dynamic := _DYNAMIC.search(text):
        return Verdict("prepare", dynamic[2], int(dynamic[1]), text[-600:])
    if stage is None:
        return Verdict()
    if stage == "allocate":
        stage = "resolve" if missing else "prepare" if blamed else "plan"
    if blamed:
        return Verdict(stage, blamed[1], int(blamed[2]), text[-600:])
    return Verdict(stage, missing[1] if missing else None, None, text[-600:])


def _use(content, feed):
    from tflite_micro import runtime as package

    try:
        interpreter = package.Interpreter.from_bytes(content, arena_size=ARENA)
    except RuntimeError:
        return "allocate"
    for i, array in enumerate(feed):
        try:
            interpreter.set_input(array, i)
        except (ValueError, RuntimeError, IndexError, TypeError):
            break  # a type that the package cannot be fed: zeros
    try:
        interpreter.invoke()
    except RuntimeError:
        return "invoke"
    return None
