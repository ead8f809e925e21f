"""`python -m tflm_cy arena MODEL`: what the model needs under TensorFlow Lite Micro, and why; nothing is run.

Keys of --json: model, patches (with --patches; the rest is then about the copy), and those of `tflm_cy.micro.survey.Survey.as_json`:
planners, lower_bound, reorder, peak, tflite (TensorFlow Lite's own arena), tflm (by target), operators (what their kernels ask
for, by target), refusals, failures, offline_plan,
live_bytes, nodes, buffers. Targets with kernels in their names (cortex-m4+cmsis-nn) say under `tflm` what RecordingMicroInterpreter prints,
and `plain`: the total without recording.
"""

import argparse

from tflm_cy.cli import patches, targets
from tflm_cy.cli.arena_against import against_text, changes
from tflm_cy.cli.arena_layouts import add_layout_arguments, layouts, wanted
from tflm_cy.cli.arena_tables import TABLES, planner_rows
from tflm_cy.cli.errors import refused
from tflm_cy.cli.model import ModelFile, add_model_argument
from tflm_cy.cli.output import as_json, check_outputs, complain, deliver, exit_codes
from tflm_cy.cli.plan_picture import picture
from tflm_cy.cli.verdict import exit_code, remarks
from tflm_cy.micro.device import FIRMWARE
from tflm_cy.micro.survey import STATES, TARGETS, Survey, planners
from tflm_cy.report import arena_page, byte_size, printable, text_table

