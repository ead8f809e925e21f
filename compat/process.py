"""A side in a process of its own, restarted after a crash or a hang, both of which are results.

    side = SideProcess("tensorflow", timeout=60)
    outcome = side.run(case, "BUILTIN_REF")
    side.close()

The process is a fresh Python (`compat.worker`), never a fork, so that no runtime sees another one's threads or
memory. It may be another Python than ours (`python=`), for sides that live in a virtual environment of their own.
"""

import os
import signal
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

from .outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
START_TIMEOUT = 600  # a machine under load takes minutes to import TensorFlow


class SideFailedError(Exception):
    """The side cannot be used at all: not installed, or it fails to import."""


class SideProcess:
    def __init__(self, side, timeout=60.0, python=None):
        self.side, self.timeout, self.python = side, timeout, python or sys.executable
        self._process = self._read = self._write = self._log = None
        self._heard = 0

    def run(self, case, mode, threads=1):
        """The outcome of a case on this side; only what hangs twice counts as hung, a machine may pause."""
        job = case, mode, threads
        return self._try(job) or self._try(job) or Outcome("hung", error=f"{self.timeout:g} s, twice")

    def _try(self, job):
        """The outcome, or None when time ran out."""
        if self._process is None:
            self._start()
        self._heard = self._log.seek(0, os.SEEK_END)
        try:
            self._write.send(job)
            if self._read.poll(self.timeout):
                return self._read.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return Outcome("crashed", error=self._death(), text=self._last_words())
        self.close(kill=True)
        return None

    def kill(self):
        """Kill the process from another thread; whoever is using it sees its death."""
        if process := self._process:
            process.kill()

    def close(self, kill=False):
        """End the process: asked politely, or killed."""
        if self._process is None:
            return
        if not kill:
            try:
                self._write.send(None)
                self._process.wait(5)
            except (OSError, subprocess.TimeoutExpired):
                kill = True
        if kill:
            self._process.kill()
        self._process.wait()
        self._read.close()
        self._write.close()
        self._log.close()
        self._process = None

    def _start(self):
        to_read, from_write = os.pipe()
        from_read, to_write = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", **os.environ, "PYTHONPATH": path}
        self._process = subprocess.Popen(
            [self.python, "-m", "compat.worker", self.side, str(to_read), str(to_write)],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=environment,
        )
        os.close(to_read)
        os.close(to_write)
        self._write = Connection(from_write, readable=False)
        self._read = Connection(from_read, writable=False)
        try:
            greeting = self._read.recv() if self._read.poll(START_TIMEOUT) else "no answer"
        except EOFError:
            greeting = f"died while starting: {self._last_words()}"
        if greeting != "ready":
            self.close(kill=True)
            raise SideFailedError(f"side {self.side!r}: {greeting}")

    def _death(self):
        code = self._process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit {code}"

    def _last_words(self, size=500):
        """The end of what the process printed during this case; also forgets a dead process."""
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(self._heard, end - size))
        text = self._log.read().decode(errors="replace").strip().replace("\n", " ")
        if self._process.poll() is not None:
            self.close(kill=True)
        return text
