"""`python -m tflm_cy guard MODEL ...`: fail when a model's arena grows beyond a limit, or is larger than the board has.

What a GitHub Action (action.yml) and a pre-commit hook (.pre-commit-hooks.yaml) run. The older model is that of a git
revision. Keys of --json: target, models ([{model, smallest_arena, old, growth, problems}]).
"""

import argparse
import subprocess

from tflm_cy.cli import targets
from tflm_cy.cli.arena_against import against_markdown, allowed, growth
from tflm_cy.cli.errors import UserError, refused
from tflm_cy.cli.model import ModelFile
from tflm_cy.cli.output import add_json_argument, as_json, check_outputs, complain, deliver, exit_codes
from tflm_cy.micro.device import FIRMWARE
from tflm_cy.micro.survey import Survey
from tflm_cy.report import printable, text_table

_HELP = "fail when a model's arena grows beyond a limit"
_DESCRIPTION = """Compare models with those of a git revision, and fail when one's arena grows beyond a limit.

A model that the revision does not have is only asked whether TFLM runs it and whether it fits.

"""
_GIT_SECONDS = 60


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "guard",
        help=_HELP,
        description=_DESCRIPTION + targets.TEXT,
        epilog=exit_codes("a model grows beyond the limit, is too large, or does not run"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=".tflite files")
    targets.add_target_arguments(parser, FIRMWARE)
    parser.add_argument(
        "--base", default="HEAD", metavar="REV", help="the git revision of the old models (default HEAD)"
    )
    parser.add_argument("--max-growth", default="0", metavar="N", help="bytes, or a share as in 5%% (default 0)")
    parser.add_argument("--max-arena", type=int, metavar="N", help="bytes that the board has for the arena")
    parser.add_argument("--markdown", metavar="F.md", help="write the tables of what changed")
    add_json_argument(parser)
    parser.set_defaults(command=guard)


def guard(args):
    """Print a line per model; 1 when one has a problem."""
    check_outputs([args.markdown, args.json])
    target = targets.chosen_target(args, FIRMWARE)
    try:
        limit = allowed(args.max_growth)
    except ValueError as error:
        raise UserError(f"--max-growth: {error}") from None
    rows, records, pages = [], [], []
    for path in args.models:
        file = ModelFile(path)
        with refused(file.name):
            new = Survey(file.source, targets=(target,))
            content = old_content(path, args.base)
            old = None if content is None else Survey(content, targets=(target,))
            problems = list(_problems(new, old, target, limit, args.max_arena))
            least = new.figures(target).smallest_arena
            grown = None if old is None else growth(new, old, target)
            pages.append(against_markdown(path, new, old, target))
        rows.append([path, None if old is None else least - grown, least, grown, "; ".join(problems) or "ok"])
        records.append(
            {"model": path, "smallest_arena": least, "old": rows[-1][1], "growth": grown, "problems": problems}
        )
    files = [
        (args.markdown, "\n".join(pages) if args.markdown else None),
        (args.json, as_json({"target": target, "models": records}) if args.json else None),
    ]
    deliver(text_table(["model", f"arena at {args.base}", "arena", "growth", target], rows), files)
    for record in records:
        for problem in record["problems"]:
            complain(f"tflm_cy: {printable(record['model'])}: {printable(problem)}")
    return int(any(record["problems"] for record in records))


def _problems(new, old, target, limit, most):
    least = new.figures(target).smallest_arena
    if new.objections:
        yield f"TFLM refuses it: {new.objections[0]}"
    elif new.faults:
        yield f"TFLM does not run it: {new.faults[0]}"
    if most is not None and least > most:
        yield f"needs {least} bytes of {most}"
    if old is not None:
        before = least - growth(new, old, target)
        if least - before > limit(before):
            yield f"grows by {least - before} bytes, {limit(before)} are allowed"


def old_content(path, revision):
    """The bytes that a git revision has of a file; None when it has none.

    Raises
    ------
    UserError
        There is no such revision, or this is no git repository.
    """
    known = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if known.returncode:
        raise UserError(f"--base {revision}: git knows no such revision here")
    found = _git("show", f"{revision}:./{path}")
    return found.stdout if found.returncode == 0 else None


def _git(*words):
    try:
        return subprocess.run(["git", *words], capture_output=True, check=False, timeout=_GIT_SECONDS)
    except FileNotFoundError:
        raise UserError("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"git {words[0]} takes longer than {_GIT_SECONDS} s") from None
