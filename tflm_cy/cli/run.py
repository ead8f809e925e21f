"""`python -m tflm_cy run MODEL`: feed arrays or random numbers, run once, show and store the outputs.

Keys of --json: model, mode, stopped (whether an operator ended the run, which only MICRO knows), inputs ([{name, index, type, shape,
source}], source a path or "random SEED") and outputs ([{name, index, type, shape, values}], values nested as the shape is).
"""

import argparse
import io
import zipfile
from pathlib import Path

import numpy as np

from tflm_cy.cli.errors import UserError, refused
from tflm_cy.cli.micro_side import STOPPED
from tflm_cy.cli.model import ModelFile, add_mode_argument, add_model_argument, dtype_text, shape_text
from tflm_cy.cli.output import add_json_argument, as_json, check_outputs, deliver, exit_codes
from tflm_cy.report import shortened, text_table

_HELP = "run a model once and show its outputs"
_DESCRIPTION = """Run a model once and show its outputs.

Inputs come from .npy files, one per input in the model's order (`inspect` shows it), of exactly the input's type;
where a shape leaves dimensions open the input is resized to the file's shape. Without --input they are random.
The mode MICRO runs by TensorFlow Lite Micro's rules, in an arena as large as it has to be."""
_SHOWN = 6
_LONGEST_NAME = 64


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "run",
        help=_HELP,
        description=_DESCRIPTION,
        epilog=exit_codes(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_argument(parser)
    add_input_arguments(parser)
    add_mode_argument(parser, micro=True)
    parser.add_argument("--output", metavar="F.npz", help="store the outputs, by name, as numpy.load reads them")
    add_json_argument(parser)
    parser.set_defaults(command=run)


def add_input_arguments(parser):
    """--input and --random; `read_inputs` takes what they give."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--input", nargs="+", metavar="F.npy", help="the inputs, in the model's order")
    source.add_argument(
        "--random",
        type=_seed,
        default=0,
        metavar="SEED",
        help="random inputs from this seed (default %(default)s): floats are normal, 8 and 16 bit integers of the "
        "whole range, wider ones from 0 to 9",
    )


def run(args):
    """Print a table of the outputs."""
    check_outputs([args.output, args.json], args.model)
    file = ModelFile(args.model)
    interpreter = file.open(args.mode)
    with refused(file.name):
        values = read_inputs(interpreter, args.input, args.random)
        inputs = interpreter.get_input_details()
        interpreter.allocate_tensors()
        for details, value in zip(inputs, values, strict=True):
            interpreter.set_tensor(details["index"], value)
        interpreter.invoke()
        details = interpreter.get_output_details()
        outputs = [np.asarray(interpreter.get_tensor(d["index"])) for d in details]
    rows = [
        [shortened(d["name"], _LONGEST_NAME), dtype_text(d), " x ".join(map(str, y.shape)) or "scalar", _values(y)]
        for d, y in zip(details, outputs, strict=True)
    ]
    text = text_table(["output", "type", "shape", "values"], rows, "<<<<")
    stopped = getattr(interpreter, "stopped", False)
    if stopped:
        text += f"\n\n{STOPPED}"
    files = []
    if args.output:
        files.append((args.output, _archive([d["name"] for d in details], outputs)))
    if args.json:
        sources = args.input or [f"random {args.random}"] * len(inputs)
        document = {
            "model": file.title,
            "mode": args.mode,
            "stopped": stopped,
            "inputs": [
                {**_described(d, x), "source": source} for d, x, source in zip(inputs, values, sources, strict=True)
            ],
            "outputs": [{**_described(d, y), "values": y} for d, y in zip(details, outputs, strict=True)],
        }
        files.append((args.json, as_json(document)))
    deliver(text, files)


def _described(details, value):
    return {"name": details["name"], "index": details["index"], "type": dtype_text(details), "shape": value.shape}


def read_inputs(interpreter, paths, seed):
    """One array per input, from files or random; open dimensions are resized to the arrays' shapes."""
    inputs = interpreter.get_input_details()
    values = _load(paths, inputs) if paths else _draw(seed, inputs)
    for details, value in zip(inputs, values, strict=True):
        _fit(interpreter, details, value)
    return values


def _seed(text):
    """A seed for numpy's generator: an integer from 0."""
    seed = int(text)
    if seed < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return seed


def _load(paths, inputs):
    """The arrays of the files."""
    if len(paths) != len(inputs):
        names = ", ".join(details["name"] for details in inputs)
        raise UserError(f"--input got {len(paths)} for a model of {len(inputs)} inputs: {names}")
    return [_load_array(path) for path in paths]


def _load_array(path):
    with refused(path):
        if not Path(path).exists():
            raise UserError(f"{path}: no such file")
        if Path(path).is_dir():
            raise UserError(f"{path}: a folder, not an array as numpy.save writes it")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: not an array as numpy.save writes it") from error
    if not isinstance(array, np.ndarray):
        raise UserError(f"{path}: an archive of arrays; wanted one array, as numpy.save writes it")
    return array


def _draw(seed, inputs):
    """A random array per input."""
    rng = np.random.default_rng(seed)
    return [_draw_one(rng, details) for details in inputs]


def _draw_one(rng, details):
    dtype, shape = np.dtype(details["dtype"]), tuple(details["shape"])
    if dtype.kind in "iu":
        low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.itemsize <= 2 else (0, 9)
        return rng.integers(low, high, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "fV":  # V: bfloat16
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    raise UserError(
        f"input {details['name']} is of type {dtype_text(details)}, which has no random values; give --input"
    )


def _fit(interpreter, details, value):
    """Resize an input with open dimensions to the value; refuse a value that cannot be set."""
    wanted, given = tuple(details["shape"]), value.shape
    if given == wanted:
        return
    signature = tuple(details["shape_signature"])
    fits = len(signature) == len(given) and all(s in (-1, g) for s, g in zip(signature, given, strict=True))
    if not fits:
        shape = " x ".join(map(str, given)) or "scalar"
        raise UserError(f"input {details['name']} has the shape {shape_text(details)}, not {shape}")
    interpreter.resize_tensor_input(details["index"], given)


def _values(array):
    """The first values of an output."""
    flat = array.reshape(-1)
    shown = [f"{v:.6g}" if isinstance(v, np.floating) else str(v) for v in flat[:_SHOWN]]
    return " ".join(shown) + (" ..." if flat.size > _SHOWN else "")


def _archive(names, arrays):
    """An .npz file's bytes; unnamed outputs are output_0, ..., names that occur again get their position."""
    used = set()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for position, (name, array) in enumerate(zip(names, arrays, strict=True)):
            key = name.encode("utf-8", "backslashreplace").decode() or f"output_{position}"
            while key in used:
                key += f"_{position}"
            used.add(key)
            if array.dtype == object:  # strings
                array = array.astype(np.bytes_)
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return content.getvalue()
