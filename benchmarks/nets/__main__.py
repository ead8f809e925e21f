"""Measure nets of many families against tf.lite: made in DIR with random weights, float32, float16, dynamic range, int8 and int16x8.

python -m benchmarks.nets DIR                                  # makes what is missing (some minutes), then measures AUTO with one thread
python -m benchmarks.nets DIR --threads 1,2 --check --json nets.json
python -m benchmarks.nets DIR --family lstm,gru --kinds float32,dynamic --modes all
python -m benchmarks.nets DIR --seed 7                         # other widths, other weights
python -m benchmarks.nets DIR --batches 8,32 --check           # inputs of several images: does the time per image grow?
python -m benchmarks.nets DIR --make                           # the files alone
python -m benchmarks.nets DIR --show nets.json                 # the tables and bars of a kept run

Exit code: 0, with --check 1 when a bar is missed; 2 wrong usage, or nothing to compare with; 130 interrupted.
"""

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from compat.verdict import judge, say

from .. import machine
from ..__main__ import _choice, _counts, _find_sides, _modes
from ..bars import MISSED, TILES
from ..models import find_cases
from ..run import INTERRUPTED, Run, collect
from ..settings import Settings
from ..sides import OURS, load_side
from .bars import net_bars
from .make import folder_of, make, refused
from .nets import KINDS, all_nets
from .table import to_text

PAIRS, SECONDS = 60, 1.5  # of one row, if the user does not say


def _parser():
    p = argparse.ArgumentParser(
        "python -m benchmarks.nets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    families = sorted({net.family for net in all_nets()})
    p.add_argument(
        "folder", metavar="DIR", type=Path, help="where the nets are kept; those that are there are not made again"
    )
    p.add_argument("--family", type=_choice(families), default=(), help=f"of {','.join(families)} (default: all)")
    p.add_argument("--kinds", type=_choice(KINDS), default=KINDS, help=f"of {','.join(KINDS)} (default: all)")
    p.add_argument("--case", default="", help="only nets whose file name contains this text")
    p.add_argument("--seed", type=int, default=0, help="of widths and weights (default 0)")
    p.add_argument("--make", action="store_true", help="make the nets, measure nothing")
    p.add_argument("--modes", type=_modes, default=("AUTO",), help="op resolvers, or all that differ (default AUTO)")
    p.add_argument(
        "--against", type=lambda text: tuple(text.split(",")), default=("tensorflow",), help="sides (tensorflow)"
    )
    p.add_argument("--threads", type=_counts, default=(1,), help="num_threads, several separated by commas (default 1)")
    p.add_argument(
        "--batches",
        type=_counts,
        default=(1,),
        help="images per invoke, several separated by commas (default 1): nets whose inputs take them, resized",
    )
    p.add_argument("--quick", action="store_true", help="few pairs: a look, not a measurement")
    p.add_argument("--pairs", type=int, help=f"pairs of bursts per row (default {PAIRS}, quick 30)")
    p.add_argument("--seconds", type=float, help=f"budget per row (default {SECONDS}, quick 0.3)")
    p.add_argument("--timeout", type=float, default=300, help="seconds without a sign of life that mean a hang")
    p.add_argument("--json", metavar="FILE", help="write machine, settings, all rows and the bars as JSON")
    p.add_argument("--show", metavar="FILE", help="instead of making and measuring, show what --json wrote")
    p.add_argument("--check", action="store_true", help="exit code 1 when a bar is missed")
    return p


def net_cases(folder, nets, kinds, seed, part=""):
    """(case, family, kind) of the files of these nets and kinds."""
    wanted = {f"{net.family}/{net.name}_{kind}.tflite": (net.family, kind) for net in nets for kind in kinds}
    for case in find_cases([folder_of(folder, seed)], part):
        name = f"{case.model.parent.name}/{case.model.name}"
        if name in wanted:
            yield case, *wanted[name]


def of_batch(case, images):
    """The case with the first dimension of its inputs `images` times as long; None where one of them is no batch of one."""
    feeds = [np.asarray(value) for value in case.feeds[0]]
    if images == 1:
        return case
    if not feeds or any(value.ndim < 2 or value.shape[0] != 1 for value in feeds):
        return None
    return replace(case, feeds=[[np.repeat(value, images, axis=0) for value in feeds]])


def measure(args, theirs, settings):
    """Rows of `latency`, each with its net's name, family, kind and batch; whether the run came to its end."""
    found = {case.model.name: (case, family, kind) for case, family, kind in _cases(args)}
    rows = []
    for images in args.batches:
        cases = [of_batch(case, images) for case, *_ in found.values()]
        asked = (args.modes, theirs, ("latency",), replace(settings, beside_one_image=images > 1), args.timeout)
        run = Run([case for case in cases if case is not None], *asked, threads=args.threads)
        results, complete = collect(run, ("latency",))
        for row in results["latency"]:
            file = row["model"].rpartition("/")[2]
            _, family, kind = found[file]
            rows.append({**row, "model": file.removesuffix(".tflite"), "family": family, "kind": kind, "batch": images})
        if not complete:
            return rows, False
    return rows, True


def _cases(args):
    return net_cases(args.folder, all_nets(args.family), args.kinds, args.seed, args.case)


@judge("benchmarks.nets")
def main(arguments=None):
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.show:
        return _show(args, json.loads(Path(args.show).read_text()))
    theirs = _find_sides(parser, args.against)
    for line in make(
        args.folder, [net for net in all_nets(args.family) if args.case in net.name], args.kinds, args.seed
    ):
        print(line, file=sys.stderr, flush=True)
    if args.make:
        return 0
    if not list(_cases(args)):
        parser.error(f"no such net: --family {','.join(args.family)} --case {args.case!r}")
    pairs, seconds = (None, args.seconds or 0.3) if args.quick else (args.pairs or PAIRS, args.seconds or SECONDS)
    settings = Settings.chosen(args.quick, args.threads[0], pairs=pairs or args.pairs, seconds=seconds)
    found = machine.facts([load_side(name) for name in (OURS, *theirs)])
    print(machine.summary(found), flush=True)
    rows, complete = measure(args, theirs, settings)
    not_made = [f"{name}: {reason}" for name, reason in refused(args.folder, args.seed)]
    verdict = _show(args, {"machine": found, "settings": asdict(settings), "nets": rows, "not_made": not_made})
    return verdict if complete else INTERRUPTED


def _show(args, report):
    """Table, bars, file; the exit code."""
    bars = net_bars(report["nets"], report["machine"].get("kernels", TILES))
    if args.json:
        text = json.dumps({**report, "bars": [bar.to_json() for bar in bars]}, indent=1)
        Path(args.json).write_text(text + "\n")
    say(to_text(report["nets"], report.get("not_made", ()), bars if args.check else ()))
    return int(args.check and any(bar.verdict == MISSED for bar in bars))


if __name__ == "__main__":
    sys.exit(main())
