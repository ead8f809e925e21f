"""Run cases on two sides and compare: as many lanes as cores, each with one process per side.

    results = list(run(cases, Side("tensorflow"), Side("tflm_cy"), jobs=2))

Results come as they are ready. The first side decides: where its process dies or hangs there is nothing to compare.
"""

import queue
import re
import threading
from dataclasses import dataclass
from itertools import product

from .cache import OutcomeCache
from .case import Case
from .crashes import crash_reason
from .deviations import deviation_for
from .outcome import Outcome, difference
from .process import SideFailedError, SideProcess

# Verdicts, in the order of the report's columns.
EQUAL, REFUSED, DEVIATES, DIFFERS, NOT_COMPARED = "equal", "refused", "deviates", "differs", "not compared"
VERDICTS = (EQUAL, REFUSED, DEVIATES, DIFFERS, NOT_COMPARED)


@dataclass(frozen=True)
class Side:
    """A side by name, with its own Python when it lives in another environment, and a mode that overrides the run's."""

    name: str
    mode: str | None = None
    python: str | None = None

    def label(self, mode):
        return f"{self.name}:{self.mode or mode}"


@dataclass
class Result:
    case: Case
    mode: str
    a: Outcome
    b: Outcome
    verdict: str
    difference: str | None = None
    reason: str | None = None
    threads: int = 1


def judge(case, mode, a, b, same_side=False):
    """The verdict on two outcomes of a case; `a` decides, but its death excuses nobody else's."""
    if a.status in ("crashed", "hung"):
        survived = same_side or b.status not in ("crashed", "hung")
        verdict, text = NOT_COMPARED if survived else DIFFERS, f"{a.summary()}  <>  {b.summary()}"
        reason = next(filter(None, (crash_reason(name, mode) for name in (case.id, *case.origins))), None)
        return Result(case, mode, a, b, verdict, text, reason if survived else None)
    found = difference(a, b, calls=mode != "MICRO")  # TFLM's kernels look at many types when they run only
    if found is None:
        return Result(case, mode, a, b, EQUAL if a.status == "ok" else REFUSED)
    what = re.sub(r"^(before|call \d+, \w+\(.*?\)): ", "", found)
    deviation = next(filter(None, (deviation_for(name, what, mode, case) for name in (case.id, *case.origins))), None)
    if deviation:
        return Result(case, mode, a, b, DEVIATES, found, deviation.reason)
    return Result(case, mode, a, b, DIFFERS, found)


class _Lane(threading.Thread):
    """Takes (case, mode, threads) from the queue, runs both sides one after the other, puts results."""

    def __init__(self, jobs, results, sides, caches, timeout):
        super().__init__(daemon=True)
        self._jobs, self._results, self._caches = jobs, results, caches
        self._sides, self._stopped = sides, False
        self._processes = [SideProcess(side.name, timeout, side.python) for side in sides]

    def run(self):
        try:
            while (job := self._jobs.get()) is not None and not self._stopped:
                self._results.put(self._compare(*job))
        except Exception as error:  # the consumer raises it: a lane that ends silently would stop the run
            self._results.put(error)
        finally:
            for process in self._processes:
                process.close()
            self._results.put(None)

    def stop(self):
        """End the lane's processes, whatever they are doing: a run that was left early waits for nobody."""
        self._stopped = True
        for process in self._processes:
            process.kill()

    def _compare(self, case, mode, threads):
        digest = case.digest()
        outcomes = []
        for side, process, cache in zip(self._sides, self._processes, self._caches, strict=True):
            side_mode = side.mode or mode
            outcome = cache.get(digest, side_mode, threads)
            if outcome is None:
                outcome = process.run(case, side_mode, threads)
                cache.put(digest, side_mode, outcome, threads)
            outcomes.append(outcome)
        result = judge(case, mode, *outcomes, same_side=self._sides[0].name == self._sides[1].name)
        result.threads = threads
        return result


def run(cases, a, b, modes=("BUILTIN_REF",), jobs=1, timeout=120.0, use_cache=True, threads=(1,)):
    """Yield a Result per case, mode and number of threads. Raises SideFailedError when a side cannot be used at all."""
    pending, results = queue.Queue(maxsize=4 * jobs), queue.Queue()
    caches = [OutcomeCache(side.name, use_cache, side.python) for side in (a, b)]
    lanes = [_Lane(pending, results, (a, b), caches, timeout) for _ in range(jobs)]
    stopped = threading.Event()
    settings = list(product(modes, threads))
    feeder = threading.Thread(target=_feed, args=(cases, settings, pending, jobs, stopped, results), daemon=True)
    for thread in (*lanes, feeder):
        thread.start()
    try:
        running = jobs
        while running:
            result = results.get()
            if result is None:
                running -= 1
            elif isinstance(result, Exception):
                raise result
            else:
                yield result
    finally:
        stopped.set()
        for lane in lanes:
            lane.stop()


def _feed(cases, settings, pending, jobs, stopped, results):
    """Fill the queue; a generator of cases that fails is the run's failure."""
    try:
        for case in cases:
            for setting in settings:
                while not stopped.is_set():
                    try:
                        pending.put((case, *setting), timeout=0.2)
                        break
                    except queue.Full:
                        continue
                if stopped.is_set():
                    return
    except Exception as error:
        results.put(error)
    finally:
        for _ in range(jobs):
            pending.put(None)


__all__ = ["VERDICTS", "Result", "Side", "SideFailedError", "judge", "run"]
