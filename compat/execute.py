"""Run one case on one interpreter: construct, resize, allocate, then set, invoke and get as often as the case feeds.

An interpreter is anything with tf.lite.Interpreter's methods. Whatever it raises is an outcome; a crash or a hang is
the business of the process that watches this one (`process`).
"""

import time

import numpy as np

from .calls import Program
from .details import described
from .outcome import Array, Outcome


def execute(open_interpreter, case, mode, threads=1, plans=None):
    """The outcome of a case; `open_interpreter(model, mode, threads)` makes the interpreter, `plans(interpreter)` reads its plans."""
    outcome, started = Outcome("ok", stage="construct"), time.perf_counter()
    try:
        _run(open_interpreter, case, mode, threads, outcome, plans)
        outcome.stage = ""
    except Exception as error:
        outcome.status, outcome.error = "raised", type(error).__name__
        outcome.text = str(error).strip().replace("\n", " ")[:500]
    outcome.seconds = time.perf_counter() - started
    return outcome


def _run(open_interpreter, case, mode, threads, outcome, plans):
    """Fill the outcome in, its stage being the call that is under way."""
    model = case.model if isinstance(case.model, bytes) else str(case.model)
    interpreter = open_interpreter(model, mode, threads, **case.options)
    if not case.feeds:
        _plan(interpreter, case, outcome, plans)
    if case.program:
        Program(interpreter, case, outcome).run()
        return
    if case.before is not None:
        _before(interpreter, case, outcome)
    ready = False
    for feed in case.feeds:
        outcome.stage = "get_input_details"
        inputs = interpreter.get_input_details()
        outcome.stage = "resize_tensor_input"
        for details, array in zip(inputs, feed, strict=True):
            if _shape(details) != list(np.shape(array)):
                interpreter.resize_tensor_input(details["index"], np.shape(array))
                ready = False
        if not ready:
            outcome.stage = "allocate_tensors"
            interpreter.allocate_tensors()
            ready = True
            outcome.stage = "_get_ops_details"
            outcome.delegates = _delegates(interpreter)
            outcome.plans = plans(interpreter) if plans else None
        _invoke(interpreter, inputs, feed, outcome)
    outcome.stage = "get_tensor_details"
    outcome.details = described(interpreter)


def _invoke(interpreter, inputs, feed, outcome):
    outcome.stage = "set_tensor"
    for details, array in zip(inputs, feed, strict=True):
        interpreter.set_tensor(details["index"], array)
    outcome.stage = "invoke"
    interpreter.invoke()
    outcome.stage = "get_tensor"
    outputs = interpreter.get_output_details()
    outcome.invokes.append([Array.of(interpreter.get_tensor(details["index"])) for details in outputs])


def _before(interpreter, case, outcome):
    """Allocate at the file's shapes and run there, if the case says so; what is raised counts, and is no end."""
    try:
        outcome.stage = "allocate_tensors"
        interpreter.allocate_tensors()
        if case.before:
            _invoke(interpreter, interpreter.get_input_details(), case.before, outcome)
    except Exception as error:
        text = str(error).strip().replace("\n", " ")[:500]
        outcome.before = [type(error).__name__, outcome.stage, text]


def _plan(interpreter, case, outcome, plans):
    """Resize and allocate; the plans count even if that fails."""
    try:
        outcome.stage = "resize_tensor_input"
        for tensor, shape in case.resizes.items():
            interpreter.resize_tensor_input(tensor, shape)
        outcome.stage = "allocate_tensors"
        interpreter.allocate_tensors()
    finally:
        outcome.delegates = _delegates(interpreter)
        outcome.plans = plans(interpreter) if plans else None


def _delegates(interpreter):
    """[inputs, outputs] of each node named DELEGATE; None where an interpreter does not show its nodes."""
    if not hasattr(interpreter, "_get_ops_details"):
        return None
    nodes = [node for node in interpreter._get_ops_details() if node["op_name"] == "DELEGATE"]
    return [[[int(i) for i in node[role]] for role in ("inputs", "outputs")] for node in nodes]


def _shape(details):
    return [int(d) for d in details["shape"]]
