"""Every step that can fail is made to fail, in every call; then all that is readable is read, and the call made again.

    python -m compat.fuzz.faults                                  # a case of each operator and type, 60 graphs; three modes
    python -m compat.fuzz.faults --op CONV_2D --seed 7 --mode AUTO
    python -m compat.fuzz.sanitized --into DIR python -m compat.fuzz.faults

Two kinds of failures:

    memory    the n-th request for memory of a call fails: construct, allocate_tensors, a resize with its allocation, set_tensor, invoke,
              get_tensor of what was not kept, reset_all_variables
    node      a custom operator in front of each node raises while it is prepared, or while it runs

After each failure every tensor of every subgraph, all details and explanations are read; then the same call, and those behind it, give
the bytes that they give without a failure. Exit code 1: a process died, an exception of an undocumented type, other bytes.
"""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ..builder import read_model, write_model
from ..builder.schema import ENUMS
from ..case import MODES
from ..cases import generated_cases
from ..verdict import UsageError, judge

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = (ValueError, RuntimeError, MemoryError)
THOROUGH = 24  # the first requests for memory of a call fail one by one, later ones at growing distances
UNFIT = ("mixture", "wrong", "special", "failing", "zero", "out of")


class Memory:
    """The library that was loaded before the C library's."""

    def __init__(self):
        library = ctypes.CDLL(None)
        self.fail, self._count = library.fail_allocation, library.allocations_since
        self._count.restype = ctypes.c_ulong

    def run(self, call, at):
        """(result, number of requests, the exception): `call` with its `at`-th request for memory failing."""
        result = error = None
        self.fail(at)
        try:
            result = call()
        except BaseException as raised:
            error = raised
        count = self._count()
        self.fail(0)
        return result, count, error


def build_library(folder):
    compiler = shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc")
    if compiler is None:
        raise UsageError("no C compiler to build the library with that fails allocations")
    library, source = Path(folder) / "fail.so", Path(__file__).parent / "fail_allocations.c"
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    command = [compiler, "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", library, source]
    subprocess.run(command, check=True, env=environment)
    return library


def environment_with(library):
    """Of a process that has the library, in front of others that are loaded first."""
    before = [str(library), *filter(None, [os.environ.get("LD_PRELOAD")])]
    options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
    return {**os.environ, "LD_PRELOAD": ":".join(before), "ASAN_OPTIONS": options}


# ---------------------------------------------------------------- one interpreter's life


def described(interpreter):
    """Everything that can be read, of every subgraph; bytes of the tensors that can be."""
    found = []
    for graph in range(len(interpreter._interpreter.subgraphs)):
        for details in interpreter.get_tensor_details(graph):
            try:
                found.append(content(interpreter.get_tensor(details["index"], graph)))
            except EXPECTED:
                found.append(None)
    interpreter.get_input_details(), interpreter.get_output_details(), interpreter._get_ops_details()
    interpreter.get_signature_list(), interpreter.explain(), repr(interpreter)
    return found


def content(value):
    """An array's bytes, of strings the strings: their array holds addresses."""
    array = np.asarray(value)
    return repr(array.tolist()) if array.dtype == object else array.tobytes()


