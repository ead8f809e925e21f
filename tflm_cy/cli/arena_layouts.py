"""`python -m tflm_cy arena` with --shared, --split, or --fast and --slow: other arenas than one for one model.

Keys of --json: target, and one of
shared: models ([{model, head, tail, alone}]), head, tail, smallest_arena, sum_alone;
split: persistent, non_persistent, head;
memories: fast, slow, moved, bound, first_fit, all_slow, items ([{name, kind, bytes, moved, fast, offset}]), and with
--export-plan followed: moved, persistent, non_persistent, firmware.
"""

import re
from pathlib import PurePath

from tflm_cy.cli.errors import UserError, refused
from tflm_cy.cli.model import ModelFile
from tflm_cy.cli.output import as_json, check_outputs, deliver
from tflm_cy.cli.plan_picture import block_of, step_names
from tflm_cy.micro.arena_layouts import shared, split
from tflm_cy.micro.resolver import firmware_shared, firmware_split
from tflm_cy.micro.survey import Survey
from tflm_cy.micro.two_memories import divide
from tflm_cy.micro.two_memory_plan import follow
from tflm_cy.report import Block, arena_picture, byte_size, shortened, text_table
from tflm_cy.report.arena_picture import WEIGHTS

_SCALE = {"K": 1 << 10, "M": 1 << 20}
_NAME = 56
_ROWS = 40
_NOT_WRITTEN = ("svg", "html", "csv", "export_plan", "against", "reorder", "keep_inputs", "patches")
_OF_MEMORIES = ("svg", "export_plan")  # that --fast writes


def add_layout_arguments(parser):
    parser.add_argument("more", nargs="*", metavar="MODEL", help="with --shared: the models after the first")
    parser.add_argument(
        "--shared", action="store_true", help="one arena for several models, which run one after the other"
    )
    parser.add_argument(
        "--split", action="store_true", help="one arena for what stays, and one for tensors and scratch"
    )
    parser.add_argument("--fast", type=size_of, metavar="N", help="bytes of fast memory: what to keep there")
    parser.add_argument("--slow", type=size_of, metavar="N", help="bytes of slow memory, with --fast")


def size_of(text):
    """Bytes: 65536, 64K, 1M.

    >>> size_of("64K"), size_of("2m"), size_of("100")
    (65536, 2097152, 100)
    """
    scale = _SCALE.get(text[-1:].upper(), 1)
    number = int(text if scale == 1 else text[:-1])
    if number < 0:
        raise ValueError(f"{text} is negative")
    return number * scale


def wanted(args):
    """Whether the arguments ask for one of these layouts.

    Raises
    ------
    UserError
        They ask for several, or for half of one.
    """
    memories = args.fast is not None or args.slow is not None
    if args.shared + args.split + memories > 1:
        raise UserError("--shared, --split and --fast are different layouts; give one of them")
    if args.more and not args.shared:
        raise UserError(f"{args.more[0]}: several models want --shared")
    if memories and (args.fast is None or args.slow is None):
        raise UserError("--fast and --slow go together")
    asked = args.shared or args.split or memories
    possible = _OF_MEMORIES if memories else ()
    unused = [name for name in _NOT_WRITTEN if asked and getattr(args, name) and name not in possible]
    if unused:
        raise UserError(
            f"--{unused[0].replace('_', '-')} belongs to one arena for one model; with --shared and --split there is --json, "
            "with --fast --json, --svg and --export-plan"
        )
    return asked


