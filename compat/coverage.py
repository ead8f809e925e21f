"""The coverage table of docs/coverage.md, made from a report of `python -m compat --json`.

    python -m compat --mode all --json report.json
    python -m compat.coverage report.json docs/coverage.md

One row per operator: the types, and per mode the number of cases in which every byte was equal, that both refused, or
that differ; operators that are declared but have no case in the report are named below the table.
"""

import argparse
import json
import re
from collections import defaultdict

from tflm_cy.ops.index import MODULES

MARKERS = ("<!-- coverage -->", "<!-- /coverage -->")


SHORT = {"BUILTIN_REF": "REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES": "WITHOUT_DELEGATES"}


def table(report):
    """The Markdown between the markers: a row per operator, a column per mode."""
    modes = list(dict.fromkeys(row["mode"] for row in report["rows"]))
    types = defaultdict(lambda: defaultdict(set))  # operator -> type -> modes in which cases of it were equal
    counts = defaultdict(lambda: defaultdict(int))  # (operator, mode) -> verdict -> cases
    for row in report["rows"]:
        for verdict in ("equal", "refused", "deviates", "differs", "not compared"):
            counts[row["op"], row["mode"]][verdict] += row.get(verdict, 0)
        if row.get("equal"):
            types[row["op"]][row["dtype"]].add(row["mode"])
    operators = sorted({row["op"] for row in report["rows"]})
    lines = [
        f"{report['total'].get('equal', 0)} cases equal, {report['total'].get('differs', 0)} differing "
        f"({report['b']} against {report['a']}; {', '.join(modes)}).",
        "",
        f"| operator | types | {' | '.join(SHORT.get(mode, mode) for mode in modes)} |",
        f"| --- | --- |{' --- |' * len(modes)}",
    ]
    for op in operators:
        cells = " | ".join(_cell(counts[op, mode]) for mode in modes)
        lines.append(f"| {op} | {_types(types[op], modes)} | {cells} |")
    silent = sorted(set(MODULES) - set(operators))
    if silent:
        lines += ["", f"Declared, without a case of its own in this report: {', '.join(silent)}."]
    for deviation in report.get("deviations", []):
        lines += ["", f"Deviating on purpose ({deviation['count']}): {deviation['reason']}."]
    return "\n".join(lines)


def _types(found, modes):
    """The types with equal cases; one that is missing in some mode names those that it has."""
    names = []
    for dtype, where in sorted(found.items()):
        here = "" if len(where) == len(modes) else f" ({', '.join(SHORT.get(m, m) for m in modes if m in where)})"
        names.append(dtype + here)
    return ", ".join(names) or "-"


def _cell(verdicts):
    """ "16", "16, 4 refused", "-"."""
    words = [str(verdicts["equal"])] if verdicts["equal"] else []
    words += [
        f"{verdicts[key]} {text}"
        for key, text in (
            ("refused", "refused"),
            ("deviates", "on purpose"),
            ("differs", "DIFFER"),
            ("not compared", "not compared"),
        )
        if verdicts[key]
    ]
    return ", ".join(words) or "-"


def insert(text, content, markers=MARKERS):
    """Replace what stands between the markers."""
    first, last = markers
    pattern = re.compile(rf"{re.escape(first)}.*?{re.escape(last)}", re.S)
    if not pattern.search(text):
        raise SystemExit(f"no {first} ... {last} in the file")
    return pattern.sub(lambda _: f"{first}\n{content}\n{last}", text)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m compat.coverage", description="Write the coverage table into a file."
    )
    parser.add_argument("report", help="what `python -m compat --json` wrote")
    parser.add_argument("file", help="a Markdown file with the two markers")
    arguments = parser.parse_args()
    with open(arguments.report) as file:
        report = json.load(file)
    with open(arguments.file) as file:
        text = file.read()
    with open(arguments.file, "w") as file:
        file.write(insert(text, table(report)))


if __name__ == "__main__":
    main()
