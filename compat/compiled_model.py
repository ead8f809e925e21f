"""LiteRT's CompiledModel beside this package's: the same signatures, details, requirements and buffers?

    python -m compat.compiled_model --models DIR
    python -m compat.compiled_model --models DIR --resize 3     # and once more with the first dimension of every input at 3

Needs ai-edge-litert. Each model is asked in a process of its own, since LiteRT ends it at some. What is asked and must be equal: signatures
in order, details and requirements of every input and output, the shapes of buffers, and what is refused. Values must be as near as those
of two versions of XNNPACK are (outputs that differ in bytes are counted): whose bytes this package has is what `python -m compat` decides.

Exit code: 0 nothing differs, 1 something does, 2 wrong usage or no LiteRT.
"""

import argparse
import importlib
import importlib.util
import multiprocessing
import sys

import numpy as np

from .models import find_models
from .verdict import UsageError

OURS, THEIRS = "tflm_cy.litert", "ai_edge_litert.compiled_model"
NEAR = 1e-3  # of the largest output


def feed(rng, dtype, count):
    """Values that any operator takes: small, and not negative where they may be indices."""
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(count).astype(dtype)
    return rng.integers(0, 2, count).astype(dtype)


def ask(module, path, size, connection):
    """Send ("said", key, value) for everything that a CompiledModel says, then ("outputs", key, arrays)."""
    model_class = importlib.import_module(module).CompiledModel
    try:
        model = model_class.from_file(str(path))
    except RuntimeError:
        connection.send(("said", "from_file", "refused"))
        return
    connection.send(
        ("said", "signatures", [model.get_signature_by_index(i) for i in range(model.get_num_signatures())])
    )
    for s in range(model.get_num_signatures()):
        try:
            for key, value in described(model, s, size):
                connection.send(("said", f"signature {s}: {key}", value))
            connection.send(("outputs", f"signature {s}: outputs", outputs(model, s)))
        except (RuntimeError, ValueError) as error:
            connection.send(("said", f"signature {s}", "refused"))
            connection.send(("reason", f"signature {s}", str(error)))


def described(model, s, size):
    """(what, value) of one signature's tensors, behind a resize where `size` is given."""
    key = model.get_signature_by_index(s)["key"]
    if size:
        for i, details in enumerate(model.get_input_tensor_details(key).values()):
            if details["shape"]:
                model.resize_input_tensor(i, [size, *details["shape"][1:]], s, False)
    for side in ("input", "output"):
        details = getattr(model, f"get_{side}_tensor_details")(key)
        yield f"{side} details", details
        for i in range(len(details)):
            yield f"{side} {i} requirements", getattr(model, f"get_{side}_buffer_requirements")(i, s)
        yield f"{side} buffers", [b.get_tensor_details() for b in getattr(model, f"create_{side}_buffers")(s)]


def outputs(model, s):
    """The outputs of one run on drawn inputs."""
    rng = np.random.default_rng(0)
    inputs, results = model.create_input_buffers(s), model.create_output_buffers(s)
    for buffer in inputs:
        details = buffer.get_tensor_details()
        count = int(np.prod(details["shape"], dtype=np.int64))
        # As bytes: LiteRT writes no int16 and no int64.
        buffer.write(np.frombuffer(feed(rng, details["dtype"], count).tobytes(), np.uint8))
    model.run_by_index(s, inputs, results)
    found = []
    for buffer in results:
        details = buffer.get_tensor_details()
        dtype = np.dtype(details["dtype"])
        raw = buffer.read(int(np.prod(details["shape"], dtype=np.int64)) * dtype.itemsize, np.uint8)
        found.append(np.frombuffer(raw.tobytes(), dtype))
    return found


def answers(module, path, size, timeout):
    """What a process of its own says: {kind: {key: value}}; "died" is a kind where it did."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=ask, args=(module, path, size, there), daemon=True)
    process.start()
    there.close()
    found = {"said": {}, "outputs": {}, "reason": {}}
    try:
        while here.poll(timeout):
            kind, key, value = here.recv()
            found[kind][key] = value
    except EOFError:
        pass
    process.join(timeout)
    if process.exitcode != 0:
        process.kill()
        found["died"] = {"code": process.exitcode}
    return found


def differences(ours, theirs):
    """Lines that say what differs, and how many outputs differ in bytes only."""
    lines, bytes_only = [], 0
    for key, value in theirs["said"].items():
        mine = ours["said"].get(key, "nothing")
        # What only theirs refuses (strings, operators that it does not know) is no difference.
        if value != mine and value != "refused":
            reason = ours["reason"].get(key)
            lines.append(f"{key}: {value} <> {mine}{f' ({reason})' if reason else ''}")
    for key, arrays in theirs["outputs"].items():
        for i, (their, my) in enumerate(zip(arrays, ours["outputs"].get(key, []), strict=False)):
            if their.tobytes() == my.tobytes():
                continue
            bytes_only += 1
            a, b = (np.nan_to_num(x.astype(np.float64)) for x in (their, my))
            if np.abs(a - b).max() > (NEAR * max(np.abs(a).max(), 1e-6) if their.dtype.kind == "f" else 1):
                lines.append(f"{key} {i}: {their[:4]} <> {my[:4]}")
    return lines, bytes_only


def parser():
    p = argparse.ArgumentParser(
        "python -m compat.compiled_model", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--models", action="append", required=True, metavar="DIR", help="a folder or a file; repeatable")
    p.add_argument("--case", default="", help="only models whose name contains this")
    p.add_argument("--resize", type=int, default=0, metavar="N", help="the first dimension of every input")
    p.add_argument("--timeout", type=float, default=60, help="seconds without a word that mean a hang (default 60)")
    return p


def main(argv=None):
    args = parser().parse_args(argv)
    if importlib.util.find_spec("ai_edge_litert") is None:
        print("compat.compiled_model: ai-edge-litert is not installed", file=sys.stderr)
        return 2
    try:
        models = find_models(args.models, args.case)
    except UsageError as error:
        print(f"compat.compiled_model: {error}", file=sys.stderr)
        return 2
    counts = dict.fromkeys(("equal", "differ", "LiteRT died", "refused by LiteRT"), 0)
    bytes_only = 0
    for name, path in models:
        theirs = answers(THEIRS, path, args.resize, args.timeout)
        ours = answers(OURS, path, args.resize, args.timeout)
        lines, more = differences(ours, theirs)
        bytes_only += more
        if "died" in ours:
            lines.append(f"the process ends with {ours['died']['code']}")
        refused = "refused" in theirs["said"].values()
        kind = "differ" if lines else "LiteRT died" if "died" in theirs else "refused by LiteRT" if refused else "equal"
        counts[kind] += 1
        for line in lines:
            print(f"{name}: {line}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()) + f"; {bytes_only} outputs differ in bytes")
    return int(bool(counts["differ"]))


if __name__ == "__main__":
    sys.exit(main())
