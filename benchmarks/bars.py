"""The stated bars, judged from a run's rows: met, missed, or not judged because nothing was measured for them.

A bar on times asks for them twice, of the minima and of the median of pairs: neither a lucky minimum nor a noisy neighbour alone meets
it. Ratios are ours / theirs here, so a bar is the most that is allowed. A missed bar names every offender.
"""

from dataclasses import asdict, dataclass

from .means import by_kind, geometric_mean, times_ratio
from .sides import OURS

MET, MISSED, NOT_JUDGED = "met", "missed", "not judged"
SIZE_LIMIT = 10_000_000
HELLO_WORLD = 0.3
STREAMING = 0.6, ("micro_hey_jarvis", "micro_okay_nabu")
SLOWEST = 0.98
TILES = "amx"  # kernels that multiply matrices of bytes in tiles: without them products of bytes are asked for less
WITHOUT_TILES = {"int8": 0.65, "uint8": None, "dynamic range": None}  # None: nothing is asked for
SLOWEST_WITHOUT_TILES = 1.1
THREADS_NOISE = 1.05  # two threads against one
KIND_MEANS = {"int8": 0.35, "uint8": 0.25, "float32": 0.75, "float16": 0.75, "dynamic range": 0.50}
MODE_MEANS = {"BUILTIN_WITHOUT_DEFAULT_DELEGATES": 0.5, "BUILTIN_REF": 0.1}
OPERATOR_MEANS = {"AUTO": 0.55, "BUILTIN_WITHOUT_DEFAULT_DELEGATES": 0.40, "BUILTIN_REF": 0.17}
OPERATOR_ROWS = 1.05, 0.02, 1.3  # rows above the first are at most this share of all, and none is above the last


@dataclass(frozen=True)
class Bar:
    text: str
    verdict: str
    details: tuple[str, ...]

    def to_json(self):
        return asdict(self)


def judge(results, kernels=TILES):
    """All bars, in the order in which they are stated. `results` maps a section to its rows; `kernels`: those that were measured."""
    means = KIND_MEANS if kernels == TILES else {**KIND_MEANS, **WITHOUT_TILES}
    slowest = SLOWEST if kernels == TILES else SLOWEST_WITHOUT_TILES
    latency = [row for row in results.get("latency", ()) if is_tensorflow(row)]
    return [
        *(
            bar
            for threads in (1, 2)
            for bar in (_kinds(latency, threads, means), _slowest(latency, "AUTO", threads, slowest, ()))
        ),
        _two_threads(latency),
        _slowest(latency, "AUTO", 1, *STREAMING),
        *(_mode(latency, mode, limit) for mode, limit in MODE_MEANS.items()),
        _slowest(latency, "BUILTIN_REF", 1, 1.0, ()),
        _calls(results),
        _load(results),
        _rss(results),
        _import(results),
        _size(results),
        *(_operators(results, mode, threads) for mode in OPERATOR_MEANS for threads in (1, 2)),
    ]


def is_tensorflow(row):
    """A model that TensorFlow itself cannot run is no comparison; one that only we cannot run misses the bar."""
    return row["theirs"] == "tensorflow" and ("not_run" not in row or row["blamed"] in (None, OURS))


def _of(rows, mode, threads=1):
    return [row for row in rows if row["mode"] == mode and row.get("threads", 1) == threads]


def _limited(text, measured, limit, failures=()):
    """A bar on (name, ratio of minima, ratio of medians): none above the limit, no failures."""
    if not measured and not failures:
        return Bar(text, NOT_JUDGED, ("no such comparison was run",))
    above = sorted((entry for entry in measured if max(entry[1:]) > limit), key=lambda entry: -max(entry[1:]))
    if above or failures:
        count = f"{len(above) + len(failures)} of {len(measured) + len(failures)} comparisons"
        lines = (f"{name}: {minima:.2f} (minima), {medians:.2f} (median of pairs)" for name, minima, medians in above)
        return Bar(text, MISSED, (count, *lines, *failures))
    name, *worst = max(measured, key=lambda entry: max(entry[1:]))
    return Bar(text, MET, (f"{len(measured)} comparisons, most {max(worst):.2f} ({name})",))


def _split(rows, summary=lambda row: row):
    """What ran as (name, ratio, ratio), and a line for each that did not."""
    ran = [(row["model"], *times_ratio(summary(row))) for row in rows if "not_run" not in row]
    return ran, tuple(f"{row['model']}: not run, {row['not_run']}" for row in rows if "not_run" in row)


