"""`python -m tflm_cy with PACKAGE program.py ARGUMENTS`: an unmodified program, with this package's interpreter in another one's place."""

import argparse
import runpy
import sys
from pathlib import Path

from tflm_cy.cli.errors import UserError
from tflm_cy.shim import PACKAGES, install


def add_parser(subparsers):
    command = subparsers.add_parser(
        "with",
        help="run a program that imports another interpreter on this one",
        description=__doc__,
        epilog="python -m tflm_cy with tflite_runtime,tensorflow -m some.module ARGUMENTS runs a module; the exit code is the "
        "program's, 2 when there is none",
    )
    command.add_argument("packages", help=f"one or more of {','.join(PACKAGES)}, separated by commas")
    command.add_argument("program", nargs=argparse.REMAINDER, help="program.py ARGUMENTS, or -m MODULE ARGUMENTS")
    command.set_defaults(command=run, passes_errors=True)


def run(args):
    """Install the stand-ins and run the program as __main__."""
    program = args.program[1:] if args.program[:1] == ["--"] else args.program
    is_module = program[:1] == ["-m"]
    program = program[1:] if is_module else program
    if not program:
        raise UserError("with: which program? program.py ARGUMENTS, or -m MODULE ARGUMENTS")
    packages = args.packages.split(",")
    for package in packages:
        if package not in PACKAGES:
            raise UserError(f"with: there is no stand-in for {package!r}, only for {', '.join(PACKAGES)}")
    install(*packages)
    sys.argv = list(program)
    if is_module:
        sys.path[0] = ""
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        return
    if not Path(program[0]).is_file():
        raise UserError(f"with: there is no file {program[0]!r}")
    sys.path[0] = str(Path(program[0]).resolve().parent)
    runpy.run_path(program[0], run_name="__main__")
