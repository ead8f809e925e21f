"""`python -m tflm_cy bench MODEL`: how long a model takes, and which of its nodes take how much of it.

Keys of --json, times in seconds: model, mode, threads, kernels, load, allocate, first_invoke, invoke ({median, quartiles, fastest,
runs}), allocated_bytes, macs (multiply-adds of one invoke), peaks ({type: multiply-adds per second of one thread}) and nodes: [{subgraph,
node, part_of, op_name, arithmetic, calls, median_seconds, least_seconds, share, macs, gmacs_per_second, of_peak, bytes, shapes, output}],
the columns of --csv; a rate is null where the clock shows no time.
"""

import argparse
import csv
import io
import json
import os
import time
from statistics import median, quantiles

from tflm_cy.cli.errors import UserError, refused
from tflm_cy.cli.model import ModelFile, add_mode_argument, add_model_argument
from tflm_cy.cli.output import add_json_argument, as_json, check_outputs, deliver, exit_codes
from tflm_cy.cli.run import add_input_arguments, read_inputs
from tflm_cy.config import peaks, show_config
from tflm_cy.report import Bar, arena_page, byte_size, duration, durations, printable, text_table, time_picture

_HELP = "measure how long a model takes, node by node"
_DESCRIPTION = """Measure how long a model takes: load, allocate, invoke, and each node of it.

Latency is measured without the profile; then as many runs with it say where the time goes. GMAC/s are billions of
multiply-adds per second; "of peak" compares them with what this machine multiplies and adds at most in registers,
measured at the start (per thread, times the threads asked for). Files: --csv a line per node, --trace a timeline for chrome://tracing or
ui.perfetto.dev, --html a page with a picture."""

_MOST_RUNS = 3000
_TRACED_RUNS = 5


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "bench",
        help=_HELP,
        description=_DESCRIPTION,
        epilog=exit_codes(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_argument(parser)
    add_mode_argument(parser)
    add_input_arguments(parser)
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="num_threads (default %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=1.0, metavar="S", help="to measure for, each of the two (default %(default)s)"
    )
    parser.add_argument("--per-op", action="store_true", help="show every node, not only the operators' sums")
    parser.add_argument("--csv", metavar="F.csv", help="write a line per node")
    parser.add_argument("--trace", metavar="F.json", help="write the last runs as Chrome's trace events")
    parser.add_argument("--html", metavar="F.html", help="write a page with a picture of where the time goes")
    add_json_argument(parser)
    parser.set_defaults(command=bench)


def bench(args):
    """Print the tables; write what was asked for."""
    if args.threads < 1 or not args.seconds > 0:
        raise UserError("--threads and --seconds must be positive")
    check_outputs([args.csv, args.trace, args.html, args.json], args.model)
    file = ModelFile(args.model)
    with refused(file.name):
        measured = _Measured(args, file)
    name = printable(file.title)
    tables = [(title, table(measured)) for title, table in _TABLES if title != "Nodes" or args.per_op]
    lines = [
        f"{name}, {args.mode}, {args.threads} thread{'s' if args.threads > 1 else ''}, kernels: {measured.kernels}\n"
    ]
    lines += [f"{title}\n{text_table(header, rows, *align)}\n" for title, (header, rows, *align) in tables]
    if measured.peaks:
        known = ", ".join(f"{kind} {rate / 1e9:,.0f} GMAC/s" for kind, rate in measured.peaks.items())
        lines.append(f"This machine's peak, one thread: {known}")
    files = [
        (args.csv, _csv(measured) if args.csv else None),
        (args.trace, json.dumps(trace(measured, name)) + "\n" if args.trace else None),
        (args.html, _page(measured, name, args) if args.html else None),
        (args.json, as_json(_document(measured, file, args)) if args.json else None),
    ]
    deliver("\n".join(lines), files)


class _Measured:
    """Everything that is shown: latencies in seconds, a NodeTime per step, the profile behind them."""

    def __init__(self, args, file):
        self.kernels = _kernels()
        self.peaks, self.threads = peaks(), args.threads
        begin = time.perf_counter()
        interpreter = file.open(args.mode, num_threads=args.threads)
        loaded = time.perf_counter()
        values = read_inputs(interpreter, args.input, args.random)
        prepared = time.perf_counter()
        interpreter.allocate_tensors()
        self.load, self.allocate = loaded - begin, time.perf_counter() - prepared
        inputs = interpreter.get_input_details()
        for details, value in zip(inputs, values, strict=True):
            interpreter.set_tensor(details["index"], value)
        begin = time.perf_counter()
        interpreter.invoke()
        self.first = time.perf_counter() - begin
        self.latencies = _time_runs(interpreter.invoke, args.seconds)
        with interpreter.profile() as self.profile:
            _time_runs(interpreter.invoke, args.seconds)
        self.profiled = self.profile.seconds()
        self.nodes = self.profile.nodes()
        self.allocated = interpreter._interpreter.arena_used_bytes()

    def of_peak(self, node):
        """Share of what the machine multiplies at most; None where there is nothing to compare."""
        peak = self.peaks.get({"float32": "float32", "int8": "int8", "hybrid": "int8"}.get(node.kind))
        return node.macs_per_second / (peak * self.threads) if peak and node.macs and node.seconds else None


