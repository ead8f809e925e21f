"""Parse the command line, run one command, turn what users can cause into one line on stderr.

Exit codes: 0 done; 2 wrong usage, or a file or model that cannot be used; 130 interrupted. Other exceptions are
defects of ours and keep their traceback.
"""

import argparse
import os
import sys

from tflm_cy import __version__
from tflm_cy.cli import arena, bench, demo, diff, inspect, run, stand_in
from tflm_cy.cli.errors import UserError
from tflm_cy.report import printable

COMMANDS = (demo, run, bench, inspect, arena, diff, stand_in)

_DESCRIPTION = "Run .tflite models: a drop-in replacement for tf.lite.Interpreter."
_EPILOG = """examples:
  python -m tflm_cy demo                                       two small nets read handwritten digits
  python -m tflm_cy inspect model.tflite                       tensors, operators, signatures
  python -m tflm_cy run model.tflite --input x.npy             run once, show the outputs
  python -m tflm_cy run model.tflite --random 7 --mode BUILTIN_REF --output y.npz
  python -m tflm_cy bench model.tflite --per-op --html t.html  where the time goes
  python -m tflm_cy arena model.tflite --svg plan.svg          the memory it needs under TensorFlow Lite Micro
  python -m tflm_cy diff model.tflite --a AUTO --b BUILTIN_REF    which node differs between two modes, and why
  python -m tflm_cy with tflite_runtime program.py             a program that imports another interpreter, on this one

`python -m tflm_cy COMMAND --help` explains a command."""


def parser():
    """The argparse parser with all commands."""
    top = argparse.ArgumentParser(
        "python -m tflm_cy",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"tflm_cy {__version__}")
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
    args = top.parse_args(arguments)
    if not hasattr(args, "command"):
        top.print_help(sys.stderr)
        return 2
    try:
        code = args.command(args) or 0
        sys.stdout.flush()
    except UserError as error:
        print(f"tflm_cy: {printable(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader (head, less) has seen enough; what Python flushes at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code
