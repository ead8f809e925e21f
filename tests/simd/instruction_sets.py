"""Every instruction set that this CPU has, one after the other, against the scalar definition: what the tests of the kernels stand on.

    check(ISAS, blob, arrays)        # the model's outputs with the kernels of each and with none at all, byte for byte

A model is drawn and computed by the scalar definition once for all of them: both take longer than the kernels. `run` gives the outputs
alone; `with telling("seed 3"): check(...)` says which draw differs. Models are made as in tests/ops; prepare takes the kernels.
"""

from contextlib import contextmanager

import numpy as np

from tests.harness import allocated
from tests.harness import run as run_interpreter
from tflm_cy.simd import table

ISAS = [isa for isa in table.available() if isa != "scalar"]


def run(isa, blob, arrays, **options):
    """The outputs of the second of two invokes with the kernels of an instruction set."""
    before = table.name()
    table.choose(isa)
    try:
        interpreter = allocated(blob, **options)
    finally:
        table.choose(before)
    return run_interpreter(interpreter, *arrays, invokes=2)


def check(isas, blob, arrays, **options):
    """Equal bytes with and without the kernels of an instruction set, or of several."""
    wanted = run("scalar", blob, arrays, **options)
    for isa in [isas] if isinstance(isas, str) else isas:
        for got, want in zip(run(isa, blob, arrays, **options), wanted, strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape), isa
            if got.tobytes() != want.tobytes():
                bits = f"u{got.dtype.itemsize}"
                different = np.flatnonzero(got.reshape(-1).view(bits) != want.reshape(-1).view(bits))
                at = different[0]
                raise AssertionError(
                    f"{isa}: {len(different)} of {got.size} differ, first {at}: {got.reshape(-1)[at]!r}, not {want.reshape(-1)[at]!r}"
                )


@contextmanager
def telling(draw):
    """Put the name of a draw in front of what differs."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{draw}: {error}") from None
