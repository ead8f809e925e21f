"""Run one case on one interpreter: construct, resize, allocate, then set, invoke and get as often as the case feeds.

An interpreter is anything with tf.lite.Interpreter's methods. Whatever it raises is an outcome; a crash or a hang is
the business of the process that watches this one (`process`).
"""

import time

import numpy as np

from .outcome import Array, Outcome


def execute(open_interpreter, case, mode):
    """The outcome of a case; `open_interpreter(model, mode)` makes the interpreter."""
    started, stage, invokes = time.perf_counter(), ["construct"], []
    try:
        _run(open_interpreter, case, mode, stage, invokes)
        outcome = Outcome("ok", invokes)
    except Exception as error:
        text = str(error).strip().replace("\n", " ")
        outcome = Outcome("raised", invokes, stage[0], type(error).__name__, text[:500])
    outcome.seconds = time.perf_counter() - started
    return outcome


def _run(open_interpreter, case, mode, stage, invokes):
    model = case.model if isinstance(case.model, bytes) else str(case.model)
    interpreter = open_interpreter(model, mode)
    ready = False
    for feed in case.feeds:
        stage[0] = "get_input_details"
        inputs = interpreter.get_input_details()
        stage[0] = "resize_tensor_input"
        for details, array in zip(inputs, feed, strict=True):
            if _shape(details) != list(np.shape(array)):
                interpreter.resize_tensor_input(details["index"], np.shape(array))
                ready = False
        if not ready:
            stage[0] = "allocate_tensors"
            interpreter.allocate_tensors()
            ready = True
        stage[0] = "set_tensor"
        for details, array in zip(inputs, feed, strict=True):
            interpreter.set_tensor(details["index"], array)
        stage[0] = "invoke"
        interpreter.invoke()
        stage[0] = "get_tensor"
        outputs = interpreter.get_output_details()
        invokes.append([Array.of(interpreter.get_tensor(details["index"])) for details in outputs])


def _shape(details):
    return [int(d) for d in details["shape"]]
