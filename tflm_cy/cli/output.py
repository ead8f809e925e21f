"""What a command gives: files first, then text on standard output.

    deliver(text, [(args.csv, table), (args.json, as_json(document))])

Every file is written before anything is printed, so that a reader of the text that leaves early (`| head`) costs no file. One of the
files may be `-`: standard output then gets that and nothing else. What cannot be written is one line and exit code 2; a reader that has
gone is no mistake, and the exit code is what the command found.

JSON: floats that are no numbers stand as the texts "NaN", "Infinity" and "-Infinity", complex ones as [real, imaginary], strings of a
model as text.
"""

import json
import math
import os
import sys
from pathlib import Path

import numpy as np

from tflm_cy.cli.errors import UserError, refused

STANDARD_OUTPUT = "-"


def exit_codes(one=""):
    """The paragraph of a command's help; `one` says when its code is 1."""
    codes = ["0 done", *([f"1 {one}"] if one else []), "2 wrong usage, or a file that cannot be used or written"]
    return f"exit code: {'; '.join(codes)}; 3 a defect of tflm_cy"


def add_json_argument(parser):
    parser.add_argument("--json", metavar="F.json", help="write everything as JSON; - prints it instead of the text")


def check_outputs(paths, model=None):
    """UserError, before work is done, when two outputs are one file, or one is the model."""
    given = [path for path in paths if path]
    for i, path in enumerate(given):
        if path in given[:i]:
            what = "standard output" if path == STANDARD_OUTPUT else path
            raise UserError(f"{what} is given for two outputs; each wants its own")
        if path != STANDARD_OUTPUT:
            with refused(path):
                _check(Path(path), model)


def _check(path, model):
    if path.is_dir():
        raise UserError(f"{path}: a folder; the output wants a file")
    if not path.absolute().parent.is_dir():
        raise UserError(f"{path}: No such file or directory: its folder does not exist")
    if model and model != "-" and path.is_file() and Path(model).exists() and path.samefile(model):
        raise UserError(f"{path}: the model itself, which would be overwritten")


def deliver(text, files=()):
    """Write the files, then print.

    Parameters
    ----------
    text : str
        For people.
    files : iterable of (str or None, str or bytes)
        Path and content; None where nobody asked for it.

    Raises
    ------
    UserError
        A file, or standard output, cannot be written.
    """
    shown = text if text.endswith("\n") else text + "\n"
    for path, content in files:
        if path == STANDARD_OUTPUT:
            shown = content
        elif path:
            _write(path, content)
    print_out(shown)


def _write(path, content):
    with refused(path):
        if isinstance(content, bytes):
            Path(path).write_bytes(content)
        else:
            with open(path, "w", newline="", encoding="utf-8", errors="backslashreplace") as file:
                file.write(content)


def print_out(content):
    """Write a text or bytes to standard output; a reader that has gone is no mistake."""
    if sys.stdout is None:  # closed: nobody looks
        return
    try:
        if isinstance(content, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
        else:
            sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
    except OSError as error:
        silence(sys.stdout)
        raise UserError(f"standard output: {error.strerror or error}") from error


def flush():
    """What is printed and not written yet; as `print_out`."""
    print_out("")


def silence(stream):
    """Point a stream that cannot be written at nothing: what Python flushes at exit must not fail."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def complain(text):
    """One line on standard error, if there is one."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def as_json(document):
    """A document of dicts, lists, numpy values and texts as JSON."""
    return json.dumps(_plain(document), indent=1, allow_nan=False) + "\n"


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.astype(np.float32) if value.dtype.kind == "V" else value  # V: bfloat16
        is_plain = value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all())
        return value.tolist() if is_plain else _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return (
            value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        )
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    return value if value is None or isinstance(value, (bool, int)) else str(value)
