"""The coverage table of README, made from a report of `python -m compat --json`.

    python -m compat --json report.json
    python -m compat.coverage report.json README.md

One row per operator: the types with the number of cases in which every byte was equal; types with differences stand
apart, and operators that are declared but have no case in the report are named below the table.
"""

import argparse
import json
import re
from collections import defaultdict

from tflm_cy.ops.index import MODULES

MARKERS = ("<!-- coverage -->", "<!-- /coverage -->")


def table(report):
    """The Markdown between the markers."""
    equal, refused, other = defaultdict(dict), defaultdict(int), defaultdict(list)
    for row in report["rows"]:
        if row.get("equal"):
            kinds = equal[row["op"]]
            kinds[row["dtype"]] = kinds.get(row["dtype"], 0) + row["equal"]
        refused[row["op"]] += row.get("refused", 0)
        other[row["op"]] += [
            f"{row['dtype']}: {row[kind]} {text}"
            for kind, text in (
                ("differs", "differing"),
                ("deviates", "deviating on purpose"),
                ("not compared", "not compared"),
            )
            if row.get(kind)
        ]
    operators = sorted({row["op"] for row in report["rows"]})
    lines = [
        f"{report['total'].get('equal', 0)} cases equal, {report['total'].get('differs', 0)} differing "
        f"({report['b']} against {report['a']}).",
        "",
        "| operator | equal cases by type | refused by both | other |",
        "| --- | --- | --- | --- |",
    ]
    for op in operators:
        kinds = ", ".join(f"{dtype} {count}" for dtype, count in sorted(equal[op].items()))
        lines.append(f"| {op} | {kinds or '-'} | {refused[op] or ''} | {'; '.join(other[op])} |")
    silent = sorted(set(MODULES) - set(operators))
    if silent:
        lines += ["", f"Declared, without a case of its own in this report: {', '.join(silent)}."]
    for deviation in report.get("deviations", []):
        lines += ["", f"Deviating on purpose ({deviation['count']}): {deviation['reason']}."]
    return "\n".join(lines)


def insert(text, content):
    """Replace what stands between the markers."""
    pattern = re.compile(rf"{re.escape(MARKERS[0])}.*?{re.escape(MARKERS[1])}", re.S)
    if not pattern.search(text):
        raise SystemExit(f"no {MARKERS[0]} ... {MARKERS[1]} in the file")
    return pattern.sub(lambda _: f"{MARKERS[0]}\n{content}\n{MARKERS[1]}", text)


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
