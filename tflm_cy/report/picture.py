"""Small grey images as text: a character cell shows two pixels, one above the other.

    style = picture_style(sys.stdout)
    print(grey_picture(image, style))  # image: rows of numbers from 0 (dark) to 1 (light)
    print(gallery([(image, "7"), (other, "3")], style, width=72))  # several side by side, with captions

Three styles, from the richest to the plainest:

    "colour"   upper half blocks, foreground and background in the terminal's 24 greys (ANSI 256 colours)
    "blocks"   half blocks without colours: a pixel is on from 0.5
    "ascii"    one line per pixel row, two characters per pixel from a ramp of ten
"""

import os

import numpy as np

STYLES = ("colour", "blocks", "ascii")

_BLOCKS = " ▀▄█"
_RAMP = " .:-=+*#%@"
_GREY_0 = 232
_GREYS = 24
_GAP = 2


def picture_style(stream, environ=os.environ):
    """The best style that a text stream can show.

    Colours need a terminal, and NO_COLOR to be unset (https://no-color.org); half blocks need an encoding that has
    them.
    """
    try:
        _BLOCKS.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "ascii"
    colours = stream.isatty() and environ.get("TERM", "dumb") != "dumb" and not environ.get("NO_COLOR")
    return "colour" if colours else "blocks"


def grey_picture(image, style="blocks"):
    """One image as text, without a final line break.

    Parameters
    ----------
    image : array_like
        (height, width), from 0 (background, dark) to 1 (light); values beyond are clipped.
    style : str
        One of STYLES.

    Raises
    ------
    ValueError
        Another rank, or no such style.

    Examples
    --------
    >>> print(grey_picture([[1, 0, 1], [1, 1, 0], [0, 1, 0]]))
    █▄▀
     ▀
    """
    return "\n".join(line.rstrip(" ") for line in _lines(image, style))


def gallery(pictures, style="blocks", width=80):
    """Images side by side, each above its caption, as many in a row as fit; without a final line break.

    Parameters
    ----------
    pictures : iterable of (image, caption)
    style : str
        One of STYLES.
    width : int
        Columns of the terminal.
    """
    rows, row, used = [], [], 0
    for image, caption in pictures:
        cell = _Cell(image, caption, style)
        if row and used + cell.width > width:
            rows.append(row)
            row, used = [], 0
        row.append(cell)
        used += cell.width + _GAP
    if row:
        rows.append(row)
    return "\n\n".join(_join(row) for row in rows)


class _Cell:
    """The lines of a picture, and the columns that they and the caption take."""

    def __init__(self, image, caption, style):
        self.lines = _lines(image, style)
        self.columns = np.shape(image)[1] * (2 if style == "ascii" else 1)
        self.caption = caption
        self.width = max(self.columns, len(caption))

    def line(self, y):
        """Line y, padded to the width."""
        if y >= len(self.lines):
            return " " * self.width
        return self.lines[y] + " " * (self.width - self.columns)


def _join(cells):
    gap = " " * _GAP
    height = max(len(cell.lines) for cell in cells)
    lines = [gap.join(cell.line(y) for cell in cells) for y in range(height)]
    lines.append(gap.join(cell.caption.ljust(cell.width) for cell in cells))
    return "\n".join(line.rstrip(" ") for line in lines)


def _lines(image, style):
    """The lines of a picture, all of the same width."""
    image = np.clip(np.asarray(image, float), 0, 1)
    if image.ndim != 2:
        raise ValueError(f"a grey picture has two dimensions, not {image.ndim}")
    if style == "ascii":
        levels = np.rint(image * (len(_RAMP) - 1)).astype(int)
        return ["".join(_RAMP[v] * 2 for v in row) for row in levels]
    if style not in STYLES:
        raise ValueError(f"no style {style!r}; there are {', '.join(STYLES)}")
    image = np.pad(image, ((0, len(image) % 2), (0, 0)))
    pairs = zip(image[::2], image[1::2], strict=True)
    if style == "blocks":
        return ["".join(_BLOCKS[(a >= 0.5) + 2 * (b >= 0.5)] for a, b in zip(*pair, strict=True)) for pair in pairs]
    return ["".join(_two_greys(a, b) for a, b in zip(*pair, strict=True)) + "\x1b[0m" for pair in pairs]


def _two_greys(upper, lower):
    top, bottom = (_GREY_0 + round(value * (_GREYS - 1)) for value in (upper, lower))
    return f"\x1b[38;5;{top};48;5;{bottom}m▀"
