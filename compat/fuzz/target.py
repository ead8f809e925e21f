"""The fuzz target: one input is a byte that chooses the mode, then a model, which is loaded, described, run, resized and run again.

    python -m compat.fuzz.target compat/fuzz/corpus/*.tflite       # these inputs once: a finding again, or the seeds
    pip install atheris; python -m compat.fuzz.target --atheris -max_total_time=1800 WORK compat/fuzz/corpus

With atheris, libFuzzer keeps what is new in WORK, and this package's own mutations (a cut, flipped bytes, fields changed
while the file stays well formed) stand beside its own. libFuzzer sees the coverage of a build with clang's
-fsanitize=fuzzer-no-link in CFLAGS; with gcc it is blind, and `python -m compat.fuzz --models compat/fuzz/corpus`, which
forks for every batch and names what it finds, is as good.

`corpus/` holds a small model per operator (written by `python -m compat.fuzz.corpus`), and inputs that once found something.
"""

import contextlib
import os
import resource
import sys
from pathlib import Path
from zlib import crc32

import numpy as np

from ..case import MODES
from .exercise import exercise
from .mutation import Source

CORPUS = Path(__file__).parent / "corpus"
WORK = 1 << 28  # element operations: what asks for more is not run, since it would only take time


class TooMuchWorkError(Exception):
    """The model asks for more than a fuzzer should wait for."""


def watch(kind, value):
    if kind == "work" and value > WORK:
        raise TooMuchWorkError


def test_one_input(data):
    """Run one input; an exception is a finding, and so is the death of the process."""
    if not data:
        return
    mode, preserve = MODES[data[0] % 3], data[0] % 2 == 1
    with contextlib.suppress(TooMuchWorkError):
        exercise(bytes(data[1:]), mode, np.random.default_rng(crc32(data)), watch, preserve)


def mutate(data, largest, seed):
    """One of this package's mutations of an input, for atheris."""
    rng = np.random.default_rng(seed)
    model = bytes(data[1:])
    name = rng.choice([f"truncate:{rng.integers(200)}/200", f"flip:{2 * seed}", f"flip:{2 * seed + 1}", f"edit:{seed}"])
    try:
        changed = Source("input", model).mutant(str(name), seed)
    except Exception:  # too damaged for a change that looks at the structure
        changed = bytearray(model or b"\0")
        changed[rng.integers(len(changed))] = rng.integers(256)
    return (bytes([int(rng.integers(256))]) + changed)[:largest]


def bound_memory(limit):
    """A model may ask for any shape: what does not fit is a MemoryError. The sanitizers want the address space for themselves."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def main(arguments):
    bound_memory(2 << 30)
    if arguments[:1] == ["--atheris"]:
        import atheris

        def custom(data, largest, seed):
            return mutate(data, largest, seed) if seed % 2 else atheris.Mutate(data, largest)

        atheris.Setup([sys.argv[0], *arguments[1:]], test_one_input, custom_mutator=custom)
        atheris.Fuzz()
        return 0
    for path in arguments:
        content = Path(path).read_bytes()
        # A model stands for all three modes; anything else is an input as libFuzzer stores it.
        for data in [bytes([i]) + content for i in range(6)] if path.endswith(".tflite") else [content]:
            test_one_input(data)
    print(f"{len(arguments)} inputs, no finding")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
