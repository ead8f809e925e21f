"""Text tables with aligned columns, and how single values are written.

Numbers, and texts that begin as numbers do ("12.3 us"), stand right-aligned when a whole column consists of them;
everything else left. Names come from model files, which may hold anything: control characters are shown escaped, so
that a name cannot move the cursor.
"""

import numbers
import unicodedata

_GAP = "  "


def text_table(header, rows, align=None):
    """A table as text, without a final line break.

    Parameters
    ----------
    header : sequence of str
        One title per column.
    rows : iterable of sequences
        One cell per column: str, int, float (shown with six significant digits), bool or None (shown empty).
    align : str, optional
        One of "<" and ">" per column; by default numbers are right-aligned.

    Raises
    ------
    ValueError
        A row, or `align`, has another number of columns than the header.

    Examples
    --------
    >>> print(text_table(["op", "calls", "note"], [["ADD", 2, "fused"], ["CONV_2D", 11, None]]))
    op       calls  note
    -------  -----  -----
    ADD          2  fused
    CONV_2D     11
    """
    rows = [list(row) for row in rows]
    columns = len(header)
    for row in rows:
        if len(row) != columns:
            raise ValueError(f"a row of {len(row)} cells in a table of {columns} columns: {row}")
    if align is None:
        align = "".join(">" if is_numeric([row[c] for row in rows]) else "<" for c in range(columns))
    elif len(align) != columns or set(align) - set("<>"):
        raise ValueError(f"align {align!r} must hold one of '<' and '>' for each of {columns} columns")
    lines = [[printable(title) for title in header], *([_cell(value) for value in row] for row in rows)]
    widths = [max(display_width(line[c]) for line in lines) for c in range(columns)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(_line(line, widths, align) for line in lines)


def byte_size(count):
    """A number of bytes for people.

    >>> byte_size(900), byte_size(13808), byte_size(5 << 20)
    ('900 B', '13.5 KiB', '5.0 MiB')
    """
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def duration(seconds):
    """A time for people, with three significant digits.

    >>> duration(12.34e-6), duration(0.0456), duration(7.891)
    ('12.3 us', '45.6 ms', '7.89 s')
    """
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        value = seconds * factor
        if value < 999.5:
            return f"{_three_digits(value)} {unit}"
    return f"{_three_digits(seconds)} s"


def durations(seconds):
    """Times for a column: their unit, that of the longest, and a text without unit for each.

    >>> durations([12.34e-6, 1.5e-6])
    ('us', ['12.34', '1.50'])
    >>> durations([0.25, 0.0456e-3])
    ('ms', ['250.0', '0.0'])
    """
    longest = max(seconds, default=0)
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3), ("s", 1)):
        if longest * factor < 999.5 or unit == "s":
            digits = 2 if longest * factor < 99.995 else 1
            return unit, [f"{value * factor:,.{digits}f}" for value in seconds]
    raise AssertionError("seconds is the last unit")


def printable(text):
    """A text on one line, with control characters and what cannot be encoded shown escaped.

    >>> print(printable("conv\\x1b[2J\\n"))
    conv\\x1b[2J\\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))


def shortened(text, width):
    """A text of at most `width` characters: its head and its tail, with dots for what is between.

    >>> shortened("model/block_7/conv/BiasAdd;model/block_7/relu", 24)
    'model/block_7...k_7/relu'
    """
    text = str(text)
    if len(text) <= width:
        return text
    tail = (width - 3) * 2 // 5
    return f"{text[: width - 3 - tail]}...{text[len(text) - tail :]}"


def display_width(text):
    """Columns that a text takes in a terminal: wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _three_digits(value):
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, numbers.Integral)):
        return f"{value:.6g}"
    return printable(value)


def is_numeric(values):
    """Whether all that is not empty is a number, or a text that begins as one; at least one value."""
    values = [value for value in values if value is not None and value != ""]
    return bool(values) and all(map(_begins_as_number, values))


def _begins_as_number(value):
    if isinstance(value, bool):
        return False
    if isinstance(value, numbers.Real):
        return True
    first = str(value).partition(" ")[0]
    try:
        float(first)
    except ValueError:
        return False
    return True


def _line(cells, widths, align):
    padded = [
        " " * (width - display_width(cell)) + cell if side == ">" else cell + " " * (width - display_width(cell))
        for cell, width, side in zip(cells, widths, align, strict=True)
    ]
    return _GAP.join(padded).rstrip()
