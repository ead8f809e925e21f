"""The command line: `python -m tflm_cy demo | run | bench | inspect | arena | diff`.

Written over the package's public names and `report` (and, to inspect files, `schema`), so that every command is also an
example of how to use them. What is written and printed goes through `output`, what MODEL means through `model`. A
command is a module with `add_parser(subparsers)`, which sets the function that runs it; `main.COMMANDS` lists them in
the order of the help.
"""

from tflm_cy.cli.main import main

__all__ = ["main"]
