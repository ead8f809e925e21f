"""Models compressed by `tflite_micro.compression`: bytes of MicroInterpreter and figures of the arena against the package's runtime.

python -m compat.compressed                                  # 40 models: each method, each operator
python -m compat.compressed --models 400 --seed 7            # more, others
python -m compat.compressed --op CONV_2D --method pruning    # select; both repeatable
python -m compat.compressed --file MODEL.tflite              # all weights of given models, by each method
python -m compat.compressed --keep DIR                       # writes the models that differ

Models are the generated single operators of `compat.cases` that run alike as they are, with weights, biases and other constants
compressed. Look-up tables are the package's `compress`; it has no encoder of Huffman codes and pruned values, which its runtime decodes:
these are encoded here (`builder.encoded`) and put into the model by the package's `insert_decode_operators`.

Compared are all outputs over several invokes, every line of print_allocations(), that the smallest arena suffices, and who
refuses. Exit code: 0 no difference, 1 differences, 2 the package or its compressor is not there.
"""

import argparse
import contextlib
import importlib
import io
import sys
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from tflm_cy.micro import MicroInterpreter
from tflm_cy.micro.figures import figures
from tflm_cy.schema.model import Model

from .arena.runtime import fed
from .builder import encoded
from .cases import kinds

METHODS = ("tables", "huffman", "pruning")
FIRST = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
BEHIND_THE_FILE = "leads behind the tables"
_TRIES = 30  # cases drawn for a model of a method and operator


class CannotError(Exception):
    """Why a model cannot be compressed in this way."""


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


class Compressor:
    """The package's modules, and what they lack."""

    def __init__(self):
        for name in ("compress", "compressor", "constant_inputs", "decode_insert", "model_editor", "spec"):
            setattr(self, name, importlib.import_module(f"tflite_micro.tensorflow.lite.micro.compression.{name}"))

    def compressed(self, content, method, rng):
        """(a copy with constants compressed, what was done); CannotError."""
        model = self.model_editor.read(content)
        places = [(g, t) for g, subgraph in enumerate(model.subgraphs) for t in self.constants(subgraph)]
        if not places:
            raise CannotError("no constant that a kernel reads while it runs")
        some = [place for place in places if rng.random() < 0.7] or [places[int(rng.integers(len(places)))]]
        results, specs, done = {}, [], []
        for g, t in some:
            tensor = model.subgraphs[g].tensors[t]
            try:
                what, result = getattr(self, method)(tensor, rng)
            except CannotError as error:
                done.append(f"not {t}: {error}")
                continue
            if isinstance(result, self.compressor.CompressionResult):
                results[g, t] = result
            else:
                specs.append(self.spec.Tensor(g, t, [result]))
            done.append(f"{t} {what}")
        if not results and not specs:
            raise CannotError("; ".join(done))
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):  # of what grows, or could be narrower
            warnings.simplefilter("ignore")
            try:
                if specs:
                    return bytes(self.compress.compress(model.build(), specs)), "; ".join(done)
                self.decode_insert.insert_decode_operators(model, results)
                return bytes(self.compress._apply_flatbuffer_alignment(model.build())), "; ".join(done)
            except self.compressor.CompressionError as error:
                raise CannotError(str(error)) from None

    def constants(self, subgraph):
        """Of whole bytes, which an operator reads and no kernel reads in prepare."""
        for t, tensor in enumerate(subgraph.tensors):
            if tensor.buffer is None or not tensor.buffer.data or not subgraph.consumers_of(tensor):
                continue
            if not self.constant_inputs.find_uses(subgraph, tensor):
                with contextlib.suppress(KeyError, ValueError):  # strings and types that share bytes
                    if tensor.array is not None and tensor.array.dtype.name in _TYPES and tensor.array.size:
                        yield t

    def tables(self, tensor, rng):
        """The values of weights are cut down to a few, which are their own."""
        values, width = tensor.array, int(rng.integers(1, 8))
        axis = self.axis(tensor, rng)
        rows = [values] if axis is None else list(np.moveaxis(values, axis, 0))
        if values.dtype.name in _WEIGHTS:
            few = []
            for row in rows:
                held = rng.permutation(np.unique(row))[: 1 << width]
                few.append(held[rng.integers(0, len(held), row.shape)])
            few = few[0] if axis is None else np.moveaxis(np.stack(few), 0, axis)
            tensor.array = np.ascontiguousarray(few.reshape(values.shape)).astype(values.dtype)
        else:
            width = max(width, (max(len(np.unique(row)) for row in rows) - 1).bit_length())
            if width > 7:
                raise CannotError("more than 128 different values")
        mode = self.spec.PerTensor() if axis is None else self.spec.PerChannel(axis=axis)
        where = "in one table" if axis is None else f"in a table per slice of axis {axis}"
        return f"{where}, {width} bits", self.spec.LookUpTableCompression(index_bitwidth=width, mode=mode)

    def axis(self, tensor, rng):
        """Of the tables: that of the scales, mostly; None: one table."""
        scales = _scales(tensor)
        rank = len(tensor.shape)
        if rng.random() < 0.15 or rank == 0:
            return None
        if len(scales) > 1:
            return tensor.quantization.axis or 0
        return int(rng.choice([0, rank - 1])) if rng.random() < 0.1 else None

    def huffman(self, tensor, rng):
        values = tensor.array
        if values.dtype.name not in ("int8", "int16"):
            raise CannotError(f"{values.dtype.name} has no Huffman codes")
        wide = bool(values.dtype == np.int16 or rng.random() < 0.5)
        first, following, word = int(rng.integers(1, 9)), int(rng.integers(1, 6)), int(rng.choice([1, 4]))
        try:
            codes, ancillary = encoded.huffman(values, first, wide, following, word)
        except ValueError as error:
            raise CannotError(str(error)) from None
        how = f"in codes, {first} and {following} bits, entries of {32 if wide else 16}"
        return how, self.compressor.CompressionResult(codes, ancillary)

    def pruning(self, tensor, rng):
        """Some values of weights become the zero point."""
        values, scales = tensor.array, _scales(tensor)
        zero = np.zeros((), values.dtype)
        if values.dtype == np.int8 and scales:
            zero = np.array(tensor.quantization.zero_points, np.int64).astype(np.int8)
            axis = tensor.quantization.axis or 0
            zero = zero[0] if len(scales) == 1 else zero.reshape([-1 if i == axis else 1 for i in range(values.ndim)])
        kept = float(rng.choice([0.0, 0.1, 0.5, 1.0], p=[0.05, 0.3, 0.6, 0.05]))
        if values.dtype.name in _WEIGHTS:
            tensor.array = np.where(rng.random(values.shape) < kept, values, zero).astype(values.dtype)
        mask, ancillary = encoded.pruned(tensor.array, zero)
        return f"pruned to {np.mean(tensor.array != zero):.0%}", self.compressor.CompressionResult(mask, ancillary)


