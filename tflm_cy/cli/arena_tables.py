"""The tables of `python -m tflm_cy arena`: column titles and rows, from a `micro.survey.Survey` and the command's arguments."""

from tflm_cy.micro.device import COMPARED, REFERENCE, resolve
from tflm_cy.report import shortened

REORDERED = ("optimal", "overlap")  # the planners whose heads --reorder compares

_MOST_LIVE_ROWS = 24
_BAR = 32


def _sections(survey, args):
    found = survey.figures(args.target, args.planner)
    rows = [
        ["head", found.head, "tensors and scratch buffers"],
        ["tail", found.tail, "what TFLM keeps about the model"],
    ]
    rows.append(["total", found.total, ""])
    rows.append(["smallest arena", found.smallest_arena, "also has room to make the plan: kTensorArenaSize"])
    if args.arena is not None:
        rows.append(["given", args.arena, "fits" if found.fits else "too small"])
    other = survey.tflite
    rows.append(
        [
            "TensorFlow Lite's",
            other.bytes + other.persistent,
            f"its own arena for these tensors, on {other.alignment} bytes",
        ]
    )
    return [f"{args.target}, {args.planner}", "bytes", resolve(args.target).version], rows


def _kinds(survey, args):
    found = survey.figures(args.target, args.planner)
    rows = [[kind, r.requested, r.used, r.count] for kind, r in found.kinds.items()]
    recorded = [sum(row[i] for row in rows) for i in (1, 2)]
    requested = sum(allocation.size for allocation, _ in found.objects)
    count = sum(1 for allocation, _ in found.objects if allocation.kind is None)
    rows.append(["not recorded (TFLM's objects, options)", requested - recorded[0], found.tail - recorded[1], count])
    rows.append(["tail", requested, found.tail, None])
    return ["kind", "requested", "used", "count"], rows


def planner_rows(survey, args):
    """A row per planner, and per planner in a better order."""
    rows = []
    for name, plan in survey.plans.items():
        head, bound = plan.high_water_mark, plan.proven_lower_bound
        proof = "proven least" if bound == head else f"at least {bound}"
        rows.append(_planner(name, survey, survey, args, name, proof))
    for name in REORDERED if args.reorder else ():
        ordered = survey.better_order(name, args.budget)
        proof = "proven least of any order" if ordered.proven else ""
        better = survey.in_better_order(name, args.budget)
        rows.append(_planner(f"{name} + reorder", survey, better, args, name, proof))
    return ["planner", "head", "saved", "total", "smallest arena", "of its kind"], rows


def _planner(title, given, survey, args, name, proof):
    """A row; what is saved counts from TFLM's own plan of the given order."""
    found = survey.figures(args.target, name)
    saved = given.plan("greedy").high_water_mark - found.head
    share = f"{100 * saved / (saved + found.head):.0f} %" if saved > 0 else ""
    return [title, found.head, share, found.total, found.smallest_arena, proof]


def _live(survey, args):
    """The operators with most bytes alive, in their order; all of them when they are few, else how many are left out."""
    live, peak = survey.live_bytes, survey.peak
    most = live[peak] or 1
    chosen = sorted(range(len(live)), key=lambda time: (-live[time], time))[:_MOST_LIVE_ROWS]
    rows = []
    for time in sorted(chosen):
        node = survey.steps[time]
        outputs = ", ".join(node.tensors[t].name for t in node.outputs) if node else ""
        bar = "#" * round(_BAR * live[time] / most) + ("  <- peak" if time == peak else "")
        op = node.op if node else "graph input" if time == 0 else ""
        rows.append([node.index if node else None, op, live[time], bar, shortened(outputs, 48)])
    others = [live[time] for time in range(len(live)) if time not in chosen]
    if others:
        rows.append([None, f"{len(others)} others", max(others), "or less", ""])
    return ["node", "operator", "bytes alive", "", "writes"], rows


def _operators(survey, args):
    """Beside what the reference kernels ask for, where the target's are others."""
    asked = survey.operators(args.target)
    build = resolve(args.target)
    rows = [[op, u.nodes, u.persistent, u.largest_scratch] for op, u in asked.items()]
    header = ["operator", "nodes", "persistent", "scratch, largest"]
    if build.kernels == REFERENCE:
        return header, rows
    plain = survey.operators(f"{build.device}+{REFERENCE}")
    rows = [[*row, plain[row[0]].persistent, plain[row[0]].largest_scratch] for row in rows]
    return [*header, "reference: persistent", "reference: scratch, largest"], rows


def _targets(survey, args):
    rows = []
    for name in dict.fromkeys([args.target, *COMPARED]):
        found = survey.figures(name, args.planner)
        rows.append([name, found.head, found.tail, found.total, found.smallest_arena, resolve(name).version])
    return ["target", "head", "tail", "total", "smallest arena", "kernels"], rows


TABLES = (
    ("Arena", _sections),
    ("Planners", planner_rows),
    ("Bytes alive over operators", _live),
    ("Tail by kind", _kinds),
    ("Operators: what their kernels ask for", _operators),
    ("Other targets and kernels", _targets),
)
