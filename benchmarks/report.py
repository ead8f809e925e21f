"""A run as text for the terminal; its JSON is the rows themselves."""

from collections import Counter

from tflm_cy.report import duration, text_table

from .calls import CALLS
from .means import by_folder, by_kind, means, times_ratio

TITLES = {
    "size": "Installed size",
    "import": "Import, after numpy, in fresh processes (medians)",
    "calls": "Calls on tiny models: time per call, ours / theirs (ratio of medians of pairs)",
    "latency": "Latency of invoke, alternating bursts; ratio = theirs / ours",
    "operators": "Latency of single operators, alternating bursts, the slowest first; ratio = ours / theirs",
    "load": "Load + allocate, alternating; ratio = theirs / ours",
    "rss": "Fresh process that loads and runs a model; memory over a process with numpy (medians)",
}

SHOWN = 0.95  # operators above are listed


def to_text(results, bars=()):
    """Every section that has rows, then what was not run, then the bars."""
    lines = []
    for section, title in TITLES.items():
        rows = results.get(section, ())
        shown = [row for row in rows if "not_run" not in row]
        if rows:
            lines += ["", title]
            lines.append(text_table(*TABLES[section](shown)) if shown else "nothing ran")
            lines += _not_run([row for row in rows if "not_run" in row])
            if section == "latency":
                lines += _means(rows)
            if section == "operators":
                lines += _operator_means(shown)
            unequal = [row for row in shown if row.get("same_bytes") is False]
            lines += [f"{_verdict(row)}: {_place(row)}" for row in unequal]
    return "\n".join(lines + bar_lines(bars))


def bar_lines(bars):
    """Verdict and text of each, then what it is about."""
    lines = []
    for bar in bars:
        lines += [""] if bar is bars[0] else []
        lines += [f"{bar.verdict.upper()}: {bar.text}", *(f"    {detail}" for detail in bar.details)]
    return lines


def _means(rows):
    """Geometric means, as ours / theirs: what the bars are about."""
    lines = []
    for title, found in (("kind", by_kind(rows)), ("folder", by_folder(rows))):
        if found:
            lines += ["", f"Geometric means by {title}, ours / theirs: less is faster"]
            lines.append(text_table(*means_table(found, title)))
    return [*lines, ""]


def means_table(found, title):
    return ("against", "mode", "threads", title, "models", "of minima", "of medians", "slowest", "model"), [
        (
            *(mean[key] for key in ("theirs", "mode", "threads", "group", "models")),
            *(f"{mean[key]:.3f}" for key in ("of_minima", "of_medians", "slowest_ratio")),
            mean["slowest"],
        )
        for mean in found
    ]


def _operator_means(rows):
    """One line per mode and number of threads, one per type."""
    lines = []
    for title, group in (("all", lambda row: "all"), ("type", lambda row: row["kind"])):
        lines.append(text_table(*means_table(means(rows, group), title)))
    return ["", "Geometric means, ours / theirs: less is faster", *lines]


def _place(row):
    return " ".join(str(row[key]) for key in ("model", "mode", "theirs", "side") if key in row)


def _verdict(row):
    return f"different bytes, as compat expects ({row['deviation']})" if "deviation" in row else "different bytes"


def _not_run(rows):
    """A line per model; equal reasons of many models in one."""
    counts = Counter(row["not_run"] for row in rows)
    lines = [f"not run: {_place(row)}: {row['not_run']}" for row in rows if counts[row["not_run"]] == 1]
    for reason, count in counts.items():
        if count > 1:
            places = [_place(row) for row in rows if row["not_run"] == reason]
            lines.append(f"not run: {', '.join(places[:4])}{f' and {count - 4} more' if count > 4 else ''}: {reason}")
    return lines


def megabytes(count):
    return f"{count / 1e6:.2f} MB"


def ratio(value):
    return f"{value:.2f}"


def _size_table(rows):
    kinds = ("total", "libraries", "python", "data", "bytecode")
    return ("package", *kinds, "files"), [
        (row["side"], *(megabytes(row[kind]) for kind in kinds), str(row["files"])) for row in rows
    ]


def _import_table(rows):
    return ("statement", "time", "fastest", "RSS", "peak"), [
        (
            row["statement"],
            *(duration(row[key]) for key in ("seconds", "seconds_min")),
            *(megabytes(row[key]) for key in ("rss", "peak")),
        )
        for row in rows
    ]


def _calls_table(rows):
    def cell(summary):
        ours, theirs = duration(summary["ours_median"]), duration(summary["theirs_median"])
        return f"{ours} / {theirs} ({ratio(summary['ratio_median'])})"

    return ("model", "mode", "against", *CALLS[:-1], "together", "of minima"), [
        (
            *(row[key] for key in ("model", "mode", "theirs")),
            *(cell(row[call]) for call in CALLS),
            ratio(row["together"]["ratio_min"]),
        )
        for row in rows
    ]


def _pairs_table(rows):
    head = ("model", "mode", "threads", "against", "ours best", "median", "theirs best", "median")
    return (*head, "of minima", "of medians", "quartiles", "pairs"), [
        (
            *(row.get(key, 1) for key in ("model", "mode", "threads", "theirs")),
            *(duration(row[key]) for key in ("ours_min", "ours_median", "theirs_min", "theirs_median")),
            *(ratio(row[key]) for key in ("ratio_min", "ratio_median")),
            "..".join(map(ratio, row["ratio_quartiles"])),
            str(row["pairs"]),
        )
        for row in rows
    ]


def _operators_table(rows):
    """The slowest first; of what is faster only the number is of interest."""
    head = ("operator/type/variant#seed size", "mode", "threads", "ours", "theirs", "of minima", "of medians", "shapes")
    ordered = sorted(rows, key=lambda row: -worse(row))
    shown = [row for row in ordered if worse(row) > SHOWN] or ordered[:20]
    return head, [
        (
            *(row[key] for key in ("model", "mode", "threads")),
            *(duration(row[key]) for key in ("ours_median", "theirs_median")),
            *(ratio(value) for value in times_ratio(row)),
            row["shapes"][:90],
        )
        for row in shown
    ]


def worse(row):
    """The better of the two ratios, ours / theirs: what noise made slow in one of them is not slow."""
    return min(times_ratio(row))


def _rss_table(rows):
    return ("model", "mode", "side", "RSS", "peak", "of it import", "whole process", "import", "to first output"), [
        (
            *(row[key] for key in ("model", "mode", "side")),
            *(megabytes(row[key]) for key in ("rss", "peak", "import_rss", "total")),
            *(duration(row[key]) for key in ("import_seconds", "first_seconds")),
        )
        for row in rows
    ]


TABLES = {
    "size": _size_table,
    "import": _import_table,
    "calls": _calls_table,
    "latency": _pairs_table,
    "operators": _operators_table,
    "load": _pairs_table,
    "rss": _rss_table,
}
