"""Call overhead: set_tensor, invoke and get_tensor on models so small that little else is left.

Each call is timed alone, then the three together as a program would write them; `together` is what the bar is about.
"""

from functools import partial

from .alternation import alternate
from .sides import Session, same_bytes

LARGEST = 4096  # bytes of a model file that counts as tiny
CALLS = ("set", "invoke", "get", "together")


def is_tiny(case):
    """Whether the model's file is small enough for this section."""
    return (len(case.model) if isinstance(case.model, bytes) else case.model.stat().st_size) <= LARGEST


def measure(ours, theirs, case, mode, settings, stage):
    """A summary per call. The budget is shared by the four."""
    sessions = [Session(*side, case, mode, settings.threads, stage) for side in (ours, theirs)]
    equal = same_bytes(*sessions)
    stage(f"{ours[0].name} or {theirs[0].name} in repeated calls")
    pairs = {
        name: alternate(*both, settings.pairs, settings.burst, settings.seconds / len(CALLS)).summary()
        for name, both in zip(CALLS, zip(*map(_calls, sessions), strict=True), strict=True)
    }
    return {**pairs, "same_bytes": equal}


def _calls(session):
    """The four calls without arguments, with as little of ours around them as Python allows."""
    set_tensor, invoke, get_tensor = (getattr(session.interpreter, n) for n in ("set_tensor", "invoke", "get_tensor"))
    if len(session.inputs) != 1 or len(session.outputs) != 1:
        return session.set, invoke, session.get, partial(_together, session.set, invoke, session.get)
    (index, array), (output,) = session.inputs[0], session.outputs

    def together():
        set_tensor(index, array)
        invoke()
        return get_tensor(output)

    return partial(set_tensor, index, array), invoke, partial(get_tensor, output), together


def _together(set_inputs, invoke, get_outputs):
    set_inputs()
    invoke()
    return get_outputs()
