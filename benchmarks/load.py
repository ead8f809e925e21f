"""Time from a file to an interpreter that is ready: construct, resize where the inputs need it, allocate.

Freeing an interpreter is not counted. The very first load in a process, which pays for what a side imports or sets up
lazily, is part of `memory`'s fresh processes.
"""

from .alternation import alternate
from .sides import Session, allocate, source


def measure(ours, theirs, case, mode, settings, stage):
    """Summary of alternating loads, one per burst."""
    loads = []
    for side, open_interpreter in (ours, theirs):
        # A failure shows up here, with its step's name; the timed loads then repeat what is known to work.
        Session(side, open_interpreter, case, mode, settings.threads, stage)
        loads.append(_loader(open_interpreter, case, side.mode(mode), settings.threads))
    stage(f"{ours[0].name} or {theirs[0].name} in repeated loads")
    return alternate(*loads, settings.loads, burst=0.0, budget=settings.seconds).summary()


def _loader(open_interpreter, case, mode, threads):
    model, arrays = source(case), case.feeds[0]

    def load():
        interpreter = open_interpreter(model, mode, threads)
        allocate(interpreter, arrays)
        return interpreter

    return load
