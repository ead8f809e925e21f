"""Rows of nets as text: one table, the slowest first, and geometric means per kind and per family."""

from tflm_cy.report import duration, text_table

from ..means import means, times_ratio
from ..report import bar_lines, means_table, ratio, worse
from .bars import batch_of


def to_text(rows, not_made=(), bars=()):
    """Table, means, what differs, what did not run, what the converter did not make, bars."""
    ran = [row for row in rows if "not_run" not in row]
    lines = [
        "",
        "Latency of nets, alternating bursts, the slowest first; ratio = ours / theirs",
        text_table(*_table(ran)),
    ]
    lines += ["", "Geometric means, ours / theirs: less is faster"]
    lines += [text_table(*means_table(means(ran, lambda row, key=key: row[key]), key)) for key in ("kind", "family")]
    lines += [f"different bytes: {_place(row)}" for row in ran if row["same_bytes"] is False]
    lines += [f"not run: {_place(row)}: {row['not_run']}" for row in rows if "not_run" in row]
    lines += [f"not made: {line[:160]}" for line in not_made]
    return "\n".join(lines + bar_lines(bars))


def _table(rows):
    head = ("net", "family", "mode", "threads", "batch", "ours", "theirs", "of minima", "of medians")
    return head, [
        (
            *(row[key] for key in ("model", "family", "mode", "threads")),
            batch_of(row),
            *(duration(row[key]) for key in ("ours_median", "theirs_median")),
            *map(ratio, times_ratio(row)),
        )
        for row in sorted(rows, key=lambda row: -worse(row))
    ]


def _place(row):
    return f"{row['model']} {row['mode']}, threads {row['threads']}, batch {batch_of(row)}"
