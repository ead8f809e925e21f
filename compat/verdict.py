"""How a judge ends: exit code 0 when nothing differs, 1 when something does, 2 after wrong usage or with nothing to compare.

    @judge("compat.arena")
    def main(argv=None): ...

What cannot be used is one line on stderr. A reader of the text that leaves early (`| head`) costs no file, for files are written first,
and no verdict, unless it leaves while cases are still told: then the code is 141, as for other programs.
"""

import functools
import sys

from tflm_cy.cli.output import silence

_INSTALLED_APART = ("ai_edge_litert", "joblib", "tensorflow", "tflite_micro")
_READER_GONE = 141  # 128 + SIGPIPE


class UsageError(Exception):
    """A folder, file or option that cannot be used."""


def judge(name):
    """Decorate a judge's `main`, which returns whether something differs, or an exit code."""

    def decorate(main):
        @functools.wraps(main)
        def ended(*arguments, **options):
            try:
                code = int(main(*arguments, **options) or 0)
            except UsageError as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 2
            except ModuleNotFoundError as error:
                if error.name not in _INSTALLED_APART:
                    raise
                print(f"{name}: {error.name} is not installed; pip install -e '.[compat]'", file=sys.stderr)
                return 2
            except BrokenPipeError:
                silence(sys.stdout)
                return _READER_GONE
            return code

        return ended

    return decorate


def say(text):
    """Print the verdict; a reader that has gone does not change it."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        silence(sys.stdout)


def write(path, text):
    """Write a report; UsageError when that cannot be."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
