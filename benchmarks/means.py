"""Geometric means of time ratios, ours / theirs: below 1 is faster; over models of a kind, and over models of a folder.

A mean is given twice, of the ratios of minima and of the medians of pairs, like the ratios of single models. Models whose first outputs
differ between the sides count like others: the report lists them.
"""

from math import exp, log

from .kinds import KINDS


def times_ratio(row):
    """ours / theirs of a latency row: of the minima, of the median pair."""
    return 1 / row["ratio_min"], 1 / row["ratio_median"]


def geometric_mean(values):
    """
    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    values = list(values)
    return exp(sum(map(log, values)) / len(values))


def means(rows, group):
    """One dict per side, mode, number of threads and group: how many models, both means, the slowest model.

    `group` gives a row's group; groups stand in the order of KINDS, then by name.
    """
    groups = {}
    for row in rows:
        if "not_run" not in row:
            key = row["theirs"], row["mode"], row.get("threads", 1), group(row)
            groups.setdefault(key, []).append(row)
    order = {kind: i for i, kind in enumerate(KINDS)}
    found = []
    for key in sorted(groups, key=lambda key: (*key[:3], order.get(key[3], len(order)), key[3])):
        members = groups[key]
        slowest = max(members, key=lambda row: max(times_ratio(row)))
        found.append(
            {
                **dict(zip(("theirs", "mode", "threads", "group"), key, strict=True)),
                "models": len(members),
                "of_minima": geometric_mean(times_ratio(row)[0] for row in members),
                "of_medians": geometric_mean(times_ratio(row)[1] for row in members),
                "slowest": slowest["model"],
                "slowest_ratio": max(times_ratio(slowest)),
            }
        )
    return found


def by_kind(rows):
    return means(rows, lambda row: row.get("kind", "other"))


def by_folder(rows):
    return means(rows, lambda row: row["model"].rpartition("/")[0] or ".")
