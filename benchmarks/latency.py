"""Latency of `invoke`: alternating bursts of two interpreters in one process, on the same inputs."""

from .alternation import alternate
from .sides import Session, same_bytes


def measure(ours, theirs, case, mode, settings, stage):
    """Summary of the pairs; `same_bytes` says whether both computed the same."""
    sessions = [Session(*side, case, mode, settings.threads, stage) for side in (ours, theirs)]
    equal = same_bytes(*sessions)
    stage(f"{ours[0].name} or {theirs[0].name} in repeated invokes")
    calls = [session.interpreter.invoke for session in sessions]
    pairs = alternate(*calls, settings.pairs, settings.burst, settings.seconds)
    return {**pairs.summary(), "same_bytes": equal}
