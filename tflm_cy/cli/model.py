"""Opening a model for a command, and how its types, shapes and scales are written."""

from pathlib import Path

from tflm_cy import Interpreter, OpResolverType
from tflm_cy.cli.errors import UserError, refused

MODES = tuple(mode.name for mode in OpResolverType)


def add_model_argument(parser):
    parser.add_argument("model", metavar="MODEL", help="a .tflite file")


def add_mode_argument(parser):
    parser.add_argument(
        "--mode",
        type=str.upper,
        choices=MODES,
        default="AUTO",
        metavar="MODE",
        help=f"whose arithmetic is computed: {', '.join(MODES)} (default %(default)s; README says what each covers)",
    )


def check_file(path):
    """UserError when there is no such file, or when it is a folder."""
    if not Path(path).exists():
        raise UserError(f"{path}: no such file")
    if Path(path).is_dir():
        raise UserError(f"{path}: a folder, not a .tflite file")


def open_model(path, mode="AUTO"):
    """An interpreter that is not allocated yet; UserError when the file cannot be used."""
    check_file(path)
    with refused(path):
        return Interpreter(path, experimental_op_resolver_type=OpResolverType[mode])


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


def scale_text(details):
    """A tensor's quantization: "0.00392157, -128", "16 scales, axis 0", or empty."""
    parameters = details["quantization_parameters"]
    scales, zero_points = parameters["scales"], parameters["zero_points"]
    if not len(scales):
        return ""
    if len(scales) == 1:
        return f"{scales[0]:.6g}, {zero_points[0] if len(zero_points) else 0}"
    return f"{len(scales)} scales, axis {parameters['quantized_dimension']}"