def outputs(interpreter):
    return [content(interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()]


class Life:
    """The calls of one case, in their order; each can be made to fail and is then made again."""

    CALLS = ("construct", "allocate", "resize", "set", "invoke", "read", "reset")

    def __init__(self, case, mode, make):
        self.case, self.mode, self.make = case, mode, make
        self.interpreter = None

    def construct(self):
        self.interpreter = self.make(self.case.model, self.mode)

    def allocate(self):
        self._resize(self.case.feeds[0])
        self.interpreter.allocate_tensors()

    def resize(self):
        """To a batch of one more where inputs have dimensions, and back."""
        feed = self.case.feeds[0]
        for shapes in ([(a.shape[0] + 1, *a.shape[1:]) if a.ndim else () for a in feed], [a.shape for a in feed]):
            for details, shape in zip(self.interpreter.get_input_details(), shapes, strict=True):
                self.interpreter.resize_tensor_input(details["index"], shape)
            try:
                self.interpreter.allocate_tensors()
            except MemoryError:
                raise
            except EXPECTED as error:  # that batch may be refused
                if shapes == [a.shape for a in feed] or "memory" in str(error):
                    raise

    def set(self):
        for details, array in zip(self.interpreter.get_input_details(), self.case.feeds[0], strict=True):
            self.interpreter.set_tensor(details["index"], array)

    def invoke(self):
        self.interpreter.invoke()
        return outputs(self.interpreter)

    def read(self):
        return described(self.interpreter)

    def reset(self):
        self.interpreter.reset_all_variables()

    def _resize(self, feed):
        for details, array in zip(self.interpreter.get_input_details(), feed, strict=True):
            if list(details["shape"]) != list(array.shape):
                self.interpreter.resize_tensor_input(details["index"], array.shape)

    def through(self, first=0):
        """All calls from one on; the outputs."""
        result = None
        for name in self.CALLS[first:]:
            value = getattr(self, name)()
            result = value if name == "invoke" else result
        return result


def places(count):
    """Which requests of so many fail."""
    at, step = 1, 1.0
    while at <= count:
        yield at
        step = 1.0 if at < THOROUGH else step * 1.2
        at += int(step)


def fail_memory(case, mode, make, memory, tell):
    """Every call of one case with failing requests for memory; what is wrong, as texts."""
    expected = Life(case, mode, make).through()
    for number, name in enumerate(Life.CALLS):
        count = None
        for at in places(1 << 20):
            if count is not None and at > count:
                break
            tell(f"{case.id} {mode} {name} memory {at}")
            life = Life(case, mode, make)
            for earlier in Life.CALLS[:number]:
                getattr(life, earlier)()
            _, count, error = memory.run(getattr(life, name), at)
            if error is not None and not isinstance(error, EXPECTED):
                yield f"{case.id} {mode} {name} memory {at}: {type(error).__name__}: {error}"
            failed = error is not None
            del error
            if failed and life.interpreter is not None:
                described(life.interpreter)
            found = life.through(_again(number, failed))
            if found is not None and name != "reset" and found != expected:
                yield f"{case.id} {mode} {name} memory {at}: other bytes after the call was made again"


def _again(number, failed):
    """After a failed invoke all is allocated again, for variables and states may have moved on."""
    if not failed:
        return number + 1
    return min(number, Life.CALLS.index("construct") if number > 2 else number)


# ---------------------------------------------------------------- failing nodes


class Fails:
    """A custom operator that copies its input, and raises in the call that it is told."""

    def __init__(self):
        self.told, self.error = None, RuntimeError

    def __call__(self, resolver):
        def prepare(node):
            if self.told == "prepare":
                raise self.error("told so")
            node.set_shape(0, node.inputs[0].shape)

        def invoke(node):
            if self.told == "invoke":
                raise self.error("told so")
            node.outputs[0][...] = node.inputs[0]

        resolver.register_custom_op("Fails", prepare, invoke)


def with_failing_node(content, k):
    """The model with `Fails` in front of node k of the main graph; None where that has no value to copy."""
    model = read_model(content)
    graph = model["subgraphs"][0]
    written = set(graph["inputs"]).union(*(node["outputs"] for node in graph["operators"][:k]))
    node = graph["operators"][k]
    place = next((i for i, t in enumerate(node["inputs"]) if t in written and _copies(graph["tensors"][t])), None)
    if place is None:
        return None
    source = node["inputs"][place]
    graph["tensors"].append({**graph["tensors"][source], "name": "copied", "buffer": 0})
    fields = {"deprecated_builtin_code": 32, "builtin_code": 32, "version": 1, "custom_code": "Fails"}
    model["operator_codes"].append(fields)
    copied = len(graph["tensors"]) - 1
    node["inputs"] = [copied if i == place else t for i, t in enumerate(node["inputs"])]
    failing = {"opcode_index": len(model["operator_codes"]) - 1, "inputs": [source], "outputs": [copied]}
    graph["operators"] = [*graph["operators"][:k], failing, *graph["operators"][k:]]
    return write_model(model)


def keeps_state(content):
    """Whether a part of an invoke changes what the next one computes."""
    tensors = [tensor for graph in read_model(content)["subgraphs"] for tensor in graph["tensors"]]
    return any(tensor["is_variable"] or tensor["type"] == ENUMS["TensorType"]["RESOURCE"] for tensor in tensors)


def _copies(tensor):
    return tensor["type"] in (0, 2, 3, 4, 9) and not tensor["is_variable"]  # floats and integers, as numpy has them


def fail_nodes(case, mode, tell):
    """Each node of a case with a failure in front of it, in prepare and in invoke."""
    from tflm_cy import InterpreterWithCustomOps, OpResolverType

    count = len(read_model(case.model)["subgraphs"][0]["operators"])
    for k in range(count):
        content = with_failing_node(case.model, k)
        if content is None:
            continue
        fails = Fails()

        def make(model, mode, fails=fails):
            return InterpreterWithCustomOps(
                [fails], model_content=model, experimental_op_resolver_type=OpResolverType[mode]
            )

        case.model, kept = content, case.model
        try:
            yield from _fail_node(case, mode, make, fails, k, tell)
        finally:
            case.model = kept


def _fail_node(case, mode, make, fails, k, tell):
    fails.told = None
    expected = Life(case, mode, make).through()
    for told, name in (("prepare", "allocate"), ("prepare", "resize"), ("invoke", "invoke")):
        for error in (RuntimeError, MemoryError, KeyboardInterrupt):
            where = f"{case.id} {mode} {name} node {k} {error.__name__}"
            tell(where)
            life, number = Life(case, mode, make), Life.CALLS.index(name)
            for earlier in Life.CALLS[:number]:
                getattr(life, earlier)()
            fails.told, fails.error = told, error
            try:
                getattr(life, name)()
            except (*EXPECTED, KeyboardInterrupt):
                pass
            described(life.interpreter)
            fails.told = None
            if life.through(min(number, 1)) != expected and not (told == "invoke" and keeps_state(case.model)):
                yield f"{where}: other bytes after the call was made again"


# ---------------------------------------------------------------- many cases


def chosen_cases(args):
    """One case of each operator and type, and graphs."""
    seen = set()
    for case in generated_cases([args.seed], 1, ops=args.op, variant=args.case):
        graph = case.op == "GRAPH"
        key = (case.op, case.dtype, case.variant if graph else "")
        if key in seen or not case.feeds or case.refused or any(word in case.variant for word in UNFIT):
            continue
        seen.add(key)
        yield case


def child(args):
    """Run all cases from number `--from` on; a line per case as it begins, per fault that is found, and the place on its way."""
    from tflm_cy import Interpreter, OpResolverType

    def make(model, mode):
        return Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType[mode])

    memory, place = Memory(), os.open(args.child, os.O_WRONLY)

    def tell(text):
        os.pwrite(place, text.encode().ljust(400), 0)

    for number, (case, mode) in enumerate((case, mode) for case in chosen_cases(args) for mode in args.mode or MODES):
        if number < args.begin:
            continue
        print(f"BEGIN {number} {case.id}", flush=True)
        try:
            Life(case, mode, make).through()
        except EXPECTED:
            continue  # refused in this mode
        for fault in (*fail_memory(case, mode, make, memory, tell), *fail_nodes(case, mode, tell)):
            print(f"FAULT {fault}", flush=True)
    print("END", flush=True)


