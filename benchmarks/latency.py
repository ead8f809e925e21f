"""Latency of `invoke`: alternating bursts of two interpreters in one process, on the same inputs.

With several threads ours is measured against itself with one, too, while theirs rests: its threads would spin beside
whoever has one. With a batch, if it is asked for, ours is measured against itself with the first image alone.
"""

from dataclasses import replace

from .alternation import alternate
from .sides import Session, same_bytes


def measure(ours, theirs, case, mode, settings, stage):
    """Summary of the pairs; `same_bytes`: do both compute the same? `beside_one_thread`, `beside_one_image`: pairs in which the other
    is ours with one."""
    sessions = [Session(*side, case, mode, settings.threads, stage) for side in (ours, theirs)]
    equal = same_bytes(*sessions)
    stage(f"{ours[0].name} or {theirs[0].name} in repeated invokes")
    calls = [session.interpreter.invoke for session in sessions]
    pairs = alternate(*calls, settings.pairs, settings.burst, settings.seconds)
    figures = {**pairs.summary(), "same_bytes": equal}
    if settings.threads > 1:
        figures["beside_one_thread"] = _beside(calls[0], Session(*ours, case, mode, 1, stage), settings)
    if settings.beside_one_image:
        first = replace(case, feeds=[[array[:1] for array in case.feeds[0]]])
        figures["beside_one_image"] = _beside(calls[0], Session(*ours, first, mode, settings.threads, stage), settings)
    return figures


def _beside(invoke, single, settings):
    return alternate(invoke, single.interpreter.invoke, settings.pairs, settings.burst, settings.seconds / 2).summary()
