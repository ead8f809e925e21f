"""Run damaged models: python -m compat.fuzz --models DIR [--truncations 200] [--flips 2000] [--edits 0] [--seed S]

Exit code: 0 nothing crashed, hung or raised an undocumented exception, 1 something did, 2 wrong usage.

Under the sanitizers: python -m compat.fuzz.sanitized --into BUILD python -m compat.fuzz --models DIR --edits 500 --seconds 120
"""

import argparse
import json
import sys
import time
from pathlib import Path

from ..models import find_models
from ..verdict import judge, say, write
from .children import Batch, Limits, run_batches
from .findings import Findings
from .mutation import Source, mutations

BATCH = 100  # mutations of a model that one child takes


def parser():
    p = argparse.ArgumentParser(
        "python -m compat.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--models", action="append", default=[], metavar="DIR", help="the .tflite files below; repeatable")
    p.add_argument("--cases", action="store_true", help="the generated models of compat.cases, one seed per kind")
    p.add_argument("--model", default="", help="only models (or cases) whose name contains this")
    p.add_argument("--largest", type=int, default=0, metavar="BYTES", help="leave out larger models")
    p.add_argument("--truncations", type=int, default=200, help="cuts per model (default %(default)s)")
    p.add_argument(
        "--flips",
        type=int,
        default=2000,
        help="byte changes per model, half of them in the structure (default %(default)s)",
    )
    p.add_argument("--edits", type=int, default=0, help="well-formed changes per model (default %(default)s)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument(
        "--only", action="append", metavar="MUTATION", help="these mutations: none:0, truncate:K/N, flip:K, edit:K"
    )
    p.add_argument("--jobs", type=int, default=2, help="processes (default %(default)s)")
    p.add_argument("--seconds", type=float, default=20, help="time for one mutation (default %(default)s)")
    p.add_argument(
        "--memory",
        type=float,
        default=4,
        metavar="GiB",
        help="address space that a child may ask for, 0: no limit (default %(default)s)",
    )
    p.add_argument("--json", metavar="FILE", help="write the findings as JSON")
    p.add_argument("--save", metavar="FILE", help="with --only: write the damaged model instead of running it")
    return p


def sources(args):
    """The models that the arguments select."""
    found = []
    for name, path in find_models(args.models, args.model):
        if not args.largest or path.stat().st_size <= args.largest:
            found.append(Source(name, path.read_bytes()))
    if args.cases:
        from ..cases import kinds

        for kind in kinds():
            if args.model in f"{kind.op}/{kind.dtype}/{kind.variant}":
                case = kind.case(0, 1)
                found.append(Source(case.id, case.model))
    return found


def batches(found, args):
    names = args.only or mutations(args.truncations, args.flips, args.edits)
    for source in found:
        for start in range(0, len(names), BATCH):
            yield Batch(source, args.seed, names[start : start + BATCH])


def load_everything():
    """Import every operator once, before the forks."""
    from tflm_cy.ops import find
    from tflm_cy.ops.index import CUSTOM_MODULES, MODULES

    for names, custom in ((MODULES, False), (CUSTOM_MODULES, True)):
        for name in names:
            find(name, custom)


def track(results, total):
    """Pass results on; a line to stderr now and then, and one for each failure."""
    last = started = time.monotonic()
    for count, finding in enumerate(results, 1):
        yield finding
        if finding.kind.isupper():
            print(f"{finding.kind} {finding.source.name} {finding.name}: {finding.text}", file=sys.stderr, flush=True)
        if time.monotonic() - last > 15:
            last = time.monotonic()
            print(f"{count} of {total} in {last - started:.0f} s", file=sys.stderr, flush=True)


@judge("compat.fuzz")
def main(argv=None):
    args = parser().parse_args(argv)
    found = sources(args)
    if not found:
        print("compat.fuzz: no models", file=sys.stderr)
        return 2
    if args.save:
        Path(args.save).write_bytes(found[0].mutant(args.only[0], args.seed))
        return 0
    load_everything()
    names = args.only or mutations(args.truncations, args.flips, args.edits)
    options = " ".join([f"--models {folder}" for folder in args.models] + ["--cases"] * args.cases)
    findings = Findings(options)
    limits = Limits(args.seconds, int(args.memory * (1 << 30)))
    for finding in track(run_batches(batches(found, args), args.jobs, limits), len(found) * len(names)):
        findings.add(finding)
    if args.json:
        write(args.json, json.dumps(findings.json(), indent=1) + "\n")
    say(findings.text(len(found)))
    return int(bool(findings.failures))


if __name__ == "__main__":
    sys.exit(main())
