"""A function in a forked child, with an end to it."""

import os
import threading


def in_a_fork(function, seconds=30):
    """Exit code of a forked child that runs a function; a child that hangs is killed and gives -9."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if function() else 2
        finally:
            os._exit(code)
    timer = threading.Timer(seconds, os.kill, (child, 9))
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    return os.waitstatus_to_exitcode(status)
