"""Two things timed in turn, so that whatever the machine does meanwhile happens to both.

    pairs = alternate(ours, theirs, pairs=150, burst=0.002, budget=20.0)
    pairs.summary()["ratio_median"]  # 2.0: theirs takes twice as long

A burst is as many consecutive calls as fit into `burst` seconds, at least one; a pair is a burst of each, and who
begins changes from pair to pair. Times are seconds per call. The ratio of the minima compares undisturbed runs; the
median of the pairs' ratios compares neighbours in time, so a slow drift of the clock rate or the load cancels.
"""

import gc
import time
from dataclasses import dataclass, field
from itertools import repeat
from statistics import median, quantiles

LEAST_PAIRS = 5


@dataclass
class Pairs:
    """Seconds per call, burst by burst; `ours[i]` and `theirs[i]` are neighbours. `calls` are the calls per burst."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    calls: tuple[int, int] = (1, 1)

    def ratios(self):
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True)]

    def summary(self):
        """Plain numbers; every ratio is theirs / ours, and `ratio_quartiles` show how far the pairs agree."""
        ratios = self.ratios()
        low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        return {
            "pairs": len(ratios),
            "calls_per_burst": list(self.calls),
            "ours_min": min(self.ours),
            "ours_median": median(self.ours),
            "theirs_min": min(self.theirs),
            "theirs_median": median(self.theirs),
            "ratio_min": min(self.theirs) / min(self.ours),
            "ratio_median": median(ratios),
            "ratio_quartiles": [low, high],
        }


def alternate(ours, theirs, pairs=150, burst=0.002, budget=20.0, clock=time.perf_counter):
    """Time bursts of both in turn, `pairs` times, or until `budget` seconds are used and there are LEAST_PAIRS."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        calls = (ours, theirs)
        counts = [calls_per_burst(call, burst, clock) for call in calls]
        samples, start = ([], []), clock()
        for pair in range(pairs):
            for side in (0, 1) if pair % 2 == 0 else (1, 0):
                samples[side].append(time_burst(calls[side], counts[side], clock) / counts[side])
            if pair + 1 >= LEAST_PAIRS and clock() - start >= budget:
                break
    finally:
        if collecting:
            gc.enable()
    return Pairs(*samples, calls=tuple(counts))


def time_burst(call, count, clock=time.perf_counter):
    """Seconds for `count` calls. What the last call returned is freed after the clock is read."""
    start = clock()
    for _ in repeat(None, count):
        kept = call()
    elapsed = clock() - start
    del kept
    # A clock that did not move would make a ratio infinite.
    return max(elapsed, 1e-9)


def calls_per_burst(call, burst, clock=time.perf_counter):
    """How many calls fit into a burst, at least one; finding out warms the call up."""
    count = 1
    while True:
        # The faster of two: the first one ever pays for page faults and lazy imports.
        elapsed = min(time_burst(call, count, clock) for _ in range(2))
        if elapsed >= burst / 4:
            return max(1, int(count * burst / elapsed))
        count *= 2
