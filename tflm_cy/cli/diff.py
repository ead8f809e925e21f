"""`python -m tflm_cy diff MODEL --a AUTO --b BUILTIN_REF`: which node first gives other bytes, how far apart, and why.

Keys of --json: model, a, b, equal (nothing differs), nodes ([{node, op, tensor, name, elements, differing, largest, unit, first,
histogram, reason}] of all nodes' outputs, in the order in which b runs them), not_compared (how many outputs one side keeps no value of),
outputs (the whole runs: [{name, elements, differing, largest, unit, first, histogram}]) and quirks ([{node, op_name, rule, effect,
way_out}]).
"""

import argparse
import csv
import io
from dataclasses import asdict, dataclass

import numpy as np

from tflm_cy import Interpreter
from tflm_cy.cli.errors import UserError, refused
from tflm_cy.cli.micro_side import MicroSide
from tflm_cy.cli.model import MICRO, MODES, ModelFile, add_model_argument
from tflm_cy.cli.output import add_json_argument, as_json, check_outputs, deliver, exit_codes
from tflm_cy.cli.run import add_input_arguments, read_inputs
from tflm_cy.report import Distance, difference_page, distance, explain, printable, shortened, text_table

_HELP = "compare two modes node by node"
_DESCRIPTION = f"""Compare two modes node by node.

Side a runs the whole model; side b runs every node by itself on the values that a has computed before it, so that a
difference is the node's own and does not come from further up. Both keep every intermediate tensor
(experimental_preserve_all_tensors), so rewrites of several nodes at once do not show here; the last line compares
whole runs without that.

Modes: {", ".join(MODES)} and {MICRO} (TensorFlow Lite Micro's rules); for side a also tensorflow:MODE, where
TensorFlow is installed. Distances are in units of the last place (ULP) for floats, of one (LSB) for integers."""

