"""The inside of a fresh process: what an import costs, and what it takes to load and run a model, in time and memory.

    python -c "from benchmarks.probe import main; main()" import "import tflm_cy"
    python -c "from benchmarks.probe import main; main()" run tensorflow BUILTIN_REF 1   # the case pickled on stdin

Prints one line of JSON to what stdout was; the runtimes' own output goes to stderr. This file imports as little as it
can before the first reading, since whatever is imported already costs the runtime nothing.
"""

import os
import sys
import time


def parse_status(text):
    """Resident bytes now and at the highest, from the text of /proc/self/status."""
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return [int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")]


def memory():
    with open("/proc/self/status") as status:
        return parse_status(status.read())


def forget_peak():
    """Let the highest mark start again from here, where the kernel allows it."""
    try:
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")
    except OSError:
        pass


def probe_import(statement):
    """Growth over a process that has numpy."""
    import numpy  # noqa: F401

    code, names = compile(statement, "<import>", "exec"), {}
    forget_peak()
    before, _ = memory()
    start = time.perf_counter()
    exec(code, names)
    seconds = time.perf_counter() - start
    after, peak = memory()
    return {"seconds": seconds, "rss": after - before, "peak": peak - before}


def probe_run(name, mode, threads):
    """Growth over a process that has numpy and the inputs: the import alone, then with a model loaded and run three times.

    A runtime may pack weights in the first run and give the file's pages back behind it: what later runs read again counts.
    """
    import pickle

    case = pickle.load(sys.stdin.buffer)
    from .sides import Session, load_side

    side = load_side(name)
    stages = []
    try:
        forget_peak()
        before, _ = memory()
        start = time.perf_counter()
        stages.append(f"{name} in import")
        open_interpreter = side.start()
        imported, _ = memory()
        begun = time.perf_counter()
        session = Session(side, open_interpreter, case, mode, int(threads), stages.append)
        first = time.perf_counter()
        for _ in range(2):
            session.interpreter.invoke()
            session.get()
        after, peak = memory()
    except Exception as error:
        return {"failed": f"raised {type(error).__name__}: {error}", "stage": stages[-1]}
    return {
        "import_seconds": begun - start,
        "first_seconds": first - begun,
        "import_rss": imported - before,
        "rss": after - before,
        "peak": peak - before,
        "total": after,
    }


def main():
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    result = {"import": probe_import, "run": probe_run}[sys.argv[1]](*sys.argv[2:])
    import json

    answer.write(json.dumps(result) + "\n")
    answer.flush()
