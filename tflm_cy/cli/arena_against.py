"""What changed between two models' memory: the table of `arena NEW --against OLD`, and of `guard`."""

from tflm_cy.micro.device import resolve
from tflm_cy.report import text_table


def changes(new, old, target):
    """Rows (what, old, new, change) of two `micro.survey.Survey`s for a target; rows that did not change stay where they sum up."""
    one, other = old.figures(target), new.figures(target)
    rows = [
        _row("smallest arena", one.smallest_arena, other.smallest_arena),
        _row("head", one.head, other.head),
        _row("tail", one.tail, other.tail),
        _row("most bytes alive", old.live_bytes[old.peak], new.live_bytes[new.peak]),
        _row("the model's file", old.graph.file_bytes, new.graph.file_bytes),
        _row("operators", len(old.graph.nodes), len(new.graph.nodes)),
    ]
    for kind in dict.fromkeys([*one.kinds, *other.kinds]):
        rows.append(_row(kind, *(f.kinds[kind].used if kind in f.kinds else 0 for f in (one, other))))
    before, after = old.operators(target), new.operators(target)
    for op in dict.fromkeys([*before, *after]):
        for what in ("nodes", "persistent", "scratch"):
            values = [getattr(found[op], what) if op in found else 0 for found in (before, after)]
            rows.append(_row(f"{op}: {what}", *values))
    return [row for i, row in enumerate(rows) if i < _ALWAYS or row[3]]


_ALWAYS = 3


def _row(what, old, new):
    return [what, old, new, new - old]


def growth(new, old, target):
    """Bytes by which the smallest arena grows."""
    return new.figures(target).smallest_arena - old.figures(target).smallest_arena


def allowed(text):
    """A limit of growth: bytes, or a share of the old arena as in `5%`.

    >>> allowed("512")(10_000), allowed("5%")(10_000)
    (512, 500)
    """
    number = float(text[:-1]) if text.endswith("%") else int(text)
    if number < 0:
        raise ValueError(f"{text} is negative")
    return (lambda old: int(old * number / 100)) if text.endswith("%") else (lambda old: number)


def against_text(new, old, target, title):
    """The table for people."""
    rows = [[*row[:3], _signed(row[3])] for row in changes(new, old, target)]
    return f"Against {title} ({target})\n{text_table(['', 'old', 'new', 'change'], rows, '<>>>')}"


def against_markdown(name, new, old, target):
    """The same as Markdown, `old` is None where there was none."""
    lines = [f"### {name}", "", f"{target}, {resolve(target).version}", ""]
    if old is None:
        found = new.figures(target)
        lines += ["| | bytes |", "| --- | ---: |"]
        lines += [
            f"| {what} | {getattr(found, what.replace(' ', '_')):,} |" for what in ("smallest arena", "head", "tail")
        ]
        return "\n".join([*lines, ""])
    lines += ["| | old | new | change |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {what} | {a:,} | {b:,} | {_signed(c)} |" for what, a, b, c in changes(new, old, target)]
    return "\n".join([*lines, ""])


def _signed(number):
    return f"{number:+,}" if number else "0"