_TYPES = ("bool", "float32", "int8", "int16", "int32", "int64")
_WEIGHTS = ("float32", "int8", "int16")  # the others may be shapes and axes: they stay what they are


def _scales(tensor):
    quantization = tensor.quantization
    if quantization is None or quantization.scales is None:
        return []
    return list(np.atleast_1d(quantization.scales))


def drawn(compressor, method, op, seed, skipped):
    """The model of a method, an operator and a seed; None when no case of the operator can be compressed so."""
    rng = np.random.default_rng([seed, crc32(f"{method}/{op}".encode())])
    known = [kind for kind in kinds(ops=[op]) if not kind.variant.startswith("mixture")]
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
    except RuntimeError as error:
        return said, None, str(error)
    return said, results, None


def runs_alike(models):
    """Per model whether it gives the same as it is, before it is compressed."""
    sizes = [20 * len(model.plain) + 65536 for model in models]
    theirs = fed([(model.plain, size, model.feeds) for model, size in zip(models, sizes, strict=True)])
    found = []
    for model, size, their in zip(models, sizes, theirs, strict=True):
        said, results, _ = ours(model.plain, model.feeds, size)
        found.append(their is not None and said is not None and results is not None and their == [said.text(), results])
    return found


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
        invoke, output = next((k, i) for k, row in enumerate(outputs) for i, value in enumerate(row) if value != results[k][i])
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


OTHERS = (
    *("ADD", "ASSIGN_VARIABLE", "BATCH_MATMUL", "BROADCAST_ARGS", "CALL_ONCE", "CONCATENATION", "DIV", "DYNAMIC_UPDATE_SLICE"),
    *("EMBEDDING_LOOKUP", "EQUAL", "GATHER", "GATHER_ND", "LESS", "MAXIMUM", "MINIMUM", "MUL", "PACK", "PADV2", "PRELU"),
    *("READ_VARIABLE", "RESHAPE", "SELECT_V2", "SQUARED_DIFFERENCE", "SUB", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM", "WHILE"),
)


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
        lines.append(f"{op:{width}}  {method:8}" + "".join(f"{counts[word] or '':>13}" for word in words) + f"  {types}")
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
    skipped, models, verdicts, ran = defaultdict(set), [], [], 0
    if args.file:
        models = list(of_files(compressor, args.file, args.seed, skipped))
        verdicts = judged(models)
        ran = verdicts.count("equal")
    else:
        wanted = plan(args.method or METHODS, args.op or (*FIRST, *OTHERS), args.seed)
        for _ in range(10):
            batch = [drawn(compressor, *next(wanted), skipped) for _ in range(2 * args.models)]
            batch = [model for model in batch if model is not None]
            batch = [model for model, alike in zip(batch, runs_alike(batch), strict=True) if alike][: args.models - ran]
            found = judged(batch)
            models, verdicts = models + batch, verdicts + found
            ran += sum(verdict not in ("both refuse", "both fail") and not verdict.startswith("skipped") for verdict in found)
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
        print(f"not compressed: {reason} ({', '.join(sorted(cases)) if args.verbose else f'{len(cases)} methods and operators'})")
    different = sum(verdict.startswith("DIFFERS") for verdict in verdicts)
    enough = args.file or ran >= args.models
    print(f"\n{len(models)} models: {verdicts.count('equal')} equal, {different} differ{'' if enough else '; too few could be made'}")
    return 1 if different or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
