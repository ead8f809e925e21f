"""Compare two interpreters byte for byte.

python -m compat                                              # generated cases, tflm_cy against TensorFlow, BUILTIN_REF
python -m compat --models DIR --seeds 5                       # the models below DIR, 5 seeds x 3 consecutive invokes
python -m compat --op CONV_2D --dtype int8 --seed 7           # one operator and type, one seed
python -m compat --op GRAPH --mode AUTO --threads 1 2 4       # random graphs of several operators
python -m compat --retype --mode all --seeds 1                # every operator with every type: what only one side runs
python -m compat --options --mode all --seeds 1               # options absent, out of range, too long
python -m compat --odd --mode all --seeds 1 --op ADD          # scales out of the ordinary, sides of size 0
python -m compat --placeholders --mode all --seeds 1          # allocated at sizes of 1, then resized; in branches that are not taken
python -m compat --programs --mode all --seeds 1              # random sequences of calls, models of odd structure
python -m compat --a tensorflow --b tensorflow:BUILTIN_WITHOUT_DEFAULT_DELEGATES --op ADD

Exit code: 0 no difference beyond compat/deviations.py, 1 differences, 2 wrong usage or a side that cannot run.
"""

import argparse
import json
import os
import sys
import time
from itertools import chain

from .cases import count_cases, generated_cases, operators
from .models import find_models, model_cases
from .odd import odd_cases
from .options import optioned_cases
from .placeholders import placeholder_cases
from .programs import program_cases
from .progress import track
from .report import Tally, to_html, to_json, to_text
from .retype import retyped_cases
from .run import Side, SideFailedError, run
from .sides import load_side
from .verdict import judge, say, write

CHANGES = {
    "retype": retyped_cases,
    "options": optioned_cases,
    "odd": odd_cases,
    "placeholders": placeholder_cases,
    "programs": program_cases,
}
MODES = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")


def parser():
    p = argparse.ArgumentParser(
        "python -m compat", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--a", default="tensorflow", help="the side that decides: SIDE[:MODE] (default %(default)s)")
    p.add_argument("--b", default="tflm_cy", help="the side that is judged (default %(default)s)")
    p.add_argument("--python-a", help="the Python that runs side a, when it is installed in another environment")
    p.add_argument("--python-b", help="the same for side b")
    p.add_argument("--mode", action="append", help="op resolver, repeatable, or 'all' (default BUILTIN_REF)")
    p.add_argument("--threads", type=int, nargs="+", default=[1], help="num_threads of both sides, such as 1 2 4")
    p.add_argument("--op", action="append", help="only this operator, repeatable")
    p.add_argument("--dtype", help="only this type label, as in the report")
    p.add_argument("--case", help="only variants (with --models: files) that contain this text")
    p.add_argument("--seed", type=int, help="only this seed")
    p.add_argument("--seeds", type=int, help="seeds per kind of case (default 4 generated, 5 models)")
    p.add_argument("--invokes", type=int, default=3, help="consecutive invokes per seed (default %(default)s)")
    p.add_argument("--models", action="append", metavar="DIR", help="models below this folder instead; repeatable")
    p.add_argument(
        "--retype", action="store_true", help="cases of the generators with every other type (see compat.retype)"
    )
    p.add_argument(
        "--options", action="store_true", help="cases of the generators with odd options (see compat.options)"
    )
    p.add_argument(
        "--odd", action="store_true", help="cases of the generators with odd scales and empty inputs (see compat.odd)"
    )
    p.add_argument(
        "--placeholders",
        action="store_true",
        help="cases of the generators, first at sizes of 1 (see compat.placeholders)",
    )
    p.add_argument(
        "--programs",
        action="store_true",
        help="random sequences of calls over the generators' cases, some of odd structure (see compat.programs)",
    )
    p.add_argument("--quick", action="store_true", help="one seed per kind, for CI: under 3 minutes on 2 cores")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="lanes; default: the number of CPUs")
    p.add_argument("--timeout", type=float, default=120, help="seconds after which a case hangs (default %(default)s)")
    p.add_argument("--no-cache", action="store_true", help="run released sides again instead of reading their outcomes")
    p.add_argument("--json", metavar="FILE", help="write the report as JSON")
    p.add_argument("--html", metavar="FILE", help="write the report as HTML")
    p.add_argument("--list", action="store_true", help="print the operators that have cases, and stop")
    p.add_argument("--verbose", action="store_true", help="list also the cases that a refused without being meant to")
    return p


