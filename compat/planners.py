"""The table of planners in docs/arena.md: the head of each plan, for the models below some folders.

    python -m compat.planners --models DIR --file docs/arena.md

Heads are bytes of tensors and scratch buffers. `TFLM` is the greedy plan that a device makes; `optimal` is the least
without overlaps (marked * where that is not proven); `overlap` lets an output lie over an input that dies, as far as
TFLM's reference kernels read before they write; `overlap + reorder` also looks for a better order of the operators (no
proof). Models of a few operators are left out.
"""

import argparse
import sys
from pathlib import Path

from tflm_cy.micro.survey import Survey

from .coverage import insert
from .models import find_models
from .progress import track
from .verdict import UsageError, judge

MARKERS = ("<!-- planners -->", "<!-- /planners -->")
PLANNERS = ("greedy", "optimal", "overlap")
REORDERED = "overlap + reorder"
FEWEST = 4  # operators: with fewer there is little to plan


def heads(path):
    """{planner: (head, whether proven least)}, None for a model that cannot be planned or has nothing to plan."""
    try:
        survey = Survey(path)
        plans = {name: survey.plan(name) for name in PLANNERS}
        ordered = survey.better_order("overlap")
    except (ValueError, RuntimeError, NotImplementedError, OSError):
        return None
    if not plans["greedy"].high_water_mark or len(survey.graph.subgraphs[0].nodes) < FEWEST:
        return None
    found = {name: (p.high_water_mark, p.high_water_mark <= p.proven_lower_bound) for name, p in plans.items()}
    return {**found, REORDERED: (ordered.plan.high_water_mark, None)}


def table(rows):
    """The Markdown between the markers; rows are (name, heads)."""
    lines = [
        f"| model | TFLM | optimal | overlap | {REORDERED} | saved |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, found in rows:
        cells = [
            f"{head:,}{'*' if proven is False and planner != 'greedy' else ''}"
            for planner, (head, proven) in found.items()
        ]
        saved = 1 - found[REORDERED][0] / found["greedy"][0]
        lines.append(f"| {name} | {' | '.join(cells)} | {saved:.0%} |")
    return "\n".join(lines)


@judge("compat.planners")
def main(argv=None):
    parser = argparse.ArgumentParser(
        "python -m compat.planners", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", action="append", required=True, metavar="DIR", help="models below; repeatable")
    parser.add_argument("--least", type=int, default=4096, help="leave out smaller heads (default %(default)s bytes)")
    parser.add_argument("--file", help="a Markdown file with the two markers; without it the table is printed")
    arguments = parser.parse_args(argv)
    found = find_models(arguments.models)
    if not found:
        raise UsageError(f"no .tflite file below {', '.join(arguments.models)}")
    rows = [(name, heads(path)) for name, path in track(found, len(found))]
    rows = [(name, row) for name, row in rows if row and row["greedy"][0] >= arguments.least]
    text = table(rows)
    if arguments.file:
        file = Path(arguments.file)
        file.write_text(insert(file.read_text(), text, MARKERS))
    else:
        print(text)


if __name__ == "__main__":
    sys.exit(main())
