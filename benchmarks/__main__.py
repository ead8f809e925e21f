"""Measure tflm_cy against tf.lite, and against ai-edge-litert and tflite_micro where they are installed.

python -m benchmarks --models DIR                     # everything, on the models below DIR
python -m benchmarks --only latency --models DIR --modes BUILTIN_REF,AUTO --json latency.json
python -m benchmarks --quick                          # a short look; default models: those that the package ships
python -m benchmarks --models DIR --check             # exit code 1 when a stated bar is missed
python -m benchmarks --models DIR --only latency --modes all --threads 1,2 --json b.json --html b.html
python -m benchmarks --show b.json --html b.html      # the tables, bars and page of a kept run; nothing is measured
python -m benchmarks --only operators --modes all --threads 1,2 --seeds 0,1 --check     # every operator that compat generates
python -m benchmarks --only operators --changed       # those that the changes since the last commit can touch

An interrupt (or SIGTERM) ends the run: what has been measured is shown and written.

Exit code: 0, with --check 1 when a bar is missed; 2 wrong usage, or nothing to compare with; 130 interrupted.
"""

import argparse
import json
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from compat.verdict import judge, say

from . import bars, machine, readme
from .changed import changed_operators
from .models import find_cases, hello_worlds
from .operators import PAIRS, SECONDS, SIZES, operator_cases
from .page import to_page
from .report import to_text
from .run import INTERRUPTED, OPERATORS, SECTIONS, Run, collect
from .settings import Settings
from .sides import MODES, OURS, SIDES, load_side


def _parser():
    p = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--models", action="append", metavar="DIR", help="models below this folder (or one); repeatable")
    p.add_argument("--case", default="", help="only files whose name contains this text")
    p.add_argument(
        "--only", type=_choice((*SECTIONS, OPERATORS)), default=SECTIONS, help=f"of {','.join(SECTIONS)} or {OPERATORS}"
    )
    p.add_argument(
        "--modes", type=_modes, default=("BUILTIN_REF",), help="op resolvers, or all that differ (default BUILTIN_REF)"
    )
    p.add_argument("--against", type=lambda text: tuple(text.split(",")), help="sides; default: all that are installed")
    p.add_argument("--threads", type=_counts, default=(1,), help="num_threads, several for latency: 1,2 (default 1)")
    p.add_argument("--quick", action="store_true", help="few pairs and runs: a look, not a measurement")
    p.add_argument("--pairs", type=int, help="pairs of bursts per model and mode (default 150, quick 30)")
    p.add_argument("--seconds", type=float, help="budget per model, mode and section (default 20, quick 1)")
    p.add_argument("--op", action="append", metavar="NAME", help="operators: only this one; repeatable")
    p.add_argument(
        "--seeds", type=_numbers, default=(0,), help="operators: seeds of shapes and values: 0,1 (default 0)"
    )
    p.add_argument("--sizes", type=_sizes, default=SIZES, help="operators: elements, about: 1e3,1e5,2e6 (the default)")
    p.add_argument(
        "--uneven", action="store_true", help="operators: long rows, tall columns, flat images, few or many channels"
    )
    p.add_argument(
        "--changed", nargs="?", const="HEAD", metavar="COMMIT", help="operators: what changes since it can touch (HEAD)"
    )
    p.add_argument("--timeout", type=float, default=300, help="seconds without a sign of life that mean a hang")
    p.add_argument("--json", metavar="FILE", help="write machine, settings, all rows and the bars as JSON")
    p.add_argument("--html", metavar="FILE", help="write a page with plots")
    p.add_argument(
        "--file", metavar="README.md", help="put the table of means between a file's <!-- benchmarks --> marks"
    )
    p.add_argument("--show", metavar="FILE", help="instead of measuring, show what --json wrote")
    p.add_argument("--check", action="store_true", help="exit code 1 when a bar is missed")
    return p


def _choice(known):
    def chosen(text):
        names = tuple(text.split(","))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        return names

    return chosen


def _modes(text):
    return ("AUTO", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN_REF") if text == "all" else _choice(MODES)(text)


def _numbers(text):
    numbers = tuple(int(part) for part in text.split(","))
    if min(numbers) < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return numbers


def _counts(text):
    numbers = _numbers(text)
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return numbers


def _sizes(text):
    return tuple(max(1, round(float(part))) for part in text.split(","))


def _operators(args):
    """What `--op`, `--case`, `--changed` and `--quick` leave."""
    if OPERATORS not in args.only:
        return ()
    ops = args.op
    touched = changed_operators(args.changed) if args.changed else None
    if touched is not None:
        ops = sorted(touched & set(ops)) if ops else sorted(touched)
        print(f"changed: {', '.join(ops) or 'no operator'}")
    return () if ops == [] else operator_cases(args.seeds, args.sizes, ops, args.case, args.quick, args.uneven)


def _find_sides(parser, asked):
    """The sides to compare with: those that are installed; asking for a missing one is wrong usage."""
    names = asked or [name for name in SIDES if name != OURS]
    found = []
    for name in names:
        try:
            installed = load_side(name).installed()
        except ImportError as error:
            parser.error(f"no side {name!r}: {error}")
        if installed:
            found.append(name)
        elif asked:
            parser.error(f"{name} is not installed")
        else:
            print(f"not measured: {name}: its package {load_side(name).package} is not installed", file=sys.stderr)
    if not found:
        parser.error("nothing to compare with: install tensorflow, ai-edge-litert or tflite-micro")
    return found


def _shipped():
    """The folder of the package itself: the models that it ships."""
    return list(find_spec(OURS).submodule_search_locations or ())


@judge("benchmarks")
def main(arguments=None):
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.show:
        return _show(args, json.loads(Path(args.show).read_text()))
    theirs = _find_sides(parser, args.against)
    cases = find_cases(args.models or _shipped(), args.case)
    if args.models and not cases:
        parser.error(f"no .tflite file below {', '.join(args.models)} whose name contains {args.case!r}")
    if args.only == (OPERATORS,):
        args.pairs, args.seconds = args.pairs or PAIRS, args.seconds or SECONDS
    settings = Settings.chosen(args.quick, args.threads[0], pairs=args.pairs, seconds=args.seconds)
    found = machine.facts([load_side(name) for name in (OURS, *theirs)])
    print(machine.summary(found), flush=True)
    asked = (args.modes, theirs, args.only, settings, args.timeout)
    run = Run(cases or hello_worlds(), *asked, threads=args.threads, operators=_operators(args))
    results, complete = collect(run, args.only)
    verdict = _show(args, {"machine": found, "settings": asdict(settings), **results})
    return verdict if complete else INTERRUPTED


def _show(args, report):
    """Tables, bars, files; the exit code."""
    results = {section: report[section] for section in (*SECTIONS, OPERATORS) if section in report}
    judged = bars.judge(results, report["machine"].get("kernels", bars.TILES))
    if set(results) == {OPERATORS}:
        judged = [bar for bar in judged if OPERATORS in bar.text and bar.verdict != bars.NOT_JUDGED]
    if args.json:
        text = json.dumps({**report, "bars": [bar.to_json() for bar in judged]}, indent=1)
        Path(args.json).write_text(text + "\n")
    if args.html:
        Path(args.html).write_text(to_page(report["machine"], results, judged), encoding="utf-8")
    if args.file:
        path = Path(args.file)
        table = readme.markdown(report["machine"], results.get("latency", ()))
        path.write_text(readme.replace(path.read_text(), table))
    say(to_text(results, judged if args.check else ()))
    return int(args.check and any(bar.verdict == bars.MISSED for bar in judged))


if __name__ == "__main__":
    sys.exit(main())
