"""What the tflite_micro package makes of models and what is fed to them, in a child process that they may kill.

fed([(content, arena_size, feeds)])           # per model what it prints about its arena, and its outputs
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile

_PREFIX = "[RecordingMicroAllocator] "


def fed(models):
    """Per (content, arena size, feeds) the lines of print_allocations(), and the outputs, as hex, of an invoke per feed.

    The arrays of a feed are the inputs'. Outputs None: an invoke failed; None alone: refused, or the process died.
    """
    found, waiting = {}, list(enumerate(models))
    while waiting:
        with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
            pickle.dump(waiting, file)
            file.flush()
            command = [sys.executable, "-m", "compat.compressed.runtime", file.name]
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
        jobs = pickle.load(file)
    for number, job in jobs:
        try:
            result = _run(*job)
        except Exception:  # whatever it is: the package does not run the model
            result = None
        print(json.dumps([number, result]), flush=True)


def _run(content, arena_size, feeds):
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(content, arena_size=arena_size)
    said, results = _allocations(interpreter), []
    try:
        for feed in feeds:
            for i, array in enumerate(feed):
                interpreter.set_input(array, i)
            interpreter.invoke()
            results.append([value.tobytes().hex() for value in _outputs(interpreter)])
    except (RuntimeError, ValueError):
        results = None
    return said, results


def _allocations(interpreter):
    """The package prints on file descriptor 2 from C."""
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


def _outputs(interpreter):
    index = 0
    while True:
        try:
            value = interpreter.get_output(index)
        except IndexError:
            return
        yield value
        index += 1


if __name__ == "__main__":
    _work(sys.argv[1])
