"""The stated bars, judged from a run's rows: met, missed, or not judged because nothing was measured for them.

A bar on a ratio asks for it twice, of the minima and of the median of pairs: neither a lucky minimum nor a noisy
neighbour alone meets it.
"""

from dataclasses import asdict, dataclass

from .sides import OURS

MET, MISSED, NOT_JUDGED = "met", "missed", "not judged"
SIZE_LIMIT = 6_000_000
CALL_RATIO = 2.0


@dataclass(frozen=True)
class Bar:
    text: str
    verdict: str
    details: tuple[str, ...]

    def to_json(self):
        return asdict(self)


def judge(results):
    """All bars, in the order in which they are stated. `results` maps a section to its rows."""
    return [_calls(results), _latency(results), _import(results), _size(results)]


def _calls(results):
    rows = [
        row
        for row in results.get("calls", ())
        if row["theirs"] == "tensorflow" and "hello_world" in row["model"] and _ours_is_answerable(row)
    ]
    return _ratio_bar(
        f"hello_world: set + invoke + get take at most 1/{CALL_RATIO:g} of TensorFlow's time",
        [(row, row.get("together")) for row in rows],
        CALL_RATIO,
    )


def _latency(results):
    rows = [
        row
        for row in results.get("latency", ())
        if row["theirs"] == "tensorflow" and row["mode"] == "BUILTIN_REF" and _ours_is_answerable(row)
    ]
    text = "no model is slower than TensorFlow's BUILTIN_REF"
    return _ratio_bar(text, [(row, None if "not_run" in row else row) for row in rows], 1.0)


def _ours_is_answerable(row):
    """A model that TensorFlow itself cannot run is no comparison; one that only we cannot run misses the bar."""
    return "not_run" not in row or row["blamed"] in (None, OURS)


def _ratio_bar(text, pairs, least):
    """A bar on (row, summary) pairs; no summary means not run."""
    if not pairs:
        return Bar(text, NOT_JUDGED, ("no such comparison was run",))
    failures = []
    for row, summary in pairs:
        if summary is None:
            failures.append(f"{row['model']} {row['mode']}: not run, {row['not_run']}")
        elif min(summary["ratio_min"], summary["ratio_median"]) < least:
            failures.append(
                f"{row['model']} {row['mode']}: {summary['ratio_min']:.2f} (minima), "
                f"{summary['ratio_median']:.2f} (median of pairs)"
            )
    if failures:
        return Bar(text, MISSED, (f"{len(failures)} of {len(pairs)} comparisons", *failures))
    worst = min(min(s["ratio_min"], s["ratio_median"]) for _, s in pairs)
    return Bar(text, MET, (f"{len(pairs)} comparisons, smallest ratio {worst:.2f}",))


def _import(results):
    text = "import tflm_cy takes no more time and memory than ai_edge_litert.interpreter"
    rows = {row["side"]: row for row in results.get("import", ()) if "not_run" not in row}
    if OURS not in rows or "ai_edge_litert" not in rows:
        return Bar(text, NOT_JUDGED, ("both have to be installed and measured",))
    ours, theirs = rows[OURS], rows["ai_edge_litert"]
    details = tuple(
        f"{key} {ours[key] * scale:.1f} against {theirs[key] * scale:.1f} {unit}"
        for key, scale, unit in (("seconds", 1e3, "ms"), ("rss", 1e-6, "MB"))
    )
    met = ours["seconds"] <= theirs["seconds"] and ours["rss"] <= theirs["rss"]
    return Bar(text, MET if met else MISSED, details)


def _size(results):
    text = f"the installed package is smaller than {SIZE_LIMIT / 1e6:g} MB"
    for row in results.get("size", ()):
        if row["side"] == OURS and "total" in row:
            return Bar(text, MET if row["total"] < SIZE_LIMIT else MISSED, (f"{row['total'] / 1e6:.2f} MB",))
    return Bar(text, NOT_JUDGED, ("not measured",))
