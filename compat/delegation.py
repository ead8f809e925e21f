"""What the default delegate takes, compared without running anything: claims, execution plans and delegate nodes of every subgraph.

    python -m compat.delegation --models DIR                    # every .tflite below
    python -m compat.delegation --cases FILE.py                 # the models that FILE's `cases()` yields

`cases()` yields (name, model's bytes, keyword arguments of the interpreter); of these `resize` is {tensor: shape}. The plans
count also where allocation fails, and so does whether it is a delegate's node that fails. What the other nodes accept is
the business of `python -m compat`: where only that differs is counted, not judged. Models that kill TensorFlow's process
are counted apart.
"""

import argparse
import importlib.util
import sys
import time
from dataclasses import replace
from pathlib import Path

from .case import Case
from .models import find_models
from .outcome import difference
from .process import SideFailedError
from .progress import track
from .report import Tally, to_text
from .run import DEVIATES, DIFFERS, EQUAL, NOT_COMPARED, REFUSED, Side, run
from .verdict import UsageError, judge

DELEGATE = "TfLiteXNNPackDelegate"  # in the text of an allocation that fails by its node


def cases_of_models(folders):
    return [Case("PLAN", "file", name, 0, path, []) for name, path in find_models(folders)]


def cases_of_file(path):
    sys.path.insert(0, str(path.resolve().parent))  # what it imports lies beside it
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = []
    for number, (name, model, options) in enumerate(module.cases()):
        options = dict(options)
        resizes = {int(tensor): [int(d) for d in shape] for tensor, shape in options.pop("resize", {}).items()}
        found.append(Case("PLAN", path.stem, name, number, model, [], options=options, resizes=resizes))
    return found


def judged(result):
    """(verdict, difference) by what the delegate did."""
    a, b = result.a, result.b
    if (
        result.verdict in (DEVIATES, NOT_COMPARED)
        or "crashed" in (a.status, b.status)
        or "hung" in (a.status, b.status)
    ):
        return result.verdict, result.difference
    if a.plans is None and b.plans is None:
        return REFUSED, None
    if (a.delegates, a.plans) != (b.delegates, b.plans):
        found = difference(replace(a, status="ok", error="", invokes=[]), replace(b, status="ok", error="", invokes=[]))
        return DIFFERS, found or f"{a.summary()}  <>  {b.summary()}"
    fails = [DELEGATE in outcome.text for outcome in (a, b)]
    return (EQUAL, None) if fails[0] == fails[1] else (DIFFERS, f"{a.summary()}  <>  {b.summary()}")


@judge("compat.delegation")
def main(argv=None):
    parser = argparse.ArgumentParser(
        "python -m compat.delegation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", action="append", default=[], metavar="DIR", help="models below; repeatable")
    parser.add_argument("--cases", action="append", default=[], metavar="FILE", type=Path, help="a file with cases()")
    parser.add_argument("--mode", action="append", help="repeatable (default AUTO)")
    parser.add_argument("--a", default="tensorflow", help="the side that decides (default %(default)s)")
    parser.add_argument("--b", default="tflm_cy", help="the side that is judged (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="list everything that differs")
    args = parser.parse_args(argv)
    cases = cases_of_models(args.models) + [case for file in args.cases for case in cases_of_file(file)]
    if not cases:
        raise UsageError("nothing to compare: give --models DIR or --cases FILE")
    modes = args.mode or ["AUTO"]
    tally, started = Tally((args.a, args.b)), time.monotonic()
    plans = elsewhere = 0
    try:
        results = run(cases, Side(args.a), Side(args.b), modes, args.jobs, 60, not args.no_cache)
        for result in track(results, len(cases) * len(modes), tally):
            elsewhere += result.verdict == DIFFERS
            result.verdict, result.difference = judged(result)
            elsewhere -= result.verdict == DIFFERS
            tally.add(result)
            plans += 0 if None in (result.a.plans, result.b.plans) else len(result.a.plans)
    except SideFailedError as error:
        print(f"compat.delegation: {error}", file=sys.stderr)
        return 2
    tally.seconds = time.monotonic() - started
    print(to_text(tally, args.verbose))
    print(
        f"the plans of {plans} subgraphs were compared; {elsewhere} models differ in whether nodes of no delegate are accepted"
    )
    return int(tally.failed() or not plans)


if __name__ == "__main__":
    sys.exit(main())
