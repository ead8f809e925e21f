"""The run counted and listed: text for the terminal, JSON for programs."""

import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..run import DEVIATES, DIFFERS, EQUAL, NOT_COMPARED, REFUSED, VERDICTS

SHOWN_PER_ROW = 2


@dataclass
class Tally:
    """Results as they come: counts per row and the ones worth listing."""

    sides: tuple
    arguments: tuple = ()
    rows: dict = field(default_factory=dict)
    listed: list = field(default_factory=list)
    reasons: Counter = field(default_factory=Counter)
    crashes: Counter = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, result):
        case = result.case
        row = self.rows.setdefault((case.op, case.dtype, result.mode, result.threads), Counter())
        row[result.verdict] += 1
        if self.surprises(result):
            row["unexpectedly accepted" if case.refused else "unexpectedly refused"] += 1
        if result.verdict == DEVIATES:
            self.reasons[result.reason] += 1
        if result.verdict == NOT_COMPARED and result.reason:
            self.crashes[result.reason] += 1
        if result.verdict not in (EQUAL, REFUSED) or self.surprises(result):
            self.listed.append(result)

    def surprises(self, result):
        """Whether a refused what its generator takes for running, or the other way round; generators know TensorFlow alone."""
        return self.sides[0].partition(":")[0] not in ("tflite_micro", "tflm_cy_micro") and _unexpected(result)

    def total(self):
        return sum(self.rows.values(), Counter())

    def failed(self):
        return self.total()[DIFFERS] > 0

    def of(self, verdict):
        return [r for r in self.listed if r.verdict == verdict]


def _unexpected(result):
    """Whether a generated case was refused by a without being meant to, or the other way round; models mean nothing."""
    generated = not isinstance(result.case.model, Path) and result.case.refused is not None
    return generated and result.a.status in ("ok", "raised") and (result.a.status == "raised") != result.case.refused


def reproduction(result, arguments=()):
    """The command that runs this one case again."""
    case = result.case
    parts = ["python", "-m", "compat", *arguments]
    if isinstance(case.model, Path):
        parts += ["--models", str(case.model)]
    else:
        parts += ["--op", case.op, "--dtype", case.dtype, "--case", case.variant]
    parts += ["--mode", result.mode, "--seed", str(case.seed)]
    return shlex.join(parts if result.threads == 1 else [*parts, "--threads", str(result.threads)])


def setting(result):
    """The mode and, where there are several, the threads."""
    return result.mode if result.threads == 1 else f"{result.mode} {result.threads} threads"


def to_text(tally, verbose=False):
    """Table, differences with their commands, deviations with their reasons, the verdict."""
    lines = [f"a = {tally.sides[0]}, b = {tally.sides[1]}; a decides", "", *_table(tally), ""]
    lines += _differences(tally, None if verbose else SHOWN_PER_ROW)
    for result in tally.of(NOT_COMPARED):
        if verbose or not result.reason:
            lines += [f"NOT COMPARED {result.case.id} {setting(result)}: {result.difference}"]
    if verbose:
        for result in tally.listed:
            if tally.surprises(result):
                lines.append(
                    f"UNEXPECTED {result.case.id} {setting(result)}: a {result.a.summary()}  [{result.case.text}]"
                )
    for reason, count in tally.crashes.most_common():
        lines.append(f"NOT COMPARED {count} x: {reason}")
    for reason, count in tally.reasons.most_common():
        lines.append(f"DEVIATES {count} x: {reason}")
    total = tally.total()
    counts = ", ".join(f"{total[verdict]} {verdict}" for verdict in VERDICTS)
    lines.append(f"{sum(total[v] for v in VERDICTS)} cases in {tally.seconds:.0f} s: {counts}")
    for kind in ("unexpectedly refused", "unexpectedly accepted"):
        if total[kind]:
            lines.append(f"{total[kind]} {kind} by a (a generator's fault; --verbose lists them)")
    return "\n".join(line for line in lines if line is not None)


def _differences(tally, limit):
    """What differs, the first `limit` of each row of the table."""
    lines, shown = [], Counter()
    for result in tally.of(DIFFERS):
        row = result.case.op, result.case.dtype, result.mode, result.threads
        shown[row] += 1
        if limit is not None and shown[row] > limit:
            continue
        lines += [
            f"DIFFERS {result.case.id} {setting(result)}",
            f"    {result.case.text}" if result.case.text else None,
        ]
        lines += [f"    {result.difference}", f"    {reproduction(result, tally.arguments)}"]
    left = sum(max(0, count - limit) for count in shown.values()) if limit is not None else 0
    return [*lines, f"({left} more differences: --verbose shows them, --json and --html hold them)"] if left else lines


def _table(tally):
    rows = [("operator", "type", "mode", "threads", *VERDICTS)]
    for key, counts in sorted(tally.rows.items()):
        rows.append((*map(str, key), *(str(counts[v] or "") for v in VERDICTS)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def to_json(tally):
    """Counts per row and every listed result, ready for json.dump."""
    return {
        "a": tally.sides[0],
        "b": tally.sides[1],
        "seconds": round(tally.seconds, 1),
        "total": dict(tally.total()),
        "rows": [
            {"op": op, "dtype": dtype, "mode": mode, "threads": threads, **counts}
            for (op, dtype, mode, threads), counts in sorted(tally.rows.items())
        ],
        "deviations": [{"reason": reason, "count": count} for reason, count in tally.reasons.most_common()],
        "crashes": [{"reason": reason, "count": count} for reason, count in tally.crashes.most_common()],
        "listed": [
            {
                "case": result.case.id,
                "mode": result.mode,
                "threads": result.threads,
                "attributes": result.case.text,
                "verdict": result.verdict,
                "a": result.a.summary(),
                "b": result.b.summary(),
                "difference": result.difference,
                "reason": result.reason,
                "command": reproduction(result, tally.arguments),
            }
            for result in tally.listed
        ],
    }
