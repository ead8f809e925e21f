"""What the tflite_micro package says and computes, each model in a child process that it may kill.

    allocations([(content, arena_size)])          # per model the lines of print_allocations(), or None if refused
    outputs([(content, arena_size)], runs=20)     # per model digests of its outputs over seeded random inputs, or None

The package prints on file descriptor 2 from C, so the child catches that. Inputs are drawn from a fixed seed: two files
of one model get the same ones.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
from hashlib import sha256

import numpy as np

_PREFIX = "[RecordingMicroAllocator] "


def allocations(models):
    """Per (content, arena size) the text of print_allocations(), or None when the package refuses it or dies."""
    return in_children("allocations", models, {})


def outputs(models, runs):
    """Per (content, arena size) the outputs' digests of consecutive invokes; None when the package refuses it or dies."""
    return in_children("outputs", models, {"runs": runs})


def in_children(what, models, arguments):
    """Per model what a function of `_work` finds; None where it raises or its process dies."""
    found, waiting = {}, list(enumerate(models))
    while waiting:
        with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
            pickle.dump((what, waiting, arguments), file)
            file.flush()
            command = [sys.executable, "-m", "compat.arena.runtime", file.name]
            child = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        for line in child.stdout.splitlines():
            number, result = json.loads(line)
            found[number] = result
        waiting = [job for job in waiting if job[0] not in found]
        if waiting:  # the first of the rest killed the child
            found[waiting.pop(0)[0]] = None
    return [found[number] for number in range(len(models))]


def _work(path):
    with open(path, "rb") as file:
        what, jobs, arguments = pickle.load(file)
    from .smallest import smallest
    from .verdicts import verdict

    functions = {"allocations": _allocations, "outputs": _outputs, "smallest": smallest, "verdicts": verdict}
    function = functions[what]
    for number, model in jobs:
        try:
            result = function(*model, **arguments)
        except Exception:  # whatever it is: the package does not run the model
            result = None
        print(json.dumps([number, result]), flush=True)


def _interpreter(content, arena_size):
    from tflite_micro import runtime

    return runtime.Interpreter.from_bytes(content, arena_size=arena_size)


def _allocations(content, arena_size):
    interpreter = _interpreter(content, arena_size)
    with tempfile.TemporaryFile() as log:
        saved = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            interpreter.print_allocations()
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        log.seek(0)
        lines = log.read().decode(errors="replace").replace("\r", "").splitlines()
    return "\n".join(line for line in lines if line.startswith(_PREFIX))


def _outputs(content, arena_size, runs):
    interpreter = _interpreter(content, arena_size)
    rng, results = np.random.default_rng(0), []
    inputs = list(_details(interpreter.get_input_details))
    count = len(list(_details(interpreter.get_output_details)))
    for _ in range(runs):
        for i, details in enumerate(inputs):
            interpreter.set_input(_random(rng, details), i)
        interpreter.invoke()
        results.append([sha256(interpreter.get_output(i).tobytes()).hexdigest() for i in range(count)])
    return results


def _details(get):
    index = 0
    while True:
        try:
            yield get(index)
        except IndexError:
            return
        index += 1


def _random(rng, details):
    dtype, shape = np.dtype(details["dtype"]), details["shape"]
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, endpoint=True, dtype=dtype)


if __name__ == "__main__":
    _work(sys.argv[1])