def layouts(args):
    """Print the layout; 1 when TFLM refuses a model, or --arena is too small."""
    check_outputs([args.json, args.svg, args.export_plan], args.model)
    files = [ModelFile(path) for path in [args.model, *args.more]]
    surveys = []
    for file in files:
        with refused(file.name):
            surveys.append(Survey(file.source, targets=(args.target,)))
    with refused(files[0].name):
        make = _shared if args.shared else _split if args.split else _memories
        text, document, needed, *written = make(args, files, surveys)
    refusing = [
        f"{f.name}: TFLM refuses it: {s.objections[0]}" for f, s in zip(files, surveys, strict=True) if s.objections
    ]
    document = {"target": args.target, **document, "refused": refusing}
    deliver("\n".join([text, *refusing]), [*written, (args.json, as_json(document) if args.json else None)])
    return int(bool(refusing) or (args.arena is not None and needed > args.arena))


def _shared(args, files, surveys):
    found = shared([survey.demand for survey in surveys])
    rows, records = [], []
    for file, survey, tail, alone in zip(files, surveys, found.tails, found.alone, strict=True):
        head = survey.plan("greedy").high_water_mark
        rows.append([file.title, head, tail, alone])
        records.append({"model": file.title, "head": head, "tail": tail, "alone": alone})
    rows.append(["in one arena", found.head, found.tail, found.smallest_arena])
    lines = firmware_shared([s.graph for s in surveys], _names(files), found.smallest_arena)
    text = (
        f"{len(files)} models in one arena ({args.target}): {found.smallest_arena} bytes instead of {sum(found.alone)}.\n"
        "They run one after the other: set a model's inputs before each of its invokes, and read its outputs before the "
        f"next model runs.\n\n{text_table(['model', 'head', 'tail', 'smallest arena'], rows)}\n\n"
        f"For a firmware\n{lines}"
    )
    document = {
        "models": records,
        "head": found.head,
        "tail": found.tail,
        "smallest_arena": found.smallest_arena,
        "sum_alone": sum(found.alone),
        "firmware": lines,
    }
    return text, {"shared": document}, found.smallest_arena


def _names(files):
    """A C++ name for each model."""
    names = []
    for file in files:
        name = re.sub(r"\W", "_", PurePath(file.title).stem, flags=re.ASCII).lower() or "model"
        name = f"model_{name}"
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


def _split(args, files, surveys):
    [survey] = surveys
    found = split(survey.demand)
    lines = firmware_split(survey.graph, found.persistent, found.non_persistent)
    rows = [
        ["persistent", found.persistent],
        ["non-persistent", found.non_persistent],
        ["of which the head", found.head],
    ]
    text = f"{files[0].title}: two arenas ({args.target})\n\n{text_table(['arena', 'bytes'], rows)}\n\nFor a firmware\n{lines}"
    document = {
        "persistent": found.persistent,
        "non_persistent": found.non_persistent,
        "head": found.head,
        "firmware": lines,
    }
    return text, {"split": document}, found.persistent + found.non_persistent


def _memories(args, files, surveys):
    [survey] = surveys
    found = divide(survey.demand, args.fast, args.slow, weights=not args.export_plan)
    records = _records(found)
    rows = [
        [shortened(r["name"], _NAME), r["kind"], r["bytes"], r["moved"], "fast" if r["fast"] else "slow", r["offset"]]
        for r in sorted(records, key=lambda r: (-r["moved"], r["name"]))[:_ROWS]
    ]
    if len(records) > len(rows):
        rows.append([f"{len(records) - len(rows)} others", "", None, None, "", None])
    everything = sum(item.moved for item in found.items)
    proof = "proven least" if found.proven else f"at least {found.bound}"
    followed = follow(survey.model, survey.demand, found, args.fast) if args.export_plan else None
    document = {
        "fast": args.fast,
        "slow": args.slow,
        "moved": found.moved,
        "bound": found.bound,
        "first_fit": found.first_fit,
        "all_slow": everything,
        "fast_bytes": found.fast_plan.high_water_mark,
        "slow_bytes": found.slow_plan.high_water_mark,
        "items": records,
        "tflm": list(_followed(survey, found, followed, args)),
    }
    text = (
        f"{files[0].title}: {found.moved} bytes per invoke to and from slow memory ({proof}), instead of {everything} with "
        f"all of it there; the largest first would move {found.first_fit}.\n"
        f"{document['fast_bytes']} bytes of fast memory and {document['slow_bytes']} of slow memory are used.\n\n"
        f"{text_table(['what', 'kind', 'bytes', 'moved per invoke', 'memory', 'offset'], rows)}\n\n"
        + "\n".join(document["tflm"])
    )
    written = []
    if followed:
        lines = firmware_split(survey.graph, followed.persistent, followed.non_persistent, args.fast)
        document["followed"] = {
            "moved": followed.moved,
            "persistent": followed.persistent,
            "non_persistent": followed.non_persistent,
            "firmware": lines,
        }
        text += f"\n\nFor a firmware\n{lines}"
        written.append((args.export_plan, followed.content))
    if args.svg:
        written.append((args.svg, _picture(files[0].title, survey, found, args)))
    return text, {"memories": document}, found.fast_plan.high_water_mark, *written


