"""What the examples share: digits, the model that reads them, and the function that a worker maps over batches.

An interpreter is made once in each worker, by the first batch that arrives there; it travels to no other. A batch is a
plain array in and a plain array out, so any engine can carry it. `invoke` lets other threads run; a process that has
several has an interpreter for each.
"""

import os
import signal
import threading

import numpy as np

import tflm_cy
from tflm_cy import demo

FOLDER = os.path.dirname(demo.__file__)
MODEL = os.path.join(FOLDER, "digits_int8.tflite")
_mine = threading.local()


def load(count=1797):
    """Images (count, 8, 8, 1) as float32 from 0 to 1: the held-out digits of the demo, again and again with noise of their own."""
    with np.load(os.path.join(FOLDER, "digits_test.npz")) as data:
        images = data["images"].reshape(-1, 8, 8, 1) / np.float32(16)
    repeated = images[np.arange(count) % len(images)]
    noise = np.random.default_rng(0).normal(0, 0.05, repeated.shape).astype(np.float32)
    noise[: len(images)] = 0
    return np.clip(repeated + noise, 0, 1)


def batches(images, size=64):
    """Slices of at most so many images."""
    return [images[start : start + size] for start in range(0, len(images), size)]


def classify(images):
    """Return the digits (int64) that the model sees in a batch of images."""
    interpreter = getattr(_mine, "interpreter", None)
    if interpreter is None:
        interpreter = _mine.interpreter = tflm_cy.Interpreter(MODEL, num_threads=1)
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    if tuple(source["shape"]) != images.shape or not hasattr(_mine, "allocated"):
        interpreter.resize_tensor_input(source["index"], images.shape)
        interpreter.allocate_tensors()
        _mine.allocated = True
    scale, zero_point = source["quantization"]
    interpreter.set_tensor(source["index"], np.clip(np.round(images / scale) + zero_point, -128, 127).astype(np.int8))
    interpreter.invoke()
    return interpreter.get_tensor(result["index"]).argmax(-1)


def in_a_loop(images):
    """Return the answers of one interpreter that gets one image after the other: what all engines must give."""
    return np.concatenate([classify(images[i : i + 1]) for i in range(len(images))])


def die_once(marker):
    """Kill the process that calls this first, as if the machine had run out of memory; `marker`: a path that does not exist, or None."""
    if marker is None:
        return
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def report(engine, answers, images):
    """Compare with the loop, print one line, and return whether all answers are the same."""
    equal = int(np.sum(answers == in_a_loop(images)))
    print(f"{engine}: {len(answers)} digits, {equal} as in a loop")
    return equal == len(images) == len(answers)