def _kernels():
    """The line of `show_config` about kernels, without the rest."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        return show_config()["kernels"]


def _time_runs(call, seconds):
    """Seconds of each of many calls: for so long, but at least three and at most _MOST_RUNS."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < _MOST_RUNS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def _summary(measured):
    low, _, high = quantiles(measured.latencies, n=4)
    middle = median(measured.latencies)
    macs = sum(node.macs for node in measured.nodes if node.subgraph == 0)
    rows = [
        ["invoke, median", duration(middle), f"quartiles {duration(low)} .. {duration(high)}"],
        ["fastest", duration(min(measured.latencies)), f"of {len(measured.latencies)} runs"],
        ["first invoke", duration(measured.first), ""],
        ["load, allocate", duration(measured.load), duration(measured.allocate)],
        ["memory", byte_size(measured.allocated), "tensors, and what operators keep"],
    ]
    if macs:
        rows.insert(2, ["multiply-adds", f"{macs / 1e6:,.3f} M", _rate(macs, middle, " GMAC/s")])
    return ["what", "figure", "note"], rows, "<><"


def _rate(macs, seconds, unit=""):
    """Billions of multiply-adds per second; empty without any, and where the clock shows no time."""
    return f"{macs / seconds / 1e9:,.1f}{unit}" if macs and seconds > 0 else ""


def _operators(measured):
    sums = {}
    for node in measured.nodes:
        sums.setdefault((node.op_name, node.arithmetic), []).append(node)
    rows = []
    for (name, arithmetic), nodes in sums.items():
        seconds = sum(node.seconds for node in nodes)
        macs = sum(node.macs for node in nodes)
        rows.append(
            [
                name,
                arithmetic,
                len(nodes),
                100 * sum(node.share for node in nodes),
                seconds,
                _rate(macs, seconds),
            ]
        )
    rows.sort(key=lambda row: -row[3])
    unit, times = durations([row[4] for row in rows])
    shown = [
        [name, kind, n, f"{share:.1f}", text, rate]
        for (name, kind, n, share, _, rate), text in zip(rows, times, strict=True)
    ]
    return ["operator", "arithmetic", "nodes", "% of time", f"together, {unit}", "GMAC/s"], shown, "<<>>>>"


def _node_rows(measured):
    rows = []
    unit, medians = durations([node.seconds for node in measured.nodes])
    least_unit, fastest = durations([node.least for node in measured.nodes])
    for node, middle, least in zip(measured.nodes, medians, fastest, strict=True):
        of_peak = measured.of_peak(node)
        rows.append(
            [
                node.node if not node.subgraph else f"{node.subgraph}:{node.node}",
                node.op_name,
                f"{100 * node.share:.1f}",
                middle,
                least,
                _rate(node.macs, node.seconds),
                "" if of_peak is None else f"{100 * of_peak:.0f}",
                f"{node.bytes_per_second / 1e9:.1f}" if node.seconds else "",
                _shapes(node),
            ]
        )
    times = [f"median, {unit}", f"fastest, {least_unit}"]
    return ["node", "operator", "% of time", *times, "GMAC/s", "% of peak", "GB/s", "shapes"], rows, "><>>>>>><"


_TABLES = (("Latency", _summary), ("Operators", _operators), ("Nodes", _node_rows))


def _shape(operand):
    return "x".join(map(str, operand.shape)) or "scalar"


def _shapes(node):
    """What a node reads and writes, constants of few elements left out."""
    reads = [_shape(o) for o in node.inputs if o is not None and (not o.constant or len(o.shape) > 1)]
    return f"{' , '.join(reads)} -> {' , '.join(_shape(o) for o in node.outputs if o is not None)}"


_COLUMNS = (
    *("subgraph", "node", "part_of", "op_name", "arithmetic", "calls", "median_seconds", "least_seconds", "share"),
    *("macs", "gmacs_per_second", "of_peak", "bytes", "shapes", "output"),
)


def _records(measured):
    """A dict of the columns per node; a rate is None where there is none."""
    for n in measured.nodes:
        of_peak, timed = measured.of_peak(n), n.seconds > 0
        output = n.outputs[0].name if n.outputs and n.outputs[0] is not None else ""
        values = (
            *(n.subgraph, n.node, n.part_of, n.op_name, n.arithmetic, n.calls, n.seconds, n.least, n.share),
            *(n.macs, n.macs_per_second / 1e9 if timed or not n.macs else None, of_peak, n.nbytes, _shapes(n), output),
        )
        yield dict(zip(_COLUMNS, values, strict=True))


