"""TFLM's figures without running TFLM, and exported plans, against the tflite_micro package.

python -m compat.arena                                   # single operators, random graphs, with and without offline plans
python -m compat.arena --models DIR                      # and the models below DIR
python -m compat.arena --models DIR --export overlap     # plans written into copies: same head, same bytes of outputs
python -m compat.arena --models DIR --export overlap --reorder     # the same in the best order of operators that is found
python -m compat.arena --models DIR --export overlap --shorter 16  # distances cut: the judge must refuse what overlaps
python -m compat.arena --quick                           # for CI: a part of the operators, a few graphs, models that ship

Every line of print_allocations() must be equal: total, head, tail, and used, requested and count of each kind; what the
package refuses is counted and left out. Then the same operators, and with them all that TFLM has not, as they are, with
other types and with odd options: is the model allocated, does it run, which node is blamed, what is the smallest arena.
Exit code: 0 all equal, 1 a difference, 2 wrong usage.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import tflm_cy.demo
from tflm_cy.memory.check import check
from tflm_cy.micro.figures import figures
from tflm_cy.micro.planners import planners
from tflm_cy.micro.requests import kernel_of
from tflm_cy.micro.survey import Survey
from tflm_cy.schema.model import Model

from ..cases import generated_cases, operators
from ..models import find_models
from ..options import optioned_cases
from ..retype import retyped_cases
from ..verdict import UsageError, judge
from .checks import check_smallest, check_verdicts
from .graphs import random_graph
from .runtime import allocations, outputs

_ARENA = 60_000_000  # for the models; the rest gets small ones whose ends are not aligned


@judge("compat.arena")
def main(argv=None):
    p = argparse.ArgumentParser(
        "python -m compat.arena", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--models", action="append", default=[], metavar="DIR", help="models below this folder; repeatable")
    p.add_argument("--seeds", type=int, default=1, help="of each kind of single operator (default 1)")
    p.add_argument("--graphs", type=int, default=200, help="random graphs without and with a plan (default 200)")
    p.add_argument("--export", choices=planners(), metavar="PLANNER", help="check exported plans of the models instead")
    p.add_argument("--runs", type=int, default=20, help="random inputs per exported plan (default 20)")
    p.add_argument("--reorder", action="store_true", help="--export: in the best order of operators that is found")
    p.add_argument(
        "--shorter", type=int, metavar="BYTES", help="--export: the judge must refuse plans with distances cut"
    )
    p.add_argument("--quick", action="store_true", help="a short look, for CI")
    args = p.parse_args(argv)
    if args.quick:
        args.models, args.graphs = [*args.models, str(Path(tflm_cy.demo.__file__).parent)], 40
    files = [(str(path), Path(path).read_bytes()) for _, path in find_models(args.models)]
    if not files and (args.models or args.shorter or args.export):
        raise UsageError(f"no .tflite file below {', '.join(args.models) or '--models'}")
    if args.shorter:
        return _check_shorter(files, args.export or "overlap", args.shorter)
    if args.export:
        return _check_exports(files, args.export, args.runs, args.reorder)
    rng = np.random.default_rng(1)
    wrong = 0
    if files:
        wrong += _check("models", [(name, content, _ARENA) for name, content in files])
    wrong += _check("single operators", list(_single_operators(args.seeds))[:: 4 if args.quick else 1])
    for title, shares in (("random graphs", [None]), ("random graphs with offline plans", [0.2, 0.6, 1.0])):
        models = [random_graph(rng, shares[k % len(shares)]) for k in range(args.graphs)]
        wrong += _check(title, [(f"{title} {k}", content, 100_000 + k) for k, content in enumerate(models)])
        wrong += check_smallest(title, [(f"{title} {k}", content) for k, content in enumerate(models)])
    if files:
        wrong += check_verdicts("models", [(name, content, []) for name, content in files])
        wrong += check_smallest("models", files)
    return (wrong + _check_operators(args.seeds, 8 if args.quick else 1)) > 0


def _check_operators(seeds, step):
    """Verdicts and smallest arenas of generated cases, every `step`th."""
    wrong = 0
    kinds = (
        ("as they are", generated_cases),
        ("with other types", retyped_cases),
        ("with odd options", optioned_cases),
    )
    for title, cases in kinds:
        found = list(cases(range(seeds), 1))[::step]
        models = [(case.id, _content(case), case.feeds[0] if case.feeds else []) for case in found]
        wrong += check_verdicts(f"operators {title}", models)
        wrong += check_smallest(f"operators {title}", [(name, content) for name, content, _ in models])
    return wrong


def _content(case):
    return case.model if isinstance(case.model, bytes) else Path(case.model).read_bytes()


def _single_operators(seeds):
    """(name, content, arena size) of generated cases of the operators that TFLM has."""
    known = []
    for op in operators():
        try:
            kernel_of(op)
        except ValueError:
            continue
        known.append(op)
    for k, case in enumerate(generated_cases(range(seeds), ops=known)):
        yield case.id, case.model, 300_000 + k


def _check(title, models):
    """Print and return the number of differences."""
    said = allocations([(content, size) for _, content, size in models])
    wrong = 0
    for (name, content, size), theirs in zip(models, said, strict=True):
        if theirs is None:
            continue
        ours = _ours(content, size)
        if ours != theirs:
            wrong += 1
            print(f"  {name}\n    tflite_micro:\n{theirs}\n    tflm_cy:\n{ours}")
    ran = sum(text is not None for text in said)
    print(
        f"{title}: {ran - wrong} of {ran} equal in every line ({len(models) - ran} refused by tflite_micro)", flush=True
    )
    return wrong


def _ours(content, size):
    try:
        return figures(Model.from_buffer(content), "host64", size).text()
    except ValueError as error:
        return f"refused: {error}"


def _check_exports(files, planner, runs, reorder=False):
    """Whether exported plans have the head that they promise and leave the outputs as they are."""
    wrong = moved = 0
    expected = outputs([(content, _ARENA) for _, content in files], runs)
    for (name, _), wanted in zip(files, expected, strict=True):
        if wanted is None:
            continue
        given = Survey(name)
        try:
            survey = given.in_better_order(planner) if reorder else given
            moved += survey is not given
            copy = survey.export(planner)
        except ValueError as error:
            print(f"  {name}: not exported: {error}")
            wrong += 1
            continue
        [text], [got] = allocations([(copy, _ARENA)]), outputs([(copy, _ARENA)], runs)
        before, after = given.plan("greedy").high_water_mark, survey.plan(planner).high_water_mark
        equal = got == wanted and f"allocation head {after} bytes" in (text or "")
        wrong += not equal
        if before != after or not equal:
            print(f"  {'' if equal else 'DIFFERS '}{Path(name).name}: head {before} -> {after}", flush=True)
    ran = sum(result is not None for result in expected)
    orders = f", {moved} in another order" if reorder else ""
    print(
        f"{planner}: {ran - wrong} of {ran} exported plans have their head and the same outputs over {runs} inputs{orders}"
    )
    return wrong > 0


def _check_shorter(files, planner, cut):
    """Whether the judge refuses each plan that makes use of an overlap when all distances are `cut` bytes longer."""
    wrong = overlapping = 0
    for name, _ in files:
        try:
            survey = Survey(name)
            plan, rows = survey.plan(planner), survey.relaxed(planner)
        except (ValueError, OSError):
            continue
        used = [row for row in rows if _used(survey.demand, plan, row)]
        if not used:
            continue
        overlapping += 1
        longer = [(o, i, d + cut if (o, i, d) in used else d) for o, i, d in rows]
        try:
            check(survey.demand.problem(longer), plan)
        except ValueError:
            continue
        wrong += 1
        print(f"  {Path(name).name}: not refused")
    print(f"{planner}: {overlapping - wrong} of {overlapping} plans that overlap are refused with {cut} bytes less")
    return wrong > 0


def _used(demand, plan, row):
    """Whether a plan lays an output over an input exactly as far as a row permits."""
    output, source, d = row
    between = plan.offsets[source] - plan.offsets[output]
    return between == d and between < demand.buffers[output].size


if __name__ == "__main__":
    sys.exit(main())