def _kinds(latency, threads, limits):
    text = f"AUTO, {_count(threads)}: geometric means of ours / theirs at most " + ", ".join(
        f"{kind} {limit:.2f}" for kind, limit in limits.items() if limit is not None
    )
    found = {mean["group"]: mean for mean in by_kind(_of(latency, "AUTO", threads)) if mean["group"] in KIND_MEANS}
    if not found:
        return Bar(text, NOT_JUDGED, ("no such comparison was run",))
    lines, missed = [], False
    for kind, mean in found.items():
        asked = limits[kind] is not None
        above = asked and max(mean["of_minima"], mean["of_medians"]) > limits[kind]
        missed = missed or above
        lines.append(
            f"{kind}: {mean['of_minima']:.3f} (minima), {mean['of_medians']:.3f} (medians) of {mean['models']} models"
            + (f", above {limits[kind]:.2f}" if above else "" if asked else ", no bar without tiles")
        )
    judged = any(limits[kind] is not None for kind in found)
    return Bar(text, MISSED if missed else MET if judged else NOT_JUDGED, tuple(lines))


def _count(threads):
    return "one thread" if threads == 1 else f"{threads} threads"


def _slowest(latency, mode, threads, limit, names):
    rows = [row for row in _of(latency, mode, threads) if not names or any(name in row["model"] for name in names)]
    which = f" of {', '.join(names)}" if names else ""
    ran, failures = _split(rows)
    return _limited(f"{mode}, {_count(threads)}: no model{which} above {limit:g}", ran, limit, failures)


def _two_threads(latency):
    text = f"AUTO: no model slower with two threads than with one (beyond {THREADS_NOISE:g})"
    ran = [
        (row["model"], *times_ratio(row["beside_one_thread"]))
        for row in _of(latency, "AUTO", 2)
        if "beside_one_thread" in row
    ]
    return _limited(text, ran, THREADS_NOISE)


def _mode(latency, mode, limit):
    text = f"{mode}, one thread: geometric mean of ours / theirs at most {limit:g}"
    rows = [row for row in _of(latency, mode) if "not_run" not in row]
    if not rows:
        return Bar(text, NOT_JUDGED, ("no such comparison was run",))
    minima, medians = (geometric_mean(times_ratio(row)[i] for row in rows) for i in (0, 1))
    verdict = MET if max(minima, medians) <= limit else MISSED
    return Bar(text, verdict, (f"{minima:.3f} (minima), {medians:.3f} (medians) of {len(rows)} models",))


def _calls(results):
    rows = [row for row in results.get("calls", ()) if is_tensorflow(row) and "hello_world" in row["model"]]
    ran, failures = _split(rows, lambda row: row["together"])
    return _limited(
        f"hello_world: set + invoke + get take at most {HELLO_WORLD:g} of TensorFlow's time",
        ran,
        HELLO_WORLD,
        failures,
    )


def _load(results):
    ran, failures = _split([row for row in results.get("load", ()) if is_tensorflow(row)])
    return _limited("load + allocate take no longer than TensorFlow's, on every model", ran, 1.0, failures)


def _rss(results):
    """Growth from behind the import to behind the third run."""
    text = "loading and running a model takes no more memory than in TensorFlow, import left out"
    grown = {}
    for row in results.get("rss", ()):
        if row["side"] in (OURS, "tensorflow") and "not_run" not in row:
            grown.setdefault((row["model"], row["mode"]), {})[row["side"]] = row["rss"] - row["import_rss"]
    pairs = {place: both for place, both in grown.items() if len(both) == 2}
    if not pairs:
        return Bar(text, NOT_JUDGED, ("no such comparison was run",))
    above = {place: both for place, both in pairs.items() if both[OURS] > both["tensorflow"]}
    lines = tuple(
        f"{model} {mode}: {both[OURS] / 1e6:.2f} against {both['tensorflow'] / 1e6:.2f} MB"
        for (model, mode), both in above.items()
    )
    if above:
        return Bar(text, MISSED, (f"{len(above)} of {len(pairs)} comparisons", *lines))
    most = max(both[OURS] / max(both["tensorflow"], 1) for both in pairs.values())
    return Bar(text, MET, (f"{len(pairs)} comparisons, at most {most:.2f} of TensorFlow's",))


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


def _operators(results, mode, threads):
    """By the better of minima and medians: a row of some microseconds on a busy machine has one of them wrong."""
    limit, (above, share, most) = OPERATOR_MEANS[mode], OPERATOR_ROWS
    text = (
        f"operators, {mode}, {_count(threads)}; mean at most {limit:.2f}, {share:.0%} above {above}, none above {most}"
    )
    rows = [row for row in _of(results.get("operators", ()), mode, threads) if is_tensorflow(row)]
    ran, failures = _split(rows)
    if not ran:
        return Bar(text, NOT_JUDGED, ("no such comparison was run",))
    ratios = {name: min(pair) for name, *pair in ran}
    mean = geometric_mean(min(pair) for _, *pair in ran)
    slow = sorted((name for name in ratios if ratios[name] > above), key=lambda name: -ratios[name])
    missed = mean > limit or len(slow) > share * len(ran) or any(ratios[name] > most for name in slow) or failures
    lines = (
        f"mean {mean:.3f}; {len(slow)} of {len(ran)} above {above}",
        *(f"{name}: {ratios[name]:.2f}" for name in slow),
    )
    return Bar(text, MISSED if missed else MET, (*lines, *failures))
