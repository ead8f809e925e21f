"""The geometric means as a table in a Markdown file, between <!-- benchmarks --> and <!-- /benchmarks -->."""

from .means import by_kind

BEGIN, END = "<!-- benchmarks -->", "<!-- /benchmarks -->"
SHORT = {"BUILTIN_WITHOUT_DEFAULT_DELEGATES": "WITHOUT_DELEGATES", "BUILTIN_REF": "REF"}


def markdown(machine, rows):
    """Kinds down, one column per side, mode and number of threads; the slowest model's ratio in brackets."""
    found = by_kind(rows)
    columns = sorted(
        {(m["theirs"], m["mode"], m["threads"]) for m in found}, key=lambda c: (c[0], c[1] != "AUTO", *c[1:])
    )
    kinds = list(dict.fromkeys(m["group"] for m in found))
    cells = {(m["group"], m["theirs"], m["mode"], m["threads"]): m for m in found}
    sides = len({side for side, _, _ in columns}) > 1
    heads = [
        f"{SHORT.get(mode, mode)}, {threads} thread{'s' if threads > 1 else ''}" + (f", {side}" if sides else "")
        for side, mode, threads in columns
    ]
    lines = [f"| kind | models | {' | '.join(heads)} |", "| --- | ---: |" + " ---: |" * len(heads)]
    for kind in kinds:
        models = max(m["models"] for key, m in cells.items() if key[0] == kind)
        row = [_cell(cells.get((kind, *column))) for column in columns]
        lines.append(f"| {kind} | {models} | {' | '.join(row)} |")
    against = ", ".join(sorted({side for side, _, _ in columns}))
    lines.append(
        f"\nTime of `invoke`, ours / theirs ({against}), geometric mean of medians of pairs; in brackets the slowest model. "
        f"{machine['cpu']}, {machine['cpus_allowed']} CPUs."
    )
    return "\n".join(lines)


def _cell(mean):
    return "" if mean is None else f"{mean['of_medians']:.2f} ({mean['slowest_ratio']:.2f})"


def replace(text, table):
    """The file's text with the table in its place; ValueError without the marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"
