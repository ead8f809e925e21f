"""Whether interpreters give everything back: many lives of one, each created, allocated, invoked and dropped.

python -m benchmarks.leaks                                  # 10,000 lives of each kind, on the int8 model that ships
python -m benchmarks.leaks --cycles 2000 --model a.tflite

Counted are the bytes that C's allocator has handed out (glibc's mallinfo2) and Python's own blocks, before and after,
when the first lives have filled all caches. A leak of any size per life shows: one byte per life is 10,000 bytes, and
what is permitted is one page and 160 blocks in all. Exit code: 0, 1 for a leak, 2 where the C library cannot count.
"""

import argparse
import ctypes
import gc
import sys
from pathlib import Path

import numpy as np

import tflm_cy
from tflm_cy.micro import MicroInterpreter

_PERMITTED_BYTES, _PERMITTED_BLOCKS = 4096, 160  # Python keeps some freed blocks for itself, now more, now fewer
_FIRST_LIVES = 50

KINDS = {
    "AUTO": tflm_cy.OpResolverType.AUTO,
    "BUILTIN_REF": tflm_cy.OpResolverType.BUILTIN_REF,
    "BUILTIN_WITHOUT_DEFAULT_DELEGATES": tflm_cy.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "micro": None,
    "micro, own arena": None,
}


class _Mallinfo2(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in [
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        ]
    )


def allocated():
    """(bytes from malloc, blocks of Python's own allocator); None where the C library has no mallinfo2."""
    count = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if count is None:
        return None
    count.restype = _Mallinfo2
    gc.collect()
    found = count()
    return found.uordblks + found.hblkhd, sys.getallocatedblocks()


def life(kind, content):
    """One interpreter from its creation to its end."""
    if kind == "micro":
        interpreter = MicroInterpreter(content)
        interpreter.invoke()
        return interpreter.output(0)
    if kind == "micro, own arena":
        interpreter = MicroInterpreter(content, bytearray(1 << 20), planner="optimal", recording=True)
        interpreter.invoke()
        return interpreter.output(0)
    interpreter = tflm_cy.Interpreter(model_content=content, experimental_op_resolver_type=KINDS[kind])
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    interpreter.set_tensor(given["index"], np.zeros(given["shape"], given["dtype"]))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def growth(kind, content, cycles, live=life):
    """(bytes, blocks) that so many lives leave behind."""
    for _ in range(_FIRST_LIVES):
        live(kind, content)
    before = allocated()
    for _ in range(cycles):
        live(kind, content)
    after = allocated()
    return after[0] - before[0], after[1] - before[1]


def leaks(found):
    return found[0] > _PERMITTED_BYTES or found[1] > _PERMITTED_BLOCKS


def main():
    p = argparse.ArgumentParser(
        "python -m benchmarks.leaks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--cycles", type=int, default=10_000, help="lives of each kind (default %(default)s)")
    p.add_argument("--model", default=str(Path(tflm_cy.__file__).parent / "demo" / "digits_int8.tflite"))
    p.add_argument("--kind", action="append", choices=KINDS, help="default: all")
    args = p.parse_args()
    if allocated() is None:
        print("this C library cannot count what it has allocated (no mallinfo2)", file=sys.stderr)
        return 2
    content, wrong = Path(args.model).read_bytes(), False
    for kind in args.kind or KINDS:
        found = growth(kind, content, args.cycles)
        wrong |= leaks(found)
        print(f"{kind}: {args.cycles} lives leave {found[0]} bytes and {found[1]} blocks", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
