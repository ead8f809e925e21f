"""`python -m tflm_cy diff MODEL --a AUTO --b BUILTIN_REF`: which node first gives other bytes, how far apart, and why."""

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tflm_cy import Interpreter, OpResolverType
from tflm_cy.cli.errors import UserError, refused
from tflm_cy.cli.model import MODES, add_model_argument
from tflm_cy.cli.run import read_inputs
from tflm_cy.report import Distance, difference_page, distance, explain, printable, text_table

_HELP = "compare two modes node by node"
_DESCRIPTION = f"""Compare two modes node by node.

Side a runs the whole model; side b runs every node by itself on the values that a has computed before it, so that a
difference is the node's own and does not come from further up. Both keep every intermediate tensor
(experimental_preserve_all_tensors), so rewrites of several nodes at once do not show here; the last line compares
whole runs without that.

Modes: {", ".join(MODES)}; for side a also tensorflow:MODE, where TensorFlow is installed.
Distances are in units of the last place (ULP) for floats, of one (LSB) for integers."""


@dataclass(frozen=True)
class NodeDifference:
    """One output of one node on both sides."""

    node: int
    op: str
    tensor: int
    name: str
    distance: Distance
    reason: str


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "diff", help=_HELP, description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_model_argument(parser)
    parser.add_argument("--a", default="AUTO", metavar="MODE", help="the side whose values are fed (default AUTO)")
    parser.add_argument("--b", default="BUILTIN_REF", metavar="MODE", help="the other side (default BUILTIN_REF)")
    parser.add_argument("--input", nargs="+", metavar="F.npy", help="the inputs, in the model's order")
    parser.add_argument("--random", type=int, default=0, metavar="SEED", help="random inputs (default: seed 0)")
    parser.add_argument("--all", action="store_true", help="show also the nodes that agree")
    parser.add_argument("--csv", metavar="F.csv", help="write one line per node")
    parser.add_argument("--html", metavar="F.html", help="write a page with a bar per node")
    parser.set_defaults(command=diff)


def diff(args):
    """Print the nodes that differ."""
    if not Path(args.model).exists():
        raise UserError(f"{args.model}: no such file")
    with refused(args.model):
        inputs = read_inputs(
            Interpreter(args.model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF), args.input, args.random
        )
        a = _open(args.a, args.model, True)
        b = _open(args.b, args.model, True)
        _feed(a, inputs)
        a.invoke()
        _feed(b, inputs)
        b.invoke()
        found = list(_compare(a, b, args.a))
        whole = _whole_runs(args, inputs)
    differing = [f for f in found if f.distance.differing]
    shown = found if args.all else differing
    if shown:
        print(text_table(_HEADER, [_row(f) for f in shown], "><><>><<"))
        print()
    nodes = len({f.node for f in found})
    if differing:
        first = differing[0]
        print(
            f"{len({f.node for f in differing})} of {nodes} nodes differ; the first is node {first.node} ({first.op})"
        )
        print(f"  why: {first.reason}")
    else:
        print(f"all {nodes} nodes give equal bytes")
    for quirk in _quirks(args, b):
        print(f"quirk of node {quirk['node']} ({quirk['op_name']}), {quirk['rule']}: {quirk['effect']}")
        print(f"  way out: {quirk['way_out']}")
    for name, d in whole:
        print(f"output {printable(name)}, whole runs: {_amount(d)}")
    with refused(args.csv or args.html or args.model):
        if args.csv:
            _write_csv(args.csv, found)
        if args.html:
            title = f"{Path(args.model).name}: {args.a} and {args.b}"
            rows = [(f.node, f.op, f.name, f.distance, f.reason) for f in found]
            Path(args.html).write_text(difference_page(title, rows), encoding="utf-8")


_HEADER = ("node", "operator", "tensor", "name", "differ", "largest", "distances", "why")


def _row(f):
    d = f.distance
    histogram = ", ".join(f"{k}: {n}" for k, n in d.histogram.items())
    differ = f"{d.differing} of {d.elements}"
    return [f.node, f.op, f.tensor, f.name, differ, f"{d.largest} {d.unit}" if d.differing else "", histogram, f.reason]


def _amount(d):
    return (
        f"{d.differing} of {d.elements} elements differ, at most {d.largest} {d.unit}" if d.differing else "equal bytes"
    )


def _open(text, path, preserve):
    """An allocated interpreter of MODE or tensorflow:MODE."""
    side, _, mode = text.rpartition(":")
    mode = mode.upper()
    if mode not in MODES or side not in ("", "tflm_cy", "tensorflow"):
        raise UserError(f"{text}: no such side; there are {', '.join(MODES)} and tensorflow:MODE")
    if side == "tensorflow":
        try:
            import tensorflow as tf
        except ImportError:
            raise UserError(f"{text}: TensorFlow is not installed") from None
        kind, resolver = tf.lite.Interpreter, getattr(tf.lite.experimental.OpResolverType, mode)
    else:
        kind, resolver = Interpreter, OpResolverType[mode]
    return kind(
        str(path), experimental_op_resolver_type=resolver, experimental_preserve_all_tensors=preserve, num_threads=1
    )


