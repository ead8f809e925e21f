"""Models compressed by `tflite_micro.compression`: bytes of MicroInterpreter and figures of the arena against the package's runtime.

python -m compat.compressed                                  # 40 models: each method, each operator
python -m compat.compressed --models 400 --seed 7            # more, others
python -m compat.compressed --op CONV_2D --method pruning    # select; both repeatable
python -m compat.compressed --file MODEL.tflite              # all weights of given models, by each method
python -m compat.compressed --keep DIR                       # writes the models that differ

Models are the generated single operators of `compat.cases` that run alike as they are, with weights, biases and other constants
compressed (see `compressor`).

Compared are all outputs over several invokes, every line of print_allocations(), that the smallest arena suffices, and who
refuses. Exit code: 0 no difference, 1 differences, 2 the package or its compressor is not there.
"""

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from tflm_cy.micro import MicroInterpreter
from tflm_cy.micro.figures import figures
from tflm_cy.schema.model import Model

from ..cases import kinds
from .compressor import METHODS, CannotError, Compressor
from .runtime import fed

FIRST = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
TAKEN = ("float32", "int4", "int8", "int16x8")  # of those, what TFLM takes
OTHERS = (
    *("ADD", "ASSIGN_VARIABLE", "BATCH_MATMUL", "CALL_ONCE", "CONCATENATION", "DIV", "DYNAMIC_UPDATE_SLICE"),
    *("EMBEDDING_LOOKUP", "EQUAL", "GATHER", "GRAPH", "LESS", "MAXIMUM", "MINIMUM", "MUL", "PACK", "PADV2", "PRELU"),
    *("READ_VARIABLE", "RESHAPE", "SELECT_V2", "SUB", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM", "WHILE"),
)
BEHIND_THE_FILE = "leads behind the tables"
_TRIES = 30  # cases drawn for a model of a method and operator


@dataclass
class Compressed:
    """A model to compare. `how` says what was compressed, for people."""

    name: str
    op: str
    method: str
    dtype: str
    how: str
    content: bytes
    feeds: list
    plain: bytes | None = None  # before it was compressed


def drawn(compressor, method, op, seed, skipped):
    """The model of a method, an operator and a seed; None when no case of the operator can be compressed so."""
    rng = np.random.default_rng([seed, crc32(f"{method}/{op}".encode())])
    known = [kind for kind in kinds(ops=[op]) if op not in FIRST or kind.dtype in TAKEN]
    for _ in range(_TRIES):
        kind = known[int(rng.integers(len(known)))]
        case = kind.case(int(rng.integers(1 << 30)), 3)
        if any(array.dtype == object for feed in case.feeds for array in feed):
            continue
        try:
            content, how = compressor.compressed(case.model, method, rng)
        except CannotError as error:
            skipped[str(error)].add(f"{op} by {method}")
            continue
        name = f"{case.id} {method} (--op {op} --method {method} --seed {seed})"
        return Compressed(name, op, method, case.dtype, how, content, case.feeds, case.model)
    return None


def of_files(compressor, paths, seed, skipped):
    """The models of files, by each method."""
    for path in paths:
        content = Path(path).read_bytes()
        graph = Model.from_buffer(content).subgraphs[0]
        for method in METHODS:
            rng = np.random.default_rng([seed, crc32(method.encode())])
            try:
                packed, how = compressor.compressed(content, method, rng)
            except CannotError as error:
                skipped[str(error)].add(f"{path} by {method}")
                continue
            feeds = [[_random(rng, graph.tensors[t]) for t in graph.inputs] for _ in range(3)]
            yield Compressed(f"{path} {method}", Path(path).name, method, "", how, packed, feeds)


def _random(rng, tensor):
    from tflm_cy.schema.names import TENSOR_TYPE_NAMES

    dtype = np.dtype(TENSOR_TYPE_NAMES[tensor.type].lower())
    if dtype.kind == "f":
        return rng.standard_normal(tensor.shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, tensor.shape, endpoint=True, dtype=dtype)


def ours(content, feeds, arena_size):
    """(what it says after allocating, outputs as hex, None) or (None, None, why it is refused)."""
    try:
        interpreter = MicroInterpreter(content)
        said = figures(Model.from_buffer(content), arena_size=arena_size)
    except (ValueError, RuntimeError) as error:
        return None, None, str(error)
    results = []
    try:
        for feed in feeds:
            for i, array in enumerate(feed):
                interpreter.set_input(i, array)
            interpreter.invoke()
            outputs = [interpreter.output(i) for i in range(len(interpreter.outputs))]
            results.append([np.asarray(value).tobytes().hex() for value in outputs])
    except (RuntimeError, ValueError) as error:
        return said, None, str(error)
    return said, results, None


def alike_before(models):
    """The models that give the same in both as they are, before they are compressed: others show nothing of TFLM_DECODE."""
    sizes = [20 * len(model.plain) + 65536 for model in models]
    mine = [ours(model.plain, model.feeds, size) for model, size in zip(models, sizes, strict=True)]
    sizes += [said.smallest_arena if said else 0 for said, *_ in mine]
    theirs = fed([(model.plain, size, model.feeds) for model, size in zip(2 * models, sizes, strict=True)])
    found = []
    for model, (said, results, _), their, fits in zip(models, mine, theirs, theirs[len(models) :], strict=False):
        if their and fits and said and results is not None and their == [said.text(), results]:
            found.append(model)
    return found


def spread(models):
    """In an order whose beginning has as many methods and operators as it can, FIRST before others."""
    seen, order = Counter(), []
    for model in models:
        seen[model.op, model.method] += 1
        order.append((seen[model.op, model.method], model.op not in FIRST, len(order)))
    return [models[k] for *_, k in sorted(order)]


def judged(models):
    """Per model a verdict: "equal", "both refuse", "skipped: ..." or "DIFFERS: ..."."""
    sizes = [40 * len(model.content) + 65536 + k % 16 for k, model in enumerate(models)]
    theirs = fed([(model.content, size, model.feeds) for model, size in zip(models, sizes, strict=True)])
    mine = [ours(model.content, model.feeds, size) for model, size in zip(models, sizes, strict=True)]
    least = [(m.content, said.smallest_arena, m.feeds[:1]) for m, (said, *_) in zip(models, mine, strict=True) if said]
    fits = iter(fed(least))
    return [_verdict(t, *m, next(fits) if m[0] else None) for t, m in zip(theirs, mine, strict=True)]


def _verdict(theirs, said, results, why, fits):
    if theirs is None:
        return "both refuse" if said is None else "DIFFERS: only tflite_micro refuses it, or it died"
    text, outputs = theirs
    if said is None:
        if BEHIND_THE_FILE in why:
            return "skipped: TFLM reads tables from behind the file's end, whatever is there"
        return f"DIFFERS: only tflm_cy refuses it: {why}"
    if text != said.text():
        return f"DIFFERS: figures\n    tflite_micro:\n{text}\n    tflm_cy:\n{said.text()}"
    if outputs is None or results is None:
        return "both fail" if outputs == results else f"DIFFERS: only one fails when it runs: {why}"
    if outputs != results:
        invoke, output = next(
            (k, i) for k, row in enumerate(outputs) for i, value in enumerate(row) if value != results[k][i]
        )
        return f"DIFFERS: invoke {invoke}, output {output}: {outputs[invoke][output][:80]} <> {results[invoke][output][:80]}"
    return "equal" if fits is not None else f"DIFFERS: its smallest arena of {said.smallest_arena} bytes is too small"


def plan(methods, ops, seed):
    """(method, operator, seed) without end; the operators that are named first come as often as all others."""
    others = [op for op in ops if op not in FIRST]
    first = [op for op in ops if op in FIRST] or others
    while True:
        for k in range(max(len(first), 1)):
            for method in methods:
                yield method, first[k], seed
                if others and first is not others:
                    yield method, others[(seed * 7 + 3 * k + methods.index(method)) % len(others)], seed
        seed += 1


def table(models, verdicts):
    """Lines: operator, method, types, and how many of each verdict."""
    rows = defaultdict(list)
    for model, verdict in zip(models, verdicts, strict=True):
        rows[model.op, model.method].append((model.dtype, verdict.split(":")[0]))
    words = ("equal", "both refuse", "both fail", "skipped", "DIFFERS")
    width = max([len(op) for op, _ in rows] + [8])
    lines = [f"{'operator':{width}}  {'method':8}" + "".join(f"{word:>13}" for word in words) + "  types"]
    for (op, method), found in sorted(rows.items()):
        counts = Counter(word for _, word in found)
        types = ", ".join(sorted({dtype for dtype, _ in found}))
        lines.append(
            f"{op:{width}}  {method:8}" + "".join(f"{counts[word] or '':>13}" for word in words) + f"  {types}"
        )
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(
        "python -m compat.compressed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--models", type=int, default=40, help="how many models have to run in both (default 40)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--op", action="append", help="only this operator; repeatable")
    p.add_argument("--method", action="append", choices=METHODS, help="only this one; repeatable")
    p.add_argument("--file", action="append", help="compress these models instead; repeatable")
    p.add_argument("--keep", metavar="DIR", help="write the models that differ here")
    p.add_argument("--verbose", action="store_true", help="a line for every model")
    args = p.parse_args()
    try:
        compressor = Compressor()
    except ImportError as error:
        print(f"the tflite_micro package with its compressor is not there: {error}")
        return 2
    skipped, models, verdicts, ran, unlike = defaultdict(set), [], [], 0, 0
    if args.file:
        models = list(of_files(compressor, args.file, args.seed, skipped))
        verdicts = judged(models)
        ran = verdicts.count("equal")
    else:
        wanted = plan(args.method or METHODS, args.op or (*FIRST, *OTHERS), args.seed)
        for _ in range(10):
            batch = [drawn(compressor, *next(wanted), skipped) for _ in range(2 * args.models)]
            batch = [model for model in batch if model is not None]
            alike = alike_before(batch)
            unlike += len(batch) - len(alike)
            batch = spread(alike)[: args.models - ran]
            found = judged(batch)
            models, verdicts = models + batch, verdicts + found
            ran += sum(
                verdict not in ("both refuse", "both fail") and not verdict.startswith("skipped") for verdict in found
            )
            if ran >= args.models:
                break
    print(table(models, verdicts))
    for model, verdict in zip(models, verdicts, strict=True):
        if verdict.startswith("DIFFERS"):
            print(f"\n{model.name}: {model.how}\n  {verdict}")
            if args.keep:
                Path(args.keep).mkdir(parents=True, exist_ok=True)
                path = Path(args.keep) / f"{model.op}-{model.method}-{crc32(model.content):08x}.tflite"
                path.write_bytes(model.content)
                print(f"  written to {path}")
        elif args.verbose or verdict.startswith("skipped"):
            print(f"{model.name}: {model.how}: {verdict}")
    for reason, cases in sorted(skipped.items()):
        print(
            f"not compressed: {reason} ({', '.join(sorted(cases)) if args.verbose else f'{len(cases)} methods and operators'})"
        )
    print(f"left out: {unlike} models that are refused or differ as they are, before anything is compressed")
    different = sum(verdict.startswith("DIFFERS") for verdict in verdicts)
    enough = args.file or ran >= args.models
    print(
        f"\n{len(models)} models: {verdicts.count('equal')} equal, {different} differ{'' if enough else '; too few could be made'}"
    )
    return 1 if different or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