def _records(found):
    offsets = {True: iter(found.fast_plan.offsets), False: iter(found.slow_plan.offsets)}
    return [
        {
            "name": item.label,
            "kind": item.kind,
            "bytes": item.size,
            "moved": item.moved,
            "fast": inside,
            "offset": next(offsets[inside]),
        }
        for item, inside in zip(found.items, found.fast, strict=True)
    ]


def _picture(title, survey, found, args):
    """Both memories in one plan: the slow one lies above the fast one."""
    blocks = []
    for n, (record, item) in enumerate(zip(_records(found), found.items, strict=True)):
        where, offset = ("fast", 0) if record["fast"] else ("slow", args.fast)
        said = f"{item.size:,} bytes of {where} memory at {record['offset']:,}, {item.moved:,} bytes moved per invoke"
        offset += record["offset"]
        if item.kind == "weights":
            labels = (item.label, shortened(item.label, 24), "weights")
            blocks.append(Block(labels, item.first, item.last, offset, item.size, WEIGHTS, f"{item.label}\n{said}"))
        else:
            block = block_of(survey, survey.demand.buffers[n], offset)
            blocks.append(block._replace(first=item.first, last=item.last, detail=f"{block.detail}\n{said}"))
    subtitle = (
        f"{found.moved:,} bytes per invoke to and from slow memory; {found.fast_plan.high_water_mark:,} of {args.fast:,} bytes of "
        f"fast memory, {found.slow_plan.high_water_mark:,} of slow memory"
    )
    return arena_picture(
        title,
        step_names(survey),
        blocks,
        0,
        subtitle,
        (args.fast, f"slow memory, above {byte_size(args.fast)} of fast"),
    )


def _followed(survey, found, followed, args):
    """How far TFLM can follow."""
    tensors = [inside for item, inside in zip(found.items, found.fast, strict=True) if item.kind != "weights"]
    weights = [inside for item, inside in zip(found.items, found.fast, strict=True) if item.kind == "weights"]
    if followed:
        yield (
            f"{args.export_plan} carries the plan for one range of addresses, in which slow memory begins {args.fast} bytes behind "
            f"the arena's start. TFLM puts tensors where it says and scratch buffers where it likes: {followed.moved} bytes per "
            "invoke then. Weights stay where the model's file lies, and are not counted."
        )
    elif all(tensors):
        yield "TFLM follows this for tensors and scratch buffers: --split, with the non-persistent arena in fast memory."
    else:
        yield (
            "TFLM has one arena for tensors and scratch buffers. It follows this only where slow memory begins where fast "
            "memory ends: --export-plan writes the offsets for that, for tensors alone. Else use --split, and keep the arena "
            "that moves more in fast memory."
        )
    if weights and any(weights) and not all(weights):
        yield "TFLM reads weights where the model's file lies: some of them in fast memory needs a kernel of your own."
    split_sizes = split(survey.demand)
    yield f"The tail, {split_sizes.persistent} bytes, is not counted here: it is read while the model runs, and is small."