_HELP = "show the memory that TensorFlow Lite Micro needs, plan it better, write the plan into a copy"
_DESCRIPTION = """Show the memory that a model needs under TensorFlow Lite Micro (TFLM), without running it.

The arena has a head (tensors and scratch buffers, which share memory as a planner decides) and a tail (what TFLM keeps
about the model). Figures are TFLM's own to the byte: host64 is the tflite_micro package for Python, the others are
boards with the kernels that --kernels names.

"""
_PLANNERS_TEXT = """

Planners: greedy is TFLM's; optimal finds the least head; overlap also lays outputs over inputs that die, as far as
TFLM's reference kernels permit; what a library computes is kept apart. With --reorder the operators' order is searched
too. A plan reaches the device with --export-plan: the copy of the model carries it, and the order; TFLM obeys, other
runtimes ignore the plan."""


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "arena",
        help=_HELP,
        description=_DESCRIPTION + targets.TEXT + _PLANNERS_TEXT + patches.TEXT,
        epilog=exit_codes("TFLM refuses the model, fails when it runs, or --arena is too small"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_argument(parser)
    add_layout_arguments(parser)
    names = planners()
    parser.add_argument("--planner", choices=names, default="greedy", help="whose plan is shown (default greedy)")
    targets.add_target_arguments(parser)
    parser.add_argument(
        "--keep-inputs", action="store_true", help="plan so that an invoke leaves its inputs as they are"
    )
    parser.add_argument(
        "--reorder", action="store_true", help="also look for an order of the operators in which the planner needs less"
    )
    parser.add_argument(
        "--budget",
        type=int,
        default=STATES,
        metavar="N",
        help="sets of executed operators that --reorder looks at (default %(default)s)",
    )
    parser.add_argument("--arena", type=int, metavar="N", help="whether the model fits in N bytes")
    parser.add_argument("--against", metavar="OLD.tflite", help="a table of what changed since another model")
    parser.add_argument("--svg", metavar="F.svg", help="write a picture of the plan")
    parser.add_argument("--html", metavar="F.html", help="write a page with the picture and all tables")
    parser.add_argument("--json", metavar="F.json", help="write all numbers; - prints them instead of the text")
    parser.add_argument(
        "--csv", metavar="F.csv", help="write the planning problem and the plan, in minimalloc's format"
    )
    parser.add_argument("--export-plan", metavar="OUT.tflite", help="write a copy of the model that carries the plan")
    patches.add_patches_arguments(parser)
    parser.set_defaults(command=arena)


def arena(args):
    """Write what was asked for, then print the sections."""
    if wanted(args):
        args.target = targets.chosen_target(args, FIRMWARE)
        return layouts(args)
    check_outputs([args.svg, args.html, args.json, args.csv, args.export_plan], args.model)
    file = ModelFile(args.model)
    args.target = targets.chosen_target(args)
    with refused(file.name):
        names = [args.target, *(t for t in TARGETS if t != args.target)]
        given = Survey(file.source, args.arena, names, args.keep_inputs)
        survey = given.in_better_order(args.planner, args.budget) if args.reorder else given
        name = file.title
        patched = patches.Patches(args, survey) if args.patches else None
        if patched:
            survey, args.planner = patched.survey, "greedy"  # TFLM's own planner obeys the plan that the copy carries
        tables = [(title, table(given if table is planner_rows else survey, args)) for title, table in TABLES]
        if patched:
            tables = [*patched.tables, *(table for table in tables if table[0] != "Planners")]
        files = list(_files(args, given, survey, name, tables, patched))
    lines = [f"{printable(name)}: {_counted(survey)}\n"]
    lines += [f"{text}\n" for text in [*remarks(survey), *_searched(given, args, patched)]]
    if args.against:
        with refused(args.against):
            old = Survey(ModelFile(args.against).source, args.arena, names, args.keep_inputs)
        lines.append(against_text(survey, old, args.target, printable(args.against)) + "\n")
    lines += [f"{title}\n{text_table(header, rows)}\n" for title, (header, rows) in tables]
    firmware = survey.firmware(_firmware_target(args), args.planner)
    lines.append(f"For a firmware ({_firmware_target(args)}, {args.planner})\n{firmware}")
    if args.export_plan:
        order = " and another order of its operators" if survey is not given else ""
        size = byte_size(len(dict(files)[args.export_plan]))
        plan = "a patch-wise" if patched else f"the {args.planner}"
        lines.append(f"\n{args.export_plan}: {size}, carries {plan} plan{'' if patched else order}")
    deliver("\n".join(lines), files)
    found = survey.figures(args.target, args.planner)
    if args.arena is not None and not found.fits:
        complain(
            f"tflm_cy: {file.name}: an arena of {args.arena} bytes is too small for {args.target}; "
            f"the smallest is {found.smallest_arena}"
        )
    return exit_code(survey, found, args.arena)


def _counted(survey):
    main = survey.graph.subgraphs[0]
    size = byte_size(survey.graph.file_bytes)
    return f"{size}, {len(main.nodes)} operators, {len(survey.demand.buffers)} planned buffers"


def _reordering(given, args):
    """What --reorder came to."""
    if not args.reorder:
        return
    ordered, head = given.better_order(args.planner, args.budget), given.plan(args.planner).high_water_mark
    looked = f"{ordered.states} sets of operators were looked at"
    if ordered.changed:
        yield (
            f"In another order of its operators the {args.planner} plan needs {ordered.plan.high_water_mark} bytes instead "
            f"of {head} ({looked}); node numbers here are those of the new order."
        )
    else:
        yield f"No other order of its operators was found to need less with the {args.planner} plan ({looked})."


def _firmware_target(args):
    """That of the figures, or a usual board's where these are a computer's."""
    return FIRMWARE if args.target == TARGETS[0] else args.target


def _against(survey, args):
    """Rows of what changed since the model of --against."""
    old = Survey(ModelFile(args.against).source, args.arena, survey.targets, args.keep_inputs)
    return [dict(zip(("what", "old", "new", "change"), row, strict=True)) for row in changes(survey, old, args.target)]


def _searched(given, args, found):
    """What --reorder and --patches came to."""
    yield from _reordering(given, args) if not found else ()
    yield from found.remarks if found else ()


def _files(args, given, survey, name, tables, found):
    """(path, content) of what was asked for."""
    called = "patch-wise" if found else None
    if args.svg:
        yield args.svg, picture(name, survey, args.planner, called)
    if args.html:
        lines = survey.firmware(_firmware_target(args), args.planner)
        svg = picture(name, survey, args.planner, called)
        texts = [
            line.strip() for text in (*remarks(survey), *_searched(given, args, found)) for line in text.split("\n")
        ]
        yield args.html, arena_page(name, texts, svg, tables, ("For a firmware", lines))
    if args.json:
        old = {"against": _against(survey, args)} if args.against else {}
        more = {"patches": found.as_json()} if found else {}
        yield args.json, as_json({"model": name, **more, **(survey if found else given).as_json(), **old})
    if args.csv:
        yield args.csv, survey.csv(args.planner)
    if args.export_plan:
        yield args.export_plan, found.content if found else survey.export(args.planner)
