"""Wrong where the input's first value asks for it: 1 a crash, 2 a hang, 3 an exception, 4 a printed abort."""

import os
import signal
import time

from fake_interpreter import DISTRIBUTIONS, MODES, side

__all__ = ["DISTRIBUTIONS", "MODES", "start"]


def misbehave(x):
    what = int(x.flat[0])
    if what == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == 2:
        time.sleep(600)
    if what == 3:
        raise ValueError("three is refused")
    if what == 4:
        print("about to abort", flush=True)
        os.abort()
    return x.copy()


start = side(misbehave)