_LONGEST_NAME = 64


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
        "diff",
        help=_HELP,
        description=_DESCRIPTION,
        epilog=exit_codes("a node or an output differs"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_argument(parser)
    parser.add_argument("--a", default="AUTO", metavar="MODE", help="the side whose values are fed (default AUTO)")
    parser.add_argument("--b", default="BUILTIN_REF", metavar="MODE", help="the other side (default BUILTIN_REF)")
    add_input_arguments(parser)
    parser.add_argument("--all", action="store_true", help="show also the nodes that agree")
    parser.add_argument("--csv", metavar="F.csv", help="write one line per node")
    parser.add_argument("--html", metavar="F.html", help="write a page with a bar per node")
    add_json_argument(parser)
    parser.set_defaults(command=diff)


def diff(args):
    """Print the nodes that differ; 1 when one does."""
    check_outputs([args.csv, args.html, args.json], args.model)
    file = ModelFile(args.model)
    if args.b.startswith("tensorflow:"):
        raise UserError("side b runs node by node and must be one of tflm_cy's modes; give tensorflow:MODE as --a")
    with refused(file.name):
        compared, inputs = compare_nodes(file, args.a, args.b, args.input, args.random)
        found = [f for f in compared if f is not None]
        whole = compare_outputs(file, args.a, args.b, inputs)
        quirks = _quirks(args, file)
    equal = not any(f.distance.differing for f in found) and not any(d.differing for _, d in whole)
    title = f"{file.title}: {args.a} and {args.b}"
    rows = [(f.node, f.op, f.name, f.distance, f.reason) for f in found]
    document = {
        "model": file.title,
        "a": args.a,
        "b": args.b,
        "equal": equal,
        "nodes": [_record(f) for f in found],
        "not_compared": len(compared) - len(found),
        "outputs": [{"name": name, **asdict(d)} for name, d in whole],
        "quirks": quirks,
    }
    files = [
        (args.csv, _csv(found) if args.csv else None),
        (args.html, difference_page(title, rows, list(_remarks(whole, quirks))) if args.html else None),
        (args.json, as_json(document) if args.json else None),
    ]
    deliver("\n".join(_lines(args, found, len(compared) - len(found), whole, quirks)), files)
    return 0 if equal else 1


def compare_nodes(file, name_a, name_b, given=None, seed=0):
    """([NodeDifference, or None where a side has no value], the inputs' values) of two modes, node by node.

    Parameters
    ----------
    file : cli.model.ModelFile
    name_a, name_b : str
        Modes.
    given, seed
        As `read_inputs` takes them.
    """
    a, b = _open(name_a, file, True), _open(name_b, file, True)
    inputs = read_inputs(a, given or [], seed)
    _feed(a, inputs)
    a.invoke()
    _feed(b, inputs)
    b.invoke()
    return list(_compare(a, b, name_a)), inputs


def _lines(args, found, left_out, whole, quirks):
    """What is printed."""
    differing = [f for f in found if f.distance.differing]
    shown = found if args.all else differing
    if shown:
        yield text_table(_HEADER, [_row(f) for f in shown], "><><>><<") + "\n"
    nodes = len({f.node for f in found})
    if differing:
        first = differing[0]
        yield f"{len({f.node for f in differing})} of {nodes} nodes differ; the first is node {first.node} ({first.op})"
        yield f"  why: {first.reason}"
    else:
        yield f"all {nodes} nodes give equal bytes"
    if left_out:
        yield f"{left_out} outputs of nodes are not compared: a side keeps no value of them"
    for quirk in quirks:
        yield f"quirk of node {quirk['node']} ({quirk['op_name']}), {quirk['rule']}: {quirk['effect']}"
        yield f"  way out: {quirk['way_out']}"
    yield from _outputs(whole)


def _outputs(whole):
    for name, d in whole:
        yield f"output {printable(shortened(name, _LONGEST_NAME))}, whole runs: {_amount(d)}"


def _remarks(whole, quirks):
    """What the page says before its tables; quirks of one rule together."""
    yield from _outputs(whole)
    rules = {}
    for quirk in quirks:
        rules.setdefault((quirk["op_name"], quirk["rule"], quirk["effect"], quirk["way_out"]), []).append(quirk["node"])
    for (op, rule, effect, way_out), nodes in rules.items():
        which = f"node {nodes[0]}" if len(nodes) == 1 else f"nodes {', '.join(map(str, nodes))}"
        yield f"Quirk of {which} ({op}), {rule}: {effect}. Way out: {way_out}."


_HEADER = ("node", "operator", "tensor", "name", "differ", "largest", "distances", "why")


def _row(f):
    d = f.distance
    histogram = ", ".join(f"{k}: {n}" for k, n in d.histogram.items())
    largest = f"{d.largest} {d.unit}" if d.differing else ""
    name = shortened(f.name, _LONGEST_NAME)
    return [f.node, f.op, f.tensor, name, f"{d.differing} of {d.elements}", largest, histogram, f.reason]


def _amount(d):
    if not d.differing:
        return "equal bytes"
    if d.unit in (SHAPES, STRINGS):
        return f"{d.differing} of {d.elements} elements differ ({d.unit})"
    return f"{d.differing} of {d.elements} elements differ, at most {d.largest} {d.unit}"


def _open(text, file, preserve):
    """An interpreter of MODE or tensorflow:MODE that is not allocated yet."""
    side, _, mode = text.rpartition(":")
    mode = mode.upper()
    known = (*MODES, MICRO) if side != "tensorflow" else MODES
    if mode not in known or side not in ("", "tflm_cy", "tensorflow"):
        raise UserError(f"{text}: no such side; there are {', '.join(MODES)}, {MICRO} and tensorflow:MODE")
    options = {"experimental_preserve_all_tensors": preserve, "num_threads": 1}
    if side != "tensorflow":
        return file.open(mode, **options)
    try:
        import tensorflow as tf
    except ImportError:
        raise UserError(f"{text}: TensorFlow is not installed") from None
    return file.open(mode, tf.lite.Interpreter, getattr(tf.lite.experimental.OpResolverType, mode), **options)


def _feed(interpreter, values):
    inputs = interpreter.get_input_details()
    for details, value in zip(inputs, values, strict=True):
        if tuple(details["shape"]) != value.shape:
            interpreter.resize_tensor_input(details["index"], value.shape)
    interpreter.allocate_tensors()
    for details, value in zip(inputs, values, strict=True):
        interpreter.set_tensor(details["index"], value)


def _compare(a, b, name_a):
    """A NodeDifference per output of every node of the main subgraph, in the order in which b runs them; None where a side has no value."""
    operators = {d["index"]: d for d in b._get_ops_details() if d["op_name"] != "DELEGATE"}
    names = {d["index"]: d["name"] for d in b.get_tensor_details()}
    taken = {n for nodes, _, _ in b.delegate_nodes().values() for n in nodes}
    ours = isinstance(a, (Interpreter, MicroSide))
    taken_a = {n for nodes, _, _ in a.delegate_nodes().values() for n in nodes} if ours else taken
    # Constants are the same on both sides; variables are as they were before a has run.
    values = {int(t) for d in operators.values() for t in d["outputs"]} | {d["index"] for d in b.get_input_details()}
    b.reset_all_variables()
    order = [n for step in b.execution_plan() for n in b.delegate_nodes().get(step, ([step],))[0]]
    for n in order:
        details = operators[n]
        for t in details["inputs"]:
            if int(t) in values:
                _copy_value(a, b, int(t))
        if not _run_node(b, n):
            return
        for t in details["outputs"]:
            value_a, value_b = _value(a, int(t)), _value(b, int(t))
            if value_a is None or value_b is None:
                yield None
                continue
            apart, kind = compared(value_a, value_b), _kind(details, value_b)
            computed = _arithmetic(a, n, taken_a, name_a), _arithmetic(b, n, taken, "")
            reason = _reason(details["op_name"], kind, *computed, apart.differing)
            yield NodeDifference(n, details["op_name"], int(t), names[int(t)], apart, reason)


def _run_node(b, n):
    """False when the node has ended the run, as TensorFlow Lite Micro's streaming operators do between their cycles."""
    try:
        b._run_node(n)
    except RuntimeError as error:
        if "not prepared" in str(error):
            raise UserError(
                "this model has outputs whose shape is known only while running; it cannot be run node by node"
            ) from None
        raise
    except Exception:
        if isinstance(b, MicroSide) and b.stopped:
            return False
        raise
    return True


SHAPES, STRINGS = "shapes", "strings"  # units of what has no distance


def compared(a, b):
    """`report.distance`, also of strings, and of values whose shapes or types differ: there all elements do.

    >>> import numpy as np
    >>> compared(np.zeros(2, np.int8), np.zeros(3, np.int8)).differing
    3
    """
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        count = max(a.size, b.size, 1)
        return Distance(count, count, 0, SHAPES, None, {f"{list(a.shape)} and {list(b.shape)}": count})
    if a.dtype.kind in "OSU":
        where = np.flatnonzero([x != y for x, y in zip(a.reshape(-1), b.reshape(-1), strict=True)])
        first = tuple(int(i) for i in np.unravel_index(where[0], a.shape)) if len(where) and a.ndim else None
        return Distance(a.size, len(where), 0, STRINGS, first, {})
    return distance(a, b)


def _reason(op, kind, arithmetic_a, arithmetic_b, differing):
    one, other = explain(op, kind, arithmetic_a), explain(op, kind, arithmetic_b)
    if one != other:
        text = f"{arithmetic_a}: {one}; {arithmetic_b}: {other}"
        return text.replace("reference: as the reference", "reference: TensorFlow's reference kernel")
    if differing and arithmetic_a != arithmetic_b:
        return f"{arithmetic_a} and {arithmetic_b} compute it by rules without a name here"
    return one


def _arithmetic(interpreter, node, taken, name):
    """micro, reference, optimized or xnnpack: what a node is computed with."""
    if isinstance(interpreter, MicroSide):
        return "micro"
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
    """A tensor's value as an array; None when it has none."""
    try:
        return np.asarray(interpreter.get_tensor(tensor))
    except ValueError:
        return None


def _copy_value(a, b, tensor):
    """Give b the value that a has; what has no memory stays."""
    value = _value(a, tensor)
    if value is None:
        return
    try:
        b.set_tensor(tensor, value)
    except ValueError:
        return


def compare_outputs(file, name_a, name_b, inputs):
    """[(output name, Distance)] of two modes' ordinary runs."""
    results = []
    for side in (name_a, name_b):
        interpreter = _open(side, file, False)
        _feed(interpreter, inputs)
        interpreter.invoke()
        outputs = interpreter.get_output_details()
        results.append([(d["name"], np.asarray(interpreter.get_tensor(d["index"]))) for d in outputs])
    return [(name, compared(x, y)) for (name, x), (_, y) in zip(*results, strict=True)]


def _quirks(args, file):
    """Quirks of the side of ours that has the default delegate."""
    for side in (args.a, args.b):
        if side.rpartition(":")[2].upper() in ("AUTO", "BUILTIN"):
            interpreter = _open(side.rpartition(":")[2], file, False)
            interpreter.allocate_tensors()
            return interpreter.quirks()
    return []


def _record(f):
    return {"node": f.node, "op": f.op, "tensor": f.tensor, "name": f.name, **asdict(f.distance), "reason": f.reason}


def _csv(found):
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["node", "operator", "tensor", "name", "elements", "differing", "largest", "unit", "first", "why"])
    for f in found:
        d = f.distance
        first = "" if d.first is None else " ".join(map(str, d.first))
        writer.writerow([f.node, f.op, f.tensor, f.name, d.elements, d.differing, d.largest, d.unit, first, f.reason])
    return file.getvalue()