def parser():
    p = argparse.ArgumentParser("python -m compat.fuzz.faults", description=__doc__.splitlines()[0])
    p.add_argument("--op", action="append", help="only this operator, repeatable (GRAPH: graphs)")
    p.add_argument("--case", help="only variants that contain this text")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--mode", action="append", choices=MODES)
    p.add_argument("--begin", type=int, default=0, help=argparse.SUPPRESS)
    p.add_argument("--child", help=argparse.SUPPRESS)
    return p


@judge("compat.fuzz.faults")
def main(argv=None):
    args = parser().parse_args(argv)
    if args.child:
        return child(args)
    faults, begin, ran = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        environment, place = environment_with(build_library(folder)), Path(folder) / "place"
        while True:
            place.write_bytes(b"")
            command = [sys.executable, "-m", "compat.fuzz.faults", "--child", str(place), "--begin", str(begin)]
            done = subprocess.run(
                [*command, *(argv if argv is not None else sys.argv[1:])],
                cwd=ROOT, env=environment, capture_output=True, text=True,
            )  # fmt: skip
            lines = done.stdout.splitlines()
            begun = [int(line.split()[1]) for line in lines if line.startswith("BEGIN")]
            faults += [line.removeprefix("FAULT ") for line in lines if line.startswith("FAULT")]
            ran += len(begun)
            if lines and lines[-1] == "END":
                break
            if not begun:
                raise UsageError(f"the process that runs the cases ends with {done.returncode}: {done.stderr[-500:]}")
            faults.append(
                f"{place.read_text().strip()}: the process ends with {done.returncode}: {done.stderr[-1500:]}"
            )
            begin = begun[-1] + 1
    for fault in faults:
        print(f"FAULT {fault}")
    print(f"{ran} cases and modes: {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
