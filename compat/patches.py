"""Patch-wise plans against the tflite_micro package and TensorFlow: the table in docs/arena.md.

    python -m compat.patches --models DIR                        # search, export, run; prints the table
    python -m compat.patches --models DIR --file docs/arena.md   # and writes it between the markers
    python -m compat.patches --models DIR --strict --optimize head --least 20 --file docs/arena.md
    python -m compat.patches --models DIR --part vww             # of the files with this name

Per model whose head and tail (with `--optimize head`: whose head) shrink by at least `--least` per cent: the exported copy
runs in tflite_micro's interpreter in an arena of exactly the predicted size, 16 bytes less fails; over `--runs` inputs its
outputs are those of the model as it is, byte for byte; so they are in TensorFlow, with the reference kernels and in the
default mode, where TensorFlow takes the model. A model that TFLM allocates and cannot run is only allocated there. Then the
judge must refuse the plan when any pair of tensors lies 16 bytes nearer than it does. Exit code: 0 all
equal, 1 a difference, 2 wrong usage.

Figures are for arm32, with the reference kernels; the arena that runs is that of the host, with its larger tail.
"""

import argparse
import sys
import time
from pathlib import Path

from tflm_cy.memory.check import check
from tflm_cy.memory.problem import Plan
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.export import check_reads
from tflm_cy.micro.figures import figures
from tflm_cy.micro.patchwise import Wanted, export, search
from tflm_cy.schema.model import Model

from .arena.runtime import allocations, outputs
from .coverage import insert
from .models import find_models
from .patched_outputs import fed_shapes, tensorflow_outputs
from .verdict import UsageError, judge

_ARENA = 60_000_000
_MODES = ("BUILTIN_REF", "AUTO")


