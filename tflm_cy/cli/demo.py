"""`python -m tflm_cy demo`: two small nets read handwritten digits that they have never seen.

The nets, the images and how they were made: `tflm_cy/demo`.
"""

import argparse
import io
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

import tflm_cy.demo
from tflm_cy import __version__
from tflm_cy.cli.errors import refused
from tflm_cy.cli.model import ModelFile, add_mode_argument
from tflm_cy.cli.output import deliver, exit_codes
from tflm_cy.report import byte_size, duration, gallery, picture_style, text_table

FOLDER = Path(tflm_cy.demo.__file__).parent
MODELS = ("digits_float.tflite", "digits_int8.tflite")
LEVELS = 16  # a pixel is from 0 (paper) to 16 (ink)

_HELP = "two small nets read handwritten digits"
_DESCRIPTION = """Two small nets, one float32 and one int8, read handwritten digits that they were not trained on.

Shows some of them as pictures with what the int8 net read and what was written, then for each net how many it reads
correctly, the median time of one invoke, and the bytes that it allocates (all tensors and operator data; weights stay in
the file)."""


class Reading(NamedTuple):
    """What a model made of the images."""

    model: str
    dtype: str
    digits: np.ndarray  # (n,) what was read
    seconds: float  # median of one invoke, warm
    allocated_bytes: int
    file_bytes: int


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "demo",
        help=_HELP,
        description=_DESCRIPTION,
        epilog=exit_codes(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_mode_argument(parser)
    parser.add_argument(
        "--pictures", type=int, default=14, metavar="N", help="how many images are shown (default %(default)s)"
    )
    parser.set_defaults(command=demo)


def demo(args):
    """Print pictures and a table."""
    with refused(FOLDER), np.load(FOLDER / "digits_test.npz") as data:
        images, labels = data["images"], data["labels"]
    readings = [read(FOLDER / name, images, args.mode) for name in MODELS]
    lines = [f"tflm_cy {__version__} reads {len(labels)} handwritten digits of 8 x 8 pixels, held out from training.\n"]
    chosen = _choose(readings[-1].digits, labels, args.pictures)
    if len(chosen):
        captions = [_caption(readings[-1].digits[i], labels[i]) for i in chosen]
        pictures = zip(images[chosen] / LEVELS, captions, strict=True)
        width = shutil.get_terminal_size((80, 24)).columns
        lines.append(gallery(pictures, picture_style(sys.stdout or io.StringIO()), width) + "\n")
    lines.append(_table(readings, labels))
    agree = int((readings[0].digits == readings[1].digits).sum())
    lines.append(f"\nThe two nets agree on {agree} of {len(labels)} images.")
    deliver("\n".join(lines))


def read(path, images, mode="AUTO"):
    """Run a model over all images, one at a time: once to read them, once more to take the time."""
    interpreter = ModelFile(path).open(mode)
    with refused(path):
        interpreter.allocate_tensors()
        source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
        inputs = _inputs(images, source)
        digits, seconds = np.empty(len(images), int), []
        for i, x in enumerate(inputs):
            interpreter.set_tensor(source["index"], x)
            interpreter.invoke()
            digits[i] = interpreter.get_tensor(result["index"]).argmax()
        for x in inputs:
            interpreter.set_tensor(source["index"], x)
            start = time.perf_counter()
            interpreter.invoke()
            seconds.append(time.perf_counter() - start)
    allocated_bytes = interpreter._interpreter.arena_used_bytes()
    return Reading(path.name, source["dtype"].__name__, digits, median(seconds), allocated_bytes, path.stat().st_size)


def _inputs(images, details):
    """The images as the model's input wants them, each a batch of one."""
    x = (images / LEVELS).astype(np.float32)[:, None, :, :, None]
    if details["dtype"] is np.float32:
        return x
    scale, zero_point = details["quantization"]
    limits = np.iinfo(details["dtype"])
    return np.clip(np.rint(x / scale) + zero_point, limits.min, limits.max).astype(details["dtype"])


def _choose(read_digits, labels, count):
    """Indices of images to show: mostly the first that were read correctly, then up to a third of misread ones."""
    wrong = np.flatnonzero(read_digits != labels)[: max(count, 0) // 3]
    right = np.flatnonzero(read_digits == labels)[: max(count, 0) - len(wrong)]
    return np.concatenate([right, wrong])


def _caption(digit, label):
    return f"read {digit}" if digit == label else f"read {digit}, is {label}"


def _table(readings, labels):
    rows = []
    for reading in readings:
        correct = int((reading.digits == labels).sum())
        rows.append(
            [
                reading.model,
                reading.dtype,
                f"{correct} of {len(labels)}",
                f"{100 * correct / len(labels):.2f} %",
                duration(reading.seconds),
                byte_size(reading.allocated_bytes),
                byte_size(reading.file_bytes),
            ]
        )
    return text_table(["model", "type", "correct", "accuracy", "invoke", "memory", "file"], rows)
