"""A whole run: which measurements are asked for, done one after the other, what did not run beside what did.

    for section, row in Run(cases, modes, theirs, sections, settings, timeout, threads=(1, 2)): ...

A row is a plain dict: its model, mode and side(s), then the section's figures, or `not_run` with the reason and
`blamed`, the side that failed where it is known. "import" and "size" have one row per side. Only "latency" is measured with every
number of threads that is asked for, the rest with the first; so is "operators", whose kinds without a case of a size have no row.
"""

import signal
import sys
from functools import partial

from compat.progress import track

from . import calls, imports, memory, size
from .failure import NotRunError
from .kinds import kind_of
from .models import hello_worlds, name_of
from .pair import PairProcess
from .sides import OURS, load_side

SECTIONS = ("size", "import", "calls", "latency", "load", "rss")  # what is measured if nothing is asked for
OPERATORS = "operators"
INTERRUPTED = 130  # an exit code


def collect(run, sections):
    """The rows of a run by section, and whether it came to its end: an interrupt or SIGTERM leaves what has been measured."""
    results = {section: [] for section in sections}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for section, row in track(run, len(run)):
            results[section].append(row)
    except KeyboardInterrupt:
        print(f"interrupted after {sum(map(len, results.values()))} of {len(run)} rows", file=sys.stderr)
        return results, False
    return results, True


class Run:
    """Iterable over (section, row); len() is the number of rows."""

    def __init__(self, cases, modes, theirs, sections, settings, timeout=300.0, ours=OURS, threads=None, operators=()):
        self.cases, self.modes, self.settings, self.timeout = cases, modes, settings, timeout
        self.ours, self.theirs = load_side(ours), [load_side(name) for name in theirs]
        self.threads = tuple(threads or (settings.threads,))
        self.operators = list(operators)
        self._pair = None
        self._imports = None
        self._sized = None
        plans = {"size": self._sizes, "import": self._import_costs, "rss": self._rss, OPERATORS: self._operators}
        paired = [section for section in sections if section not in plans]
        self._steps = [step for section in sections if section in plans for step in plans[section]()]
        self._steps += [step for side in self.theirs for step in self._paired(side, paired)]

    def __len__(self):
        return len(self._steps)

    def __iter__(self):
        try:
            for section, row, measure in self._steps:
                try:
                    figures = measure()
                except NotRunError as error:
                    figures = {"not_run": error.reason, "blamed": error.blamed}
                if figures is not None:
                    yield section, {**row, **figures}
        finally:
            if self._pair:
                self._pair.close()

    def _sizes(self):
        for side in (self.ours, *self.theirs):
            yield "size", {"side": side.name}, partial(size.measure, side)

    def _import_costs(self):
        for side in (self.ours, *self.theirs):
            yield "import", {"side": side.name}, partial(self._import_cost, side)

    def _import_cost(self, side):
        # All sides take turns, so the first row's wait pays for all.
        if self._imports is None:
            self._imports = imports.measure([self.ours, *self.theirs], self.settings.imports, self.timeout)
        return self._imports[side.name]

    def _rss(self):
        settings = self.settings
        for case in self.cases:
            for mode in self.modes:
                for side in (self.ours, *self.theirs):
                    if self._is_new(side, mode):
                        row = {"model": name_of(case), "mode": side.mode(mode), "side": side.name}
                        arguments = (side, case, mode, settings.threads, settings.fresh, self.timeout)
                        yield "rss", row, partial(memory.measure, *arguments)

    def _operators(self):
        for theirs in self.theirs:
            for threads in self.threads:
                settings = self.settings if threads == self.settings.threads else self.settings.with_threads(threads)
                for sized in self.operators:
                    for mode in self.modes:
                        if self._is_new(theirs, mode):
                            row = {"model": sized.name, "mode": mode, "theirs": theirs.name, "threads": threads}
                            row["kind"] = sized.kind.dtype
                            yield OPERATORS, row, partial(self._measure_operator, theirs, sized, mode, settings)

    def _measure_operator(self, theirs, sized, mode, settings):
        if self._sized is None or self._sized[0] is not sized:  # one case for all modes
            self._sized = sized, sized.case()
        case = self._sized[1]
        return case and {"shapes": case.text, **self._measure_pair(theirs, OPERATORS, case, mode, settings)}

    def _paired(self, theirs, sections):
        tiny = [case for case in self.cases if calls.is_tiny(case)]
        if not any("hello_world" in name_of(case) for case in tiny):
            tiny += hello_worlds()
        for section in sections:
            for threads in self.threads if section == "latency" else self.threads[:1]:
                settings = self.settings if threads == self.settings.threads else self.settings.with_threads(threads)
                for case in tiny if section == "calls" else self.cases:
                    for mode in self.modes:
                        if self._is_new(theirs, mode):
                            row = {"model": name_of(case), "mode": mode, "theirs": theirs.name, "threads": threads}
                            row["kind"] = kind_of(case.model)
                            yield section, row, partial(self._measure_pair, theirs, section, case, mode, settings)

    def _is_new(self, side, mode):
        """A side with one arithmetic is measured against the first mode only."""
        return mode in side.modes or mode == self.modes[0]

    def _measure_pair(self, theirs, section, case, mode, settings):
        # The process is pinned to a CPU, or not, when it starts.
        if self._pair is None or self._pair.theirs is not theirs or self._pinned != settings.cpu:
            if self._pair:
                self._pair.close()
            self._pair = PairProcess(self.ours, theirs, self.timeout)
            self._pinned = settings.cpu
        try:
            return self._pair.measure(section, case, mode, settings)
        except NotRunError as error:
            if not error.fatal:
                raise self._shared_blame(error, theirs, case, mode) from None
            culprit = self._dies_alone(theirs, case, mode)
            alone = f"; {culprit} fails alone, too" if culprit else ""
            raise NotRunError(error.reason + alone, culprit, fatal=True) from None

    def _shared_blame(self, error, theirs, case, mode):
        """Ours is opened first: what it refuses is no comparison when theirs refuses it, too."""
        if error.blamed == self.ours.name:
            try:
                memory.measure(theirs, case, mode, self.settings.threads, 1, self.timeout)
            except NotRunError:
                return NotRunError(f"{error.reason}; {theirs.name} fails, too", theirs.name)
        return error

    def _dies_alone(self, theirs, case, mode):
        """Which of the two also fails in a process of its own; None when both or neither do.

        Memory that one side damages may kill the process in the other's call.
        """
        failed = []
        for side in (self.ours, theirs):
            try:
                memory.measure(side, case, mode, self.settings.threads, 1, self.timeout)
            except NotRunError:
                failed.append(side.name)
        return failed[0] if len(failed) == 1 else None
