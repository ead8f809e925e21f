"""How far a run is: rich where it is installed, else tqdm, else a line now and then. All of it goes to stderr."""

import sys
import time


def track(results, total, tally=None):
    """Pass results on, showing how many of `total` have come (and in plain lines what a `tally` has counted)."""
    if not sys.stderr.isatty():
        return _lines(results, total, tally)
    for make in (_rich, _tqdm):
        try:
            return make(results, total)
        except ImportError:
            continue
    return _lines(results, total, tally)


def _rich(results, total):
    from rich.console import Console
    from rich.progress import track as rich_track

    return rich_track(results, "comparing", total=total, console=Console(stderr=True), transient=True)


def _tqdm(results, total):
    from tqdm import tqdm

    return tqdm(results, "comparing", total=total, leave=False)


def _lines(results, total, tally, every=15.0):
    last = time.monotonic()
    for count, result in enumerate(results, 1):
        yield result
        if time.monotonic() - last > every:
            last = time.monotonic()
            found = "" if tally is None else ": " + ", ".join(f"{n} {kind}" for kind, n in tally.total().items())
            print(f"{count} of {total}{found}", file=sys.stderr, flush=True)