def _feed(interpreter, values):
    inputs = interpreter.get_input_details()
    for details, value in zip(inputs, values, strict=True):
        if tuple(details["shape"]) != value.shape:
            interpreter.resize_tensor_input(details["index"], value.shape)
    interpreter.allocate_tensors()
    for details, value in zip(inputs, values, strict=True):
        interpreter.set_tensor(details["index"], value)


def _compare(a, b, name_a):
    """A NodeDifference per output of every node of the main subgraph, in the order in which b runs them."""
    if not isinstance(b, Interpreter):
        raise UserError("side b runs node by node and must be one of tflm_cy's modes; give tensorflow:MODE as --a")
    operators = {d["index"]: d for d in b._get_ops_details() if d["op_name"] != "DELEGATE"}
    names = {d["index"]: d["name"] for d in b.get_tensor_details()}
    taken = {n for nodes, _, _ in b.delegate_nodes().values() for n in nodes}
    taken_a = {n for nodes, _, _ in a.delegate_nodes().values() for n in nodes} if isinstance(a, Interpreter) else taken
    order = [n for step in b.execution_plan() for n in b.delegate_nodes().get(step, ([step],))[0]]
    for n in order:
        details = operators[n]
        for t in details["inputs"]:
            if t >= 0:
                _copy_value(a, b, int(t))
        try:
            b._run_node(n)
        except RuntimeError as error:
            if "not prepared" in str(error):
                raise UserError(
                    "this model has outputs whose shape is known only while running; it cannot be run node by node"
                ) from None
            raise
        for t in details["outputs"]:
            value_a, value_b = _value(a, int(t)), _value(b, int(t))
            if value_a is None or value_b is None or value_a.shape != value_b.shape:
                continue
            kind = _kind(details, value_b)
            reason = _reason(details["op_name"], kind, _arithmetic(a, n, taken_a, name_a), _arithmetic(b, n, taken, ""))
            yield NodeDifference(n, details["op_name"], int(t), names[int(t)], distance(value_a, value_b), reason)


def _reason(op, kind, arithmetic_a, arithmetic_b):
    one, other = explain(op, kind, arithmetic_a), explain(op, kind, arithmetic_b)
    return one if one == other else f"{arithmetic_a}: {one}; {arithmetic_b}: {other}"


def _arithmetic(interpreter, node, taken, name):
    """reference, optimized or xnnpack: what a node is computed with."""
    if isinstance(interpreter, Interpreter):
        mode = interpreter._arguments["experimental_op_resolver_type"].name
    else:
        mode = name.rpartition(":")[2].upper()
    if mode == "BUILTIN_REF":
        return "reference"
    return "xnnpack" if mode in ("AUTO", "BUILTIN") and node in taken else "optimized"


def _kind(details, value):
    types = {np.dtype(t) for t in (*details["operand_types"], *details["result_types"]) if t is not np.bytes_}
    eight = {np.dtype(np.int8), np.dtype(np.uint8)} & types
    if np.dtype(np.float32) in types and eight and details["op_name"] not in ("QUANTIZE", "DEQUANTIZE"):
        return "hybrid"
    return "int8" if eight else "int16" if np.dtype(np.int16) in types else "float32"


def _value(interpreter, tensor):
    """A tensor's value as an array; None when it has none, or strings."""
    try:
        value = np.asarray(interpreter.get_tensor(tensor))
    except ValueError:
        return None
    return None if value.dtype.kind in "OSU" else value


def _copy_value(a, b, tensor):
    """Give b the value that a has; constants, variables and what has no memory stay."""
    value = _value(a, tensor)
    if value is None:
        return
    try:
        b.set_tensor(tensor, value)
    except ValueError:
        return


def _whole_runs(args, inputs):
    """(output name, Distance) of the outputs of two ordinary runs."""
    results = []
    for side in (args.a, args.b):
        interpreter = _open(side, args.model, False)
        _feed(interpreter, inputs)
        interpreter.invoke()
        outputs = interpreter.get_output_details()
        results.append([(d["name"], np.asarray(interpreter.get_tensor(d["index"]))) for d in outputs])
    return [
        (name, distance(x, y))
        for (name, x), (_, y) in zip(*results, strict=True)
        if x.shape == y.shape and x.dtype.kind not in "OSU"
    ]


def _quirks(args, b):
    """Quirks of the side of ours that has the default delegate."""
    for side in (args.a, args.b):
        if side.rpartition(":")[2].upper() in ("AUTO", "BUILTIN"):
            interpreter = _open(side.rpartition(":")[2], args.model, False)
            interpreter.allocate_tensors()
            return interpreter.quirks()
    return []


def _write_csv(path, found):
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["node", "operator", "tensor", "name", "elements", "differing", "largest", "unit", "first", "why"]
        )
        for f in found:
            d = f.distance
            first = "" if d.first is None else " ".join(map(str, d.first))
            writer.writerow(
                [f.node, f.op, f.tensor, f.name, d.elements, d.differing, d.largest, d.unit, first, f.reason]
            )
