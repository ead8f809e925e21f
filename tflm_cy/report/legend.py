"""The legend of a picture: a swatch per colour with the names that have it, on as many lines as they take.

>>> [text for text in legend([("#4c78a8", ("CONV_2D",))], 0, 0, 400) if "CONV_2D" in text] != []
True
"""

import html

from tflm_cy.report.table import printable
from tflm_cy.report.theme import LIGHT

_LETTER, _LINE, _MOST_NAMES = 6.4, 18, 4


def legend(entries, left, top, width):
    """SVG elements for (colour, names) entries within a width; names beyond the fourth of a colour are counted."""
    for (colour, _), (x, line, text) in zip(entries, _placed(entries, width), strict=True):
        y = top + 22 + _LINE * line
        yield f"<rect x='{left + x:.1f}' y='{y - 9}' width='11' height='11' rx='2' fill='{colour}'/>"
        yield (
            f"<text x='{left + x + 16:.1f}' y='{y}' font-size='10' class='ink' fill='{LIGHT['ink']}'>"
            f"{html.escape(printable(text), quote=False)}</text>"
        )


def legend_height(entries, width):
    """Pixels that the legend takes, with a margin."""
    return 34 + _LINE * max((line for _, line, _ in _placed(entries, width)), default=0)


def _placed(entries, width):
    """x, line and text of each entry."""
    x, line, found = 0, 0, []
    for _, names in entries:
        more = len(names) - _MOST_NAMES
        text = ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        needed = 30 + _LETTER * len(text)
        if x and x + needed > width:
            x, line = 0, line + 1
        found.append((x, line, text))
        x += needed
    return found
