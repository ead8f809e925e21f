"""Batches of mutations in forked processes: a crash or a hang is a finding, and the batch goes on behind it.

    for finding in run_batches(batches, jobs=2, limits=Limits()):
        ...

A child announces each mutation and each step on a pipe before it begins, so the parent knows where a silent child is.
The memory that it may ask for is bounded (RLIMIT_AS), its stderr a file, where the reports of a sanitizer are looked for.

A step that takes longer than `seconds` is a hang, unless the model may ask for so much work: more than `work` element
operations, counted as input elements times output elements of every node, which no operator exceeds. A loop (WHILE) may
legally never end. Both are counted as slow.
"""

import os
import re
import resource
import select
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .exercise import UnexpectedError, exercise
from .mutation import Source

OK, SLOW = "ok", "slow"
FAILURES = ("CRASH", "HANG", "UNEXPECTED", "SANITIZER")


@dataclass
class Limits:
    seconds: float = 20.0  # for one mutation
    bytes: int = 4 << 30  # of address space, beyond that of its start (a sanitizer holds terabytes); 0: no limit
    work: float = 2e9  # element operations beyond which slowness is no defect


@dataclass
class Batch:
    source: Source
    seed: int
    names: list = field(default_factory=list)


@dataclass
class Finding:
    """How one mutation ended."""

    source: Source
    seed: int
    name: str
    kind: str
    text: str
    seconds: float = 0.0


class Child:
    """A process that works on a batch from a place on."""

    def __init__(self, batch, start, limits):
        self.batch, self.limits = batch, limits
        self.current, self.step, self.started, self.heavy = start - 1, "start", time.monotonic(), False
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.pipe, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            try:
                _work(batch, start, limits, write, self.log.fileno())
            finally:
                os._exit(99)
        os.close(write)
        self.text = b""

    def findings(self):
        """What the pipe has to tell; ends with None when the child is gone."""
        data = os.read(self.pipe, 1 << 16)
        if not data:
            yield from self.ended()
            yield None
            return
        *lines, self.text = (self.text + data).split(b"\n")
        for line in lines:
            yield from self.told(line.decode(errors="replace"))

    def told(self, line):
        what, _, rest = line.partition("\t")
        if what == "begin":
            self.current, self.started, self.heavy = int(rest), time.monotonic(), False
        elif what == "step":
            self.step = rest
        elif what == "work":
            self.heavy = rest == "1"
        elif what == "end":
            kind, _, text = rest.partition("\t")
            yield self.finding(kind, text)
            self.step = "done"

    def finding(self, kind, text):
        name = self.batch.names[self.current]
        return Finding(self.batch.source, self.batch.seed, name, kind, text, time.monotonic() - self.started)

    def ended(self):
        _, status = os.waitpid(self.pid, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return
        how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        yield self.finding("CRASH", f"{self.step}: {how}: {self.words()}")

    def overdue(self):
        return self.step != "done" and time.monotonic() - self.started > self.limits.seconds

    def kill(self):
        """End a child that takes too long; its finding."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        if self.heavy and self.step in ("invoke", "signature call"):
            return self.finding(
                SLOW, f"{self.step}: more than {self.limits.seconds:g} s for a model that asks for much"
            )
        return self.finding("HANG", f"{self.step}: more than {self.limits.seconds:g} s")

    def words(self):
        """What a dying process said: the summary of a sanitizer, else its last line."""
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        return sanitizer_report(text) or text.strip().rpartition("\n")[2][:300]

    def close(self):
        os.close(self.pipe)
        self.log.close()


def run_batches(batches, jobs, limits):
    """Findings as they come; the batches may be a generator."""
    batches, children = iter(batches), []
    try:
        while True:
            while len(children) < jobs and (batch := next(batches, None)) is not None:
                children.append(Child(batch, 0, limits))
            if not children:
                return
            ready, _, _ = select.select([child.pipe for child in children], [], [], 0.5)
            for child in list(children):
                gone = False
                if child.pipe in ready:
                    for finding in child.findings():
                        if finding is None:
                            gone = True
                        else:
                            yield finding
                elif child.overdue():
                    yield child.kill()
                    gone = True
                if gone:
                    children.remove(child)
                    child.close()
                    if child.current + 1 < len(child.batch.names):
                        children.append(Child(child.batch, child.current + 1, limits))
    finally:
        for child in children:
            child.kill()
            child.close()


# ---- in the child


def _work(batch, start, limits, pipe, log):
    os.dup2(log, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits.bytes:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + limits.bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    def tell(*words):
        os.write(pipe, ("\t".join(words).replace("\n", " ") + "\n").encode(errors="replace"))

    for place in range(start, len(batch.names)):
        tell("begin", str(place))
        heard = os.fstat(2).st_size
        kind, text = _one(batch, batch.names[place], limits, tell)
        if os.fstat(2).st_size > heard:
            report = sanitizer_report(os.pread(2, 1 << 20, heard).decode(errors="replace"))
            if report:
                kind, text = "SANITIZER", report
        tell("end", kind, text)
    os._exit(0)


def _one(batch, name, limits, tell):
    number = int(name.partition(":")[2].partition("/")[0])
    rng = np.random.default_rng([batch.seed, number])
    resolver = ("BUILTIN_REF", "AUTO", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")[number % 3]
    preserve_all = number % 5 == 0
    tell("step", "mutate")
    try:
        content = batch.source.mutant(name, batch.seed)
    except MemoryError:
        return OK, "the mutation itself is too large"

    def stage(what, value):
        tell(what, str(value if what == "step" else int(value > limits.work)))

    try:
        return exercise(content, resolver, rng, stage, preserve_all)
    except UnexpectedError as error:
        return "UNEXPECTED", str(error)


def sanitizer_report(text):
    """The first finding of AddressSanitizer or UndefinedBehaviorSanitizer in a process's output, or an empty string."""
    error = re.search(r"ERROR: AddressSanitizer: ([^\n]*)", text)
    if error:
        frames = re.findall(r"#\d+ 0x[0-9a-f]+ in (\S+) (\S+)", text)
        ours = [f"{function} {place}" for function, place in frames if "tflm_cy" in place][:3]
        return f"{error.group(1)[:120]} | {' < '.join(ours)}"
    error = re.search(r"(\S*): runtime error: ([^\n]*)", text)
    return f"{error.group(1)}: {error.group(2)}" if error else ""
