"""Count the instructions of an invoke on an emulated ARM machine, this package's and TensorFlow Lite's.

An emulator tells no seconds.

    python -m compat.arm.instructions --root DIR --cpu cortex-a72,cortex-a76 --models MODELS
    python -m compat.arm.instructions --root DIR --no-build --isa scalar --only tflm_cy --models model.tflite
    python -m compat.arm.instructions --root DIR --no-build --calls --models hello_world.tflite   # set_tensor, invoke, get_tensor

The emulator logs each block that it executes in the compiled code of the interpreter and in the C library, one thread, after two invokes.
A block's length is what it logs when it translates it. Not counted are what the marks in the log take, and the Python around an invoke, or
around the three calls of --calls.

The table has the instructions of both sides in thousands and their ratio, and the geometric mean of the ratios.
"""

import argparse
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

from .__main__ import split_cpus
from .build import BuildError, build
from .root import Root, RootError

SIDES = ("tflm_cy", "ai_edge_litert")
# Below these folders, and of these libraries, instructions count.
COUNTED = ("/tflm_cy/", "/ai_edge_litert/", "/libc.so", "/libm.so", "/libc-", "/libm-", "/libstdc++")
_GUEST = """
import os, sys
import numpy as np
side, action, *paths = sys.argv[1:]
if side == "tflm_cy":
    from tflm_cy import Interpreter
else:
    from ai_edge_litert.interpreter import Interpreter
if action == "maps":
    print(open("/proc/self/maps").read())
    sys.exit()
def inputs(interpreter):
    generator = np.random.default_rng(7)
    found = []
    for detail in interpreter.get_input_details():
        shape, dtype = detail["shape"], np.dtype(detail["dtype"])
        if dtype.kind == "f":
            value = generator.standard_normal(shape).astype(dtype)
        elif dtype.kind == "b":
            value = generator.random(shape) > 0.5
        elif dtype.itemsize == 1:
            value = generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)
        else:
            value = generator.integers(0, 8, shape).astype(dtype)
        interpreter.set_tensor(detail["index"], value)
        found.append((detail["index"], value))
    return found
for path in paths:
    try:
        interpreter = Interpreter(model_path=path, num_threads=1)
        interpreter.allocate_tensors()
        fed = inputs(interpreter)
        outputs = [detail["index"] for detail in interpreter.get_output_details()]
        for _ in range(2):
            interpreter.invoke()
            [interpreter.get_tensor(index) for index in outputs]
    except Exception as error:
        os.write(2, f"MARK failed {error!s:.60}\\n".replace("\\n", " ").encode() + b"\\n")
        continue
    os.write(2, b"MARK begin\\n")
    os.write(2, b"MARK end\\n")  # what marks take
    os.write(2, b"MARK begin\\n")
    if action == "calls":
        for index, value in fed:
            interpreter.set_tensor(index, value)
    interpreter.invoke()
    if action == "calls":
        for index in outputs:
            interpreter.get_tensor(index)
    os.write(2, b"MARK end\\n")
"""


def parser():
    p = argparse.ArgumentParser(
        "python -m compat.arm.instructions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--root", required=True, metavar="DIR", help="as of compat.arm")
    p.add_argument("--cpu", default="cortex-a72", help="CPUs as the emulator names them (default %(default)s)")
    p.add_argument("--models", required=True, nargs="+", metavar="PATH", help="models, or folders of them")
    p.add_argument("--only", choices=SIDES, help="one side alone")
    p.add_argument("--isa", help="TFLM_CY_ISA of this package's side")
    p.add_argument("--calls", action="store_true", help="set_tensor, invoke and get_tensor instead of an invoke")
    p.add_argument("--no-build", action="store_true", help="count what was compiled before")
    return p


def models_of(paths):
    """The files of --models, by name."""
    for path in map(Path, paths):
        yield from sorted(path.rglob("*.tflite")) if path.is_dir() else [path]


def command(root, cpu, side, action, paths, log=()):
    """A run of the guest without random addresses, so that two runs have the same."""
    emulator = ["setarch", "-R", str(root.emulator), *log, "-cpu", cpu, "-L", str(root.system), str(root.interpreter)]
    return [*emulator, "-c", _GUEST, side, action, *map(str, paths)]


