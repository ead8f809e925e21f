"""Opening a model for a command, and how its types, shapes and scales are written."""

import sys
from pathlib import Path

from tflm_cy import Interpreter, OpResolverType
from tflm_cy.cli.errors import UserError, refused
from tflm_cy.cli.micro_side import MicroSide

MODES = tuple(mode.name for mode in OpResolverType)
MICRO = "MICRO"

_LISTED = 4


def add_model_argument(parser):
    parser.add_argument("model", metavar="MODEL", help="a .tflite file; - reads it from standard input")


def add_mode_argument(parser, micro=False):
    modes = (*MODES, MICRO) if micro else MODES
    parser.add_argument(
        "--mode",
        type=str.upper,
        choices=modes,
        default="AUTO",
        metavar="MODE",
        help=f"whose arithmetic is computed: {', '.join(modes)} (default %(default)s; docs/modes.md says what each covers)",
    )


class ModelFile:
    """What MODEL names: a file, or what standard input holds.

    Attributes
    ----------
    name : str
        For messages: the path, or "standard input".
    title : str
        For headings: the file's name without its folders.
    path : str or None
    content : bytes or None
        One of the two; a pipe is read once.
    nbytes : int

    Raises
    ------
    UserError
        There is no such file, or it is none.
    """

    def __init__(self, path):
        self.path, self.content = str(path), None
        self.name, self.title = self.path, Path(path).name
        if self.path == "-":
            self.name = self.title = "standard input"
            self._take(_standard_input)
            return
        with refused(self.name):
            given = Path(path)
            if given.is_dir():
                raise UserError(f"{path}: a folder, not a .tflite file; {_in_folder(given)}")
            if given.is_fifo():
                self._take(given.read_bytes)
                return
            if not given.exists():
                raise UserError(f"{path}: no such file")
            self.nbytes = given.stat().st_size

    def _take(self, read):
        with refused(self.name):
            self.path, self.content = None, read()
        if not self.content:
            raise UserError(f"{self.name}: it is empty")
        self.nbytes = len(self.content)

    def open(self, mode="AUTO", kind=Interpreter, resolver=None, **options):
        """An interpreter that is not allocated yet; UserError when the file cannot be used.

        Parameters
        ----------
        mode : str
            Of OpResolverType, or "MICRO".
        kind, resolver
            Another package's class and its op resolver type.
        **options
            Other arguments of the interpreter.
        """
        with refused(self.name):
            if mode == MICRO:
                return MicroSide(self.source, options.get("experimental_preserve_all_tensors", False))
            options["experimental_op_resolver_type"] = OpResolverType[mode] if resolver is None else resolver
            if self.path is None:
                return kind(model_content=self.content, **options)
            return kind(model_path=self.path, **options)

    @property
    def source(self):
        """What `MicroInterpreter` and `Model` are made from: the path or the bytes."""
        return self.content if self.path is None else self.path


def _standard_input():
    if sys.stdin is None:
        raise OSError("it is closed")
    return sys.stdin.buffer.read()


def _in_folder(folder):
    """What somebody who gave a folder may have meant."""
    models = sorted(path.name for path in folder.glob("*.tflite") if path.is_file())
    if models:
        more = f" and {len(models) - _LISTED} more" if len(models) > _LISTED else ""
        return f"give one of its files: {', '.join(models[:_LISTED])}{more}"
    if (folder / "saved_model.pb").exists():
        return "it is a SavedModel: tf.lite.TFLiteConverter.from_saved_model makes a .tflite file of it"
    return "there is no .tflite file in it"


def dtype_text(details):
    """A tensor's type: float32, int8, string, ..."""
    name = details["dtype"].__name__
    return {"bytes_": "string", "object_": "resource", "bool_": "bool"}.get(name, name)


def shape_text(details):
    """A tensor's shape, with ? for dimensions that the file leaves open: "? x 8 x 8 x 1", "scalar".

    >>> shape_text({"shape": [1, 10], "shape_signature": [-1, 10]})
    '? x 10'
    """
    shape, signature = list(details["shape"]), list(details["shape_signature"])
    if len(signature) != len(shape):
        signature = shape
    return " x ".join("?" if s == -1 else str(d) for d, s in zip(shape, signature, strict=True)) or "scalar"
