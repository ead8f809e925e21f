"""Resident memory of loading and running one model, in a fresh process per side and run."""

import pickle
from statistics import median

from .failure import NotRunError
from .fresh import ask


def measure(side, case, mode, threads, runs, timeout=300.0):
    """Medians over the runs: bytes over a process with numpy, seconds of the import and from file to first output."""
    question = ("run", side.name, side.mode(mode), threads)
    try:
        answers = [ask(*question, stdin=pickle.dumps(case), timeout=timeout) for _ in range(runs)]
    except NotRunError as error:
        raise NotRunError(error.reason, side.name) from None
    return {key: median(answer[key] for answer in answers) for key in answers[0]}
