"""Parse the command line, run one command, turn what goes wrong into one line on stderr.

Exit codes: 0 done; 1 a difference, or what a command's help says; 2 wrong usage, or a file or model that cannot be used or written; 3 a
defect of ours, also in one line (TFLM_CY_TRACEBACK=1 shows its traceback); 130 interrupted. What a program under `with` raises is its
own.
"""

import argparse
import os
import sys
import traceback

from tflm_cy import __version__
from tflm_cy.cli import arena, bench, demo, diff, doctor, guard, inspect, run, stand_in
from tflm_cy.cli.completion import SHELLS, PrintCompletion
from tflm_cy.cli.errors import UserError
from tflm_cy.cli.output import complain, flush, silence
from tflm_cy.report import printable

COMMANDS = (demo, run, bench, inspect, arena, doctor, guard, diff, stand_in)

_DESCRIPTION = "Run .tflite models: a drop-in replacement for tf.lite.Interpreter."
_EPILOG = """examples:
  python -m tflm_cy demo                                       two small nets read handwritten digits
  python -m tflm_cy inspect model.tflite                       tensors, operators, signatures
  python -m tflm_cy run model.tflite --input x.npy             run once, show the outputs
  python -m tflm_cy run model.tflite --random 7 --mode BUILTIN_REF --output y.npz
  python -m tflm_cy bench model.tflite --per-op --html t.html  where the time goes
  python -m tflm_cy arena model.tflite --svg plan.svg          the memory it needs under TensorFlow Lite Micro
  python -m tflm_cy doctor model.tflite --target cortex-m4 --arena 64K    why AllocateTensors fails, and what to change
  python -m tflm_cy diff model.tflite --a AUTO --b BUILTIN_REF    which node differs between two modes, and why
  python -m tflm_cy with tflite_runtime program.py             a program that imports another interpreter, on this one

  cat model.tflite | python -m tflm_cy inspect - --json -      a model from standard input, everything as JSON

`python -m tflm_cy COMMAND --help` explains a command and its exit codes."""


def parser():
    """The argparse parser with all commands."""
    top = argparse.ArgumentParser(
        "python -m tflm_cy",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"tflm_cy {__version__}")
    top.add_argument(
        "--print-completion",
        choices=SHELLS,
        action=PrintCompletion,
        metavar="SHELL",
        help=f"print a completion script ({', '.join(SHELLS)}) for the command tflm-cy",
    )
    subparsers = top.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(subparsers)
    return top


def main(arguments=None):
    """Run one command.

    Parameters
    ----------
    arguments : list of str, optional
        Instead of the process's own.

    Returns
    -------
    int
        The exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal cannot show is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    top = parser()
    try:
        args = top.parse_args(arguments)
    except SystemExit:
        _flush()  # the help, to a reader that may have gone
        raise
    except BrokenPipeError:  # argparse of CPython 3.10 raises it
        silence(sys.stdout)
        return 0
    if not hasattr(args, "command"):
        complain(top.format_help().rstrip("\n"))
        return 2
    try:
        code = args.command(args) or 0
        flush()
    except UserError as error:
        complain(f"tflm_cy: {printable(error)}")
        return 2
    except BrokenPipeError:
        silence(sys.stdout)
        return 0
    except MemoryError as error:
        complain(f"tflm_cy: not enough memory: {printable(error) or 'the model is too large'}")
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if getattr(args, "passes_errors", False):
            raise
        _tell_defect(error)
        return 3
    return code


def _flush():
    try:
        flush()
    except UserError as error:
        complain(f"tflm_cy: {printable(error)}")


def _tell_defect(error):
    if os.environ.get("TFLM_CY_TRACEBACK"):
        complain("".join(traceback.format_exception(error)).rstrip("\n"))
        return
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(os.path.dirname(place.filename))}/{os.path.basename(place.filename)}:{place.lineno}"
    complain(
        f"tflm_cy: a defect of tflm_cy, please report it: {type(error).__name__}: {printable(error)} at {where} "
        "(TFLM_CY_TRACEBACK=1 shows more)"
    )