def environment(root, isa):
    """Variables of the guest."""
    variables = {"PATH": "/usr/bin:/bin", "PYTHONHOME": str(root.system / "usr"), "PYTHONHASHSEED": "0"}
    variables["PYTHONPATH"] = f"{root.product}:{root.site}"
    return variables | ({"TFLM_CY_ISA": isa} if isa else {})


def ranges(root, cpu, side, variables):
    """The addresses of the code that counts, as the emulator takes them."""
    done = subprocess.run(
        command(root, cpu, side, "maps", []),
        env=variables,
        cwd=root.product,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RootError(f"{side} cannot be imported as on {cpu}:\n{done.stderr[-1000:]}")
    found = []
    for line in done.stdout.splitlines():
        fields = line.split()
        if len(fields) == 6 and "x" in fields[1] and any(part in fields[5] for part in COUNTED):
            begin, end = fields[0].split("-")
            found.append(f"0x{begin}..0x{end}")
    return ",".join(found)


class Log:
    """Reads the emulator's log: the lengths of blocks, and of those that are executed between two marks how often each is."""

    def __init__(self):
        self.lengths = {}  # of blocks, by address

    def counts(self, lines):
        """Yield the instructions between a model's second pair of marks, less those of its first one; a text where the model failed."""
        executed = None
        block = None
        marks = None
        for line in lines:
            if line.startswith(b"Trace"):
                if executed is not None:
                    executed[line[line.index(b"/") + 1 : line.index(b"/") + 17]] += 1
            elif line.startswith(b"MARK"):
                word, _, rest = line[5:].decode(errors="replace").strip().partition(" ")
                if word == "failed":
                    yield rest
                elif word == "begin":
                    executed = Counter()
                else:
                    number = sum(times * self.lengths.get(int(pc, 16), 0) for pc, times in executed.items())
                    executed = None
                    if marks is not None:
                        yield number - marks
                    marks = number if marks is None else None
            elif line.startswith(b"IN:"):
                block = None
            elif line.startswith(b"0x"):
                address = int(line[: line.index(b":")], 16)
                if block is None:
                    block = address
                    self.lengths[block] = 0
                self.lengths[block] += 1


def count(root, cpu, side, paths, isa=None, action="invoke"):
    """The instructions of one invoke of each model, or of the calls around it, too (action "calls")."""
    variables = environment(root, isa if side == "tflm_cy" else None)
    log = ["-d", "in_asm,exec,nochain", "-D", "/dev/stderr", "-dfilter", ranges(root, cpu, side, variables)]
    process = subprocess.Popen(
        command(root, cpu, side, action, paths, log),
        env=variables,
        cwd=root.product,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    with process:
        found = list(Log().counts(process.stderr))
    if process.returncode or len(found) != len(paths):
        raise RootError(f"the run of {side} as on {cpu} ended after {len(found)} of {len(paths)} models")
    return found


def table(paths, counted):
    """Print a line per model, and the geometric mean of the ratios."""
    ratios = []
    for path, *numbers in zip(paths, *counted, strict=True):
        texts = [f"{number / 1000:12.1f}" if isinstance(number, int) else f"{number[:12]:>12}" for number in numbers]
        if len(numbers) == 2 and all(isinstance(number, int) and number for number in numbers):
            ratios.append(numbers[0] / numbers[1])
            texts.append(f"{ratios[-1]:7.2f}")
        print(f"{path.stem[:48]:48}", *texts, flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{'geometric mean, worst':48} {mean:7.2f} {max(ratios):7.2f}")


def main(argv=None):
    args = parser().parse_args(argv)
    paths = [path.resolve() for path in models_of(args.models)]
    sides = [args.only] if args.only else SIDES
    action = "calls" if args.calls else "invoke"
    try:
        root = Root(args.root)
        if not args.no_build:
            build(root)
        for cpu in split_cpus(args.cpu):
            print(f"== {cpu}: thousands of instructions of {', '.join(sides)}", flush=True)
            table(paths, [count(root, cpu, side, paths, args.isa, action) for side in sides])
    except (RootError, BuildError) as error:
        print(f"compat.arm.instructions: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