@judge("compat.patches")
def main(argv=None):
    parser = argparse.ArgumentParser(
        "python -m compat.patches", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", action="append", required=True, metavar="DIR", help="models below; repeatable")
    parser.add_argument("--part", default="", help="only files whose names contain this")
    parser.add_argument("--least", type=float, default=5.0, metavar="P", help="gain in per cent (default %(default)s)")
    parser.add_argument("--runs", type=int, default=20, help="random inputs per model (default %(default)s)")
    parser.add_argument("--optimize", choices=("total", "head"), default="total")
    parser.add_argument("--strict", action="store_true", help="plans for any kernels")
    parser.add_argument("--file", help="a Markdown file with the two markers; without it the table is printed")
    arguments = parser.parse_args(argv)
    found = find_models(arguments.models, arguments.part)
    if not found:
        raise UsageError(f"no .tflite file below {', '.join(arguments.models)}")
    wanted = Wanted(optimize=arguments.optimize, strict=arguments.strict)
    rows, wrong, judged = [], 0, [0, 0]
    for name, path in found:
        row, faults = _checked(name, path, wanted, arguments, judged)
        rows += [row] if row else []
        wrong += bool(faults)
        for fault in faults:
            print(f"  {name}: {fault}", flush=True)
    text = table(rows, wanted)
    if arguments.file:
        file = Path(arguments.file)
        file.write_text(insert(file.read_text(), text, markers(wanted)))
    else:
        print(text)
    print(f"{len(rows) - wrong} of {len(rows)} patch-wise plans run in exactly their arena with the same bytes")
    print(f"{judged[1]} of {judged[0]} plans with a pair of tensors 16 bytes nearer are refused")
    return wrong > 0 or judged[0] != judged[1]


def markers(wanted):
    """Of the table of such plans: <!-- patches -->, <!-- patches strict head -->."""
    name = " ".join(
        ["patches", *(["strict"] if wanted.strict else []), *(["head"] if wanted.optimize == "head" else [])]
    )
    return f"<!-- {name} -->", f"<!-- /{name} -->"


def table(rows, wanted):
    """The Markdown between the markers: head and tail, or heads."""
    plan = "optimal" if wanted.strict else "overlap"
    behind = "head" if wanted.optimize == "total" else "head and tail"
    lines = [
        f"| model | TFLM's plan | {plan} | patches | {behind} | more MACs | operators | file | proven |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    return "\n".join([*lines, *rows])


def _checked(name, path, wanted, arguments, judged):
    """(row of the table or None, what is wrong)."""
    try:
        model = Model.from_path(path)
        asked = demand(model, wanted.target)
    except (ValueError, OSError):
        return None, []
    if not asked.graph.subgraphs[0].nodes or not asked.buffers:
        return None, []
    start = time.process_time()
    found = search(model, wanted, asked.graph)
    seconds = time.process_time() - start
    best, greedy = found.best, asked.plan().high_water_mark
    before, after = (getattr(c, wanted.optimize) for c in (found.untouched, best))
    if not best.stages or 100 * (1 - after / before) < arguments.least:
        return None, []
    content = export(found)
    [given] = outputs([(bytes(memoryview(model)), _ARENA)], arguments.runs)
    runs = given is not None
    if runs:
        faults = [*_differences(content, given, arguments.runs), *_judge(best, judged, wanted.strict)]
    else:
        faults = [*_allocated(content), *_judge(best, judged, wanted.strict)]
    faults += _desktop_differences(model, content, found.graph, arguments.runs)
    tail = found.untouched.tail
    proven = "yes" if best.head == best.bound else f">= {best.bound:,}"
    cells = (greedy + tail, found.untouched.total, best.total, best.head)
    if wanted.optimize == "head":
        cells = (greedy, found.untouched.head, best.head, best.total)
    cells = (name + ("" if runs else " *"), *cells)
    row = " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells)
    row += f" | {found.extra_macs:.1f} % | {found.untouched.operators} -> {best.operators}"
    print(
        f"{name}: {before} -> {after}, {seconds:.0f} s, {[tuple(s) for s in best.stages]}",
        flush=True,
    )
    return f"| {row} | {len(content) - model.nbytes:+,} | {proven} |", faults


def _differences(content, given, runs):
    """What tflite_micro does otherwise with the copy; `given`: its outputs of the model."""
    smallest = figures(Model.from_buffer(content), "host64").smallest_arena
    after, less = outputs([(content, smallest), (content, smallest - 16)], runs)
    if after is None:
        yield f"tflite_micro does not run the copy in {smallest} bytes"
    elif after != given:
        yield "tflite_micro computes other bytes"
    if less is not None:
        yield f"tflite_micro runs the copy in {smallest - 16} bytes, too"


def _allocated(content):
    """What is wrong with the arena of a copy that tflite_micro cannot run."""
    smallest = figures(Model.from_buffer(content), "host64").smallest_arena
    exact, less = allocations([(content, smallest), (content, smallest - 16)])
    if exact is None:
        yield f"tflite_micro does not allocate the copy in {smallest} bytes"
    if less is not None:
        yield f"tflite_micro allocates the copy in {smallest - 16} bytes, too"


def _desktop_differences(model, content, graph, runs):
    """Modes in which TensorFlow computes other bytes with the copy."""
    fed = fed_shapes(graph)
    for mode in _MODES:
        before = tensorflow_outputs(bytes(memoryview(model)), mode, runs, fed)
        if before is None:
            print(f"  TensorFlow does not take the model with {mode}, as it is", flush=True)
        elif tensorflow_outputs(content, mode, runs, fed) != before:
            yield f"TensorFlow computes other bytes with {mode}"


def _judge(best, judged, strict=False):
    """Counts, and says, where the judge takes a plan in which two tensors lie 16 bytes nearer than a row permits."""
    offsets = best.plan.offsets
    pairs = {row[:2] for row in best.relaxed}
    for output, source, d in best.relaxed:
        if (source, output) in pairs:  # a copy (RESHAPE) at the place of what it copies
            continue
        a, b = best.demand.buffers[output], best.demand.buffers[source]
        over = offsets[source] < offsets[output] + a.size and offsets[output] < offsets[source] + b.size
        if offsets[source] - offsets[output] != d or not over or a.first == b.first:
            continue
        nearer = [offset + 16 * (i == output) for i, offset in enumerate(offsets)]
        if nearer[output] >= offsets[source] + b.size:
            continue
        judged[0] += 1
        plan = Plan(nearer, max(o + x.size for o, x in zip(nearer, best.demand.buffers, strict=True)))
        if _refuses(best, plan, strict):
            judged[1] += 1
        else:
            yield f"the judge takes {a} 16 bytes nearer to {b}"


def _refuses(best, plan, strict):
    """Whether each of the judge's two looks refuses a plan."""
    refusals = 0
    for look in (
        lambda: check(best.demand.problem(best.relaxed), plan),
        lambda: check_reads(best.demand, plan, best.relaxed, strict),
    ):
        try:
            look()
        except ValueError:
            refusals += 1
    return refusals == 2


if __name__ == "__main__":
    sys.exit(main())
