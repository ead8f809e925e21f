"""TFLM's figures without running TFLM, and exported plans, against the tflite_micro package.

python -m compat.arena                                   # single operators, random graphs, with and without offline plans
python -m compat.arena --models DIR                      # and the models below DIR
python -m compat.arena --models DIR --export overlap     # plans written into copies: same head, same bytes of outputs

Every line of print_allocations() must be equal: total, head, tail, and used, requested and count of each kind. What the
package refuses is counted and left out. Exit code: 0 all equal, 1 a difference.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from tflm_cy.micro.figures import figures
from tflm_cy.micro.planners import planners
from tflm_cy.micro.requests import kernel_of
from tflm_cy.micro.survey import Survey
from tflm_cy.schema.model import Model

from ..cases import generated_cases, operators
from ..models import find_models
from .graphs import random_graph
from .runtime import allocations, outputs

_ARENA = 60_000_000  # for the models; the rest gets small ones whose ends are not aligned


def main():
    p = argparse.ArgumentParser(
        "python -m compat.arena", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--models", action="append", default=[], metavar="DIR", help="models below this folder; repeatable")
    p.add_argument("--seeds", type=int, default=1, help="of each kind of single operator (default 1)")
    p.add_argument("--graphs", type=int, default=200, help="random graphs without and with a plan (default 200)")
    p.add_argument("--export", choices=planners(), metavar="PLANNER", help="check exported plans of the models instead")
    p.add_argument("--runs", type=int, default=20, help="random inputs per exported plan (default 20)")
    args = p.parse_args()
    files = [(str(path), Path(path).read_bytes()) for _, path in find_models(args.models)]
    if args.export:
        return _check_exports(files, args.export, args.runs)
    rng = np.random.default_rng(1)
    wrong = 0
    if files:
        wrong += _check("models", [(name, content, _ARENA) for name, content in files])
    wrong += _check("single operators", list(_single_operators(args.seeds)))
    for title, shares in (("random graphs", [None]), ("random graphs with offline plans", [0.2, 0.6, 1.0])):
        models = [random_graph(rng, shares[k % len(shares)]) for k in range(args.graphs)]
        wrong += _check(title, [(f"{title} {k}", content, 100_000 + k) for k, content in enumerate(models)])
    return wrong > 0


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


def _check_exports(files, planner, runs):
    """Whether exported plans have the head that they promise and leave the outputs as they are."""
    wrong = 0
    expected = outputs([(content, _ARENA) for _, content in files], runs)
    for (name, _), wanted in zip(files, expected, strict=True):
        if wanted is None:
            continue
        survey = Survey(name)
        try:
            copy = survey.export(planner)
        except ValueError as error:
            print(f"  {name}: not exported: {error}")
            wrong += 1
            continue
        [text], [got] = allocations([(copy, _ARENA)]), outputs([(copy, _ARENA)], runs)
        before, after = survey.plan("greedy").high_water_mark, survey.plan(planner).high_water_mark
        equal = got == wanted and f"allocation head {after} bytes" in (text or "")
        wrong += not equal
        if before != after or not equal:
            print(f"  {'' if equal else 'DIFFERS '}{Path(name).name}: head {before} -> {after}", flush=True)
    ran = sum(result is not None for result in expected)
    print(f"{planner}: {ran - wrong} of {ran} exported plans have their head and the same outputs over {runs} inputs")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