def _side(text, python):
    name, _, mode = text.partition(":")
    try:
        load_side(name)
    except ImportError as error:
        raise SideFailedError(f"no side {name!r}: {error}") from None
    return Side(name, mode or None, python)


def _side_arguments(args):
    """The options about sides and the kind of cases that a reproducing command needs, too."""
    given = {"--a": args.a, "--b": args.b, "--python-a": args.python_a, "--python-b": args.python_b}
    defaults = ("tensorflow", "tflm_cy", None, None)
    chosen = ((k, v) for (k, v), default in zip(given.items(), defaults, strict=True) if v != default)
    return (*chain.from_iterable(chosen), *(f"--{name}" for name in CHANGES if getattr(args, name)))


def _modes(asked):
    modes = ["BUILTIN_REF"] if not asked else list(MODES) if "all" in asked else asked
    unknown = set(modes) - {*MODES, "MICRO"}
    if unknown:
        raise SideFailedError(f"no mode {sorted(unknown)}; there are {', '.join(MODES)} and all")
    return modes


def _cases(args):
    """(cases, how many) that the arguments select."""
    if args.models:
        seeds = [args.seed] if args.seed is not None else range(1 if args.quick else args.seeds or 5)
        part = args.case or ""
        return model_cases(args.models, seeds, args.invokes, part), len(find_models(args.models, part)) * len(seeds)
    seeds = [args.seed] if args.seed is not None else range(1 if args.quick else args.seeds or 4)
    selection = {"ops": args.op, "dtype": args.dtype, "variant": args.case}
    unknown = set(args.op or ()) - set(operators())
    if unknown:
        raise SideFailedError(f"no cases for {sorted(unknown)}; --list shows the operators")
    change = next((function for name, function in CHANGES.items() if getattr(args, name)), None)
    if change:
        cases = list(change(seeds, args.invokes, **selection))
        return iter(cases), len(cases)
    return generated_cases(seeds, args.invokes, **selection), count_cases(seeds, **selection)


@judge("compat")
def main(argv=None):
    args = parser().parse_args(argv)
    if args.list:
        print("\n".join(operators()))
        return 0
    try:
        a, b = _side(args.a, args.python_a), _side(args.b, args.python_b)
        modes = _modes(args.mode)
        if min(args.threads) < 1:
            raise SideFailedError(f"--threads {min(args.threads)}: at least 1 is needed")
        cases, count = _cases(args)
        if not count:
            raise SideFailedError("nothing to compare: no case fits")
        labels = [side.label(modes[0]) if len(modes) == 1 else side.name for side in (a, b)]
        tally = Tally(tuple(labels), _side_arguments(args))
        started = time.monotonic()
        results = run(cases, a, b, modes, args.jobs, args.timeout, not args.no_cache, args.threads)
        try:
            for result in track(results, count * len(modes) * len(args.threads), tally):
                tally.add(result)
        except KeyboardInterrupt:
            print("compat: stopped; this is what was compared", file=sys.stderr)
        tally.seconds = time.monotonic() - started
    except SideFailedError as error:
        print(f"compat: {error}", file=sys.stderr)
        return 2
    if args.json:
        write(args.json, json.dumps(to_json(tally), indent=1) + "\n")
    if args.html:
        write(args.html, to_html(tally))
    say(to_text(tally, args.verbose))
    return int(tally.failed())


if __name__ == "__main__":
    sys.exit(main())
