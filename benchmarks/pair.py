"""Two sides in one process of their own, where they are measured in turn; a crash or a hang of it is a result.

    pair = PairProcess(load_side("tflm_cy"), load_side("tensorflow"), timeout=300)
    pair.measure("latency", case, "BUILTIN_REF", settings)   # a dict, or NotRunError
    pair.close()

The process is a fresh Python (spawned, not forked), pinned to one CPU when one thread is measured.
"""

import importlib
import multiprocessing
import os
import signal
import sys
import tempfile

from .failure import NotRunError, one_line
from .fresh import QUIET

START_TIMEOUT = 180


class PairProcess:
    def __init__(self, ours, theirs, timeout=300.0):
        self.ours, self.theirs, self.timeout = ours, theirs, timeout
        self._process = self._pipe = self._log = None

    def measure(self, section, case, mode, settings):
        """The result of `section`'s measure(); raises NotRunError."""
        if self._process is None:
            self._start(settings)
        self._log.seek(0, os.SEEK_END)
        stage = "the measuring process"
        try:
            self._pipe.send((section, case, mode, settings))
            while self._pipe.poll(self.timeout):
                kind, value = self._pipe.recv()
                if kind == "stage":
                    stage = value
                elif kind == "done":
                    return value
                else:
                    raise NotRunError(f"{stage}: {value}", self._blamed(stage))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            reason = self._death()
        else:
            reason = f"hung ({self.timeout:g} s)"
        self.close()
        raise NotRunError(f"{stage}: {reason}", self._blamed(stage), fatal=True)

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._log.close()
            self._process = None

    def _start(self, settings):
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._log = tempfile.NamedTemporaryFile(prefix="benchmarks-", suffix=".log")  # noqa: SIM115 (close() closes it)
        names = (self.ours.name, self.theirs.name)
        self._process = context.Process(target=serve, args=(theirs, names, settings.cpu, self._log.name), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.poll(START_TIMEOUT)

    def _death(self):
        self._process.join()
        code = self._process.exitcode
        words = one_line(self._log.read())
        return f"crashed ({signal.Signals(-code).name if code < 0 else f'exit {code}'}): {words}".rstrip(": ")

    def _blamed(self, stage):
        """The side that a step's text begins with, when it is only one."""
        name, _, rest = stage.partition(" ")
        return name if rest.startswith("in ") else None


def serve(pipe, names, cpu, log):
    """The process: import both sides once, then measure what is asked until killed."""
    from .sides import load_side

    with open(log, "ab", buffering=0) as words:
        for stream in (1, 2):
            os.dup2(words.fileno(), stream)
    if cpu is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})
    sides = [load_side(name) for name in names]
    opened = {}

    def stage(text):
        pipe.send(("stage", text))

    stage("the measuring process")
    while True:
        try:
            section, case, mode, settings = pipe.recv()
        except EOFError:
            return
        try:
            for side in sides:
                if side.name not in opened:
                    stage(f"{side.name} in import")
                    opened[side.name] = side.start()
            measure = importlib.import_module(f".{section}", __package__).measure
            both = [(side, opened[side.name]) for side in sides]
            pipe.send(("done", measure(*both, case, mode, settings, stage)))
        except Exception as error:
            pipe.send(("failed", one_line(f"raised {type(error).__name__}: {error}")))
        sys.stdout.flush()
