"""What a search found, as rows and as plain data.

title, rows = stage_rows(found)
compared = figure_rows(found, content)
"""

from tflm_cy.micro.figures import figures

GREEDY, OVERLAP, PATCHES = "as it is, TFLM's plan", "as it is, overlap", "patches"


def stage_rows(found):
    """(titles, rows): one row per stage."""
    best = found.best
    nodes = found.graph.subgraphs[0].nodes
    rows = []
    for stage in best.stages:
        shape = nodes[stage.last].output(0).shape
        rows.append(
            [
                f"{stage.first} to {stage.last}" if stage.last > stage.first else f"{stage.first}",
                f"{nodes[stage.first].op} to {nodes[stage.last].op}"
                if stage.last > stage.first
                else nodes[stage.first].op,
                f"{stage.rows} x {stage.columns}",
                "x".join(map(str, shape)),
            ]
        )
    return ["operators", "", "tiles", "of the output"], rows


def figure_rows(found, greedy):
    """(titles, rows): head, tail and their sum of the model as it is, with TFLM's plan (`greedy`) and with the best one,
    and of the patches."""
    rows = []
    tail = found.untouched.tail
    for title, head, its_tail in (
        (GREEDY, greedy.high_water_mark, tail),
        (OVERLAP, found.untouched.head, tail),
        (PATCHES, found.best.head, found.best.tail),
    ):
        rows.append([title, head, its_tail, head + its_tail])
    return [found.wanted.target, "head", "tail", "total"], rows


def lines(found, growth):
    """Sentences about a search; `growth`: bytes that the file grows by."""
    best, wanted = found.best, found.wanted
    what = "head and tail" if wanted.optimize == "total" else "head"
    if not best.stages:
        return [
            f"No stages were found that need less ({what}, at most {wanted.extra_macs:g} % more multiplications); "
            f"{found.planned} rewritten models were planned."
        ]
    proof = (
        "no plan of these operators has a lower head"
        if best.head == best.bound
        else f"no plan of these operators has a head below {best.bound}"
    )
    kernels = "for any kernels" if wanted.strict else "for TFLM's reference kernels"
    return [
        f"{best.operators} operators instead of {found.untouched.operators}, {found.extra_macs:.1f} % more "
        f"multiplications, {growth:+} bytes of the file; the plan is {kernels}.",
        f"{found.planned} rewritten models were planned; {proof}."
        + (" The time ended before the work; another run may find another plan." if found.late else ""),
    ]


def as_dict(found, greedy, growth):
    """Everything as dicts, lists, numbers and texts."""
    best = found.best
    return {
        "stages": [stage._asdict() for stage in best.stages],
        "target": found.wanted.target,
        "optimize": found.wanted.optimize,
        "strict": found.wanted.strict,
        "head": best.head,
        "tail": best.tail,
        "total": best.total,
        "smallest_arena": figures(best.demand, plan=best.plan).smallest_arena,
        "lower_bound": best.bound,
        "proven": best.bound == best.head,
        "operators": best.operators,
        "extra_macs_percent": found.extra_macs,
        "file_growth": growth,
        "planned": found.planned,
        "before": {
            "greedy_head": greedy.high_water_mark,
            "overlap_head": found.untouched.head,
            "tail": found.untouched.tail,
            "operators": found.untouched.operators,
        },
    }