_DIGITS = {"share": 6, "gmacs_per_second": 4, "of_peak": 5}


def _csv(measured):
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(_COLUMNS)
    for record in _records(measured):
        for name, digits in _DIGITS.items():
            record[name] = "" if record[name] is None else f"{record[name]:.{digits}f}"
        writer.writerow(record.values())
    return file.getvalue()


def _document(measured, file, args):
    low, _, high = quantiles(measured.latencies, n=4)
    return {
        "model": file.title,
        "mode": args.mode,
        "threads": args.threads,
        "kernels": measured.kernels,
        "load": measured.load,
        "allocate": measured.allocate,
        "first_invoke": measured.first,
        "invoke": {
            "median": median(measured.latencies),
            "quartiles": [low, high],
            "fastest": min(measured.latencies),
            "runs": len(measured.latencies),
        },
        "allocated_bytes": measured.allocated,
        "macs": sum(node.macs for node in measured.nodes if node.subgraph == 0),
        "peaks": measured.peaks,
        "nodes": list(_records(measured)),
    }


def trace(measured, name):
    """The last runs as Chrome's trace events: an event per node, one around the nodes of a delegate, one around each run."""
    process = {"pid": os.getpid(), "tid": 1}
    events = [{"name": "process_name", "ph": "M", **process, "args": {"name": f"tflm_cy {name}"}}]
    nodes = [node for node in measured.nodes if node.subgraph == 0]
    for run in measured.profile.runs(0)[-_TRACED_RUNS:] / 1e3:
        if not len(run):
            continue
        events.append(_event("invoke", "run", run[0, 0], run[-1, 1], process, {}))
        first = 0
        for i, node in enumerate(nodes):
            arguments = {"node": node.node, "shapes": _shapes(node)}
            if node.macs:
                arguments["GMAC/s"] = round(node.macs / max(run[i, 1] - run[i, 0], 1e-3) / 1e3, 2)
            events.append(_event(node.op_name, node.arithmetic, run[i, 0], run[i, 1], process, arguments))
            if i + 1 == len(nodes) or nodes[i + 1].part_of != node.part_of:
                if node.part_of != node.node:
                    events.append(_event("DELEGATE", "plan", run[first, 0], run[i, 1], process, {"node": node.part_of}))
                first = i + 1
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _event(name, category, begin, end, process, arguments):
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": float(begin),
        "dur": float(end - begin),
        **process,
        "args": arguments,
    }


def _page(measured, name, args):
    bars = []
    for node in measured.nodes:
        if all(operand is None or operand.constant for operand in node.inputs) and node.inputs:
            continue  # computed while allocating
        of_peak = measured.of_peak(node)
        lines = [
            f"{node.node} {node.op_name}, {node.arithmetic}",
            _shapes(node),
            f"{duration(node.seconds)} median, {duration(node.least)} fastest, {100 * node.share:.1f} % of the time",
        ]
        if node.macs:
            rate = _rate(node.macs, node.seconds, " GMAC/s")
            lines.append(f"{node.macs / 1e6:,.2f} M multiply-adds" + (f", {rate}" if rate else ""))
        if of_peak is not None:
            lines.append(f"{100 * of_peak:.0f} % of this machine's peak")
        seconds = node.seconds * node.calls / max(len(measured.profiled), 1)
        bars.append(Bar(f"{node.node} {node.op_name}", node.op_name, seconds, of_peak, "\n".join(lines)))
    middle = median(measured.latencies)
    threads = f"{args.threads} thread{'s' if args.threads > 1 else ''}"
    subtitle = f"{args.mode}, {threads}, kernels {measured.kernels}; invoke takes {duration(middle)} (median)"
    tables = [("Latency", _latency(measured))]
    tables += [(title, table(measured)[:2]) for title, table in _TABLES if table is not _summary]
    return arena_page(name, [_size(measured, middle)], time_picture(name, bars, subtitle), tables)


def _latency(measured):
    """The page's table: times alone, in one unit."""
    low, middle, high = quantiles(measured.latencies, n=4)
    rows = [
        ("invoke, median", middle),
        ("invoke, first quartile", low),
        ("invoke, third quartile", high),
        ("invoke, fastest", min(measured.latencies)),
        ("first invoke", measured.first),
        ("load", measured.load),
        ("allocate", measured.allocate),
    ]
    unit, texts = durations([seconds for _, seconds in rows])
    return ["what", unit], [[name, text] for (name, _), text in zip(rows, texts, strict=True)]


def _size(measured, middle):
    """What is no time, in a sentence."""
    macs = sum(node.macs for node in measured.nodes if node.subgraph == 0)
    rate = _rate(macs, middle, " GMAC/s")
    text = f"{macs / 1e6:,.3f} M multiply-adds" + (f" ({rate}); " if rate else "; ") if macs else ""
    return f"{text}{byte_size(measured.allocated)} of memory for tensors and for what operators keep."
