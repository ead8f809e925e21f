"""The process of one side: `python -m compat.worker SIDE READ_FD WRITE_FD`.

It answers (case, mode, threads) with an outcome until it is told None.

What a runtime prints goes to stderr, which the parent keeps in a file for the text of a crash.
"""

import os
import sys
from multiprocessing.connection import Connection

from .execute import execute
from .sides import load_side


def main(side_name, read_fd, write_fd):
    os.dup2(2, 1)
    read, write = Connection(int(read_fd), writable=False), Connection(int(write_fd), readable=False)
    try:
        side = load_side(side_name)
        open_interpreter, plans = side.start(), getattr(side, "plans", None)
    except Exception as error:
        write.send(f"{type(error).__name__}: {error}")
        return
    write.send("ready")
    while True:
        try:
            job = read.recv()
        except EOFError:
            return
        if job is None:
            return
        write.send(execute(open_interpreter, *job, plans=plans))


if __name__ == "__main__":
    main(*sys.argv[1:])
