"""The smallest arena in which the tflite_micro package allocates a model, found by trying sizes.

Each try is a forked process of its own: the package does not survive some arenas that are too small.
"""

import os

STEP = 16


def smallest(content, guess):
    """A multiple of 16: the package allocates the model in so many bytes, and not in 16 less; None if it never does.

    Looks at the guess first.
    """
    from tflite_micro import runtime

    high = -(-guess // STEP)
    low = high - 1
    while not _allocates(runtime, content, high * STEP):
        low, high = high, 2 * high
        if high > 1 << 26:
            return None
    while low > 0 and _allocates(runtime, content, low * STEP):
        low, high = low - max(1, 2 * (high - low)), low
    low = max(low, 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _allocates(runtime, content, middle * STEP) else (middle, high)
    return high * STEP


def _allocates(runtime, content, size):
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            runtime.Interpreter.from_bytes(content, arena_size=size)
        except RuntimeError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
