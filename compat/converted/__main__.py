"""Programs of users, converted on the spot and compared byte for byte.

    python -m compat.converted --into DIR --seeds 8
    python -m compat.converted --into DIR --family rotary --seed 7012 --mode AUTO
    python -m compat.converted --into DIR --programs    # random calls, signatures among them, instead of invokes (see `compat.programs`)

DIR keeps the converted models (a file each), so that a second call converts nothing. What TensorFlow does not convert is counted, with its
reason under --verbose. Exit code: 0 no difference, 1 differences, 2 wrong usage or nothing converted.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from ..case import MODES
from ..programs import PLAIN, programmed
from ..progress import track
from ..report import Tally, to_text
from ..run import REFUSED, Side, run
from ..verdict import UsageError, judge, say
from . import families
from .conversion import convert_all, file_name, load


def parser():
    p = argparse.ArgumentParser(
        "python -m compat.converted", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--into", type=Path, required=True, metavar="DIR", help="folder of the converted programs")
    p.add_argument("--family", action="append", help="only this family, repeatable")
    p.add_argument("--seeds", type=int, default=4, help="programs of each family (%(default)s)")
    p.add_argument("--first", type=int, default=0, help="the first seed (%(default)s)")
    p.add_argument("--seed", type=int, help="only this seed")
    p.add_argument("--mode", action="append", choices=MODES, help="repeatable; default: all")
    p.add_argument("--programs", action="store_true", help="random sequences of calls (see compat.programs)")
    p.add_argument("--threads", type=int, nargs="+", default=[1], help="num_threads of both sides")
    p.add_argument("--jobs", type=int, default=1, help="lanes (%(default)s)")
    p.add_argument("--verbose", action="store_true", help="list what is not converted, and every difference")
    return p


def _names(args):
    unknown = set(args.family or ()) - set(families())
    if unknown:
        raise UsageError(f"no family {sorted(unknown)}; there are {', '.join(families())}")
    seeds = [args.seed] if args.seed is not None else range(args.first, args.first + args.seeds)
    return [file_name(family, seed) for family in args.family or families() for seed in seeds]


@judge("compat.converted")
def main(argv=None):
    args = parser().parse_args(argv)
    names, modes = _names(args), args.mode or MODES
    convert_all(args.into, names)
    cases, without = load(args.into, names)
    if not cases:
        raise UsageError("TensorFlow converts none of these programs")
    if args.programs:
        cases = [programmed(case, np.random.default_rng([case.seed, 1]), PLAIN) for case in cases]
    tally = Tally(("tensorflow", "tflm_cy"))
    tally.command = ("python", "-m", "compat.converted", "--into", str(args.into))
    started = time.monotonic()
    results = run(cases, Side("tensorflow"), Side("tflm_cy"), modes, args.jobs, threads=args.threads)
    for result in track(results, len(cases) * len(modes) * len(args.threads), tally):
        tally.add(result)
        if args.verbose and result.verdict == REFUSED:
            say(f"REFUSED {result.case.id} {result.mode}: {result.a.summary()}")
    tally.seconds = time.monotonic() - started
    if args.verbose:
        for name, reason in without.items():
            say(f"NOT CONVERTED {name}: {reason}")
    say(to_text(tally, args.verbose))
    say(f"{len(cases)} programs of {len(names)}; {len(without)} are not converted by TensorFlow")
    return tally.failed()


if __name__ == "__main__":
    sys.exit(main())
