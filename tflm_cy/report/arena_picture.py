"""A plan as a picture: every buffer of an arena's head a rectangle, operators from left to right, offsets upwards.

    svg = arena_picture("person_detect", steps, blocks, lower_bound=55296)      # an SVG file as text

Below the plan a curve shows the bytes that are alive at each operator; the peak's column is tinted in both. What two
buffers share at the same time is hatched. A block's colour is that of the operator that writes it; its text is shown
where it fits, and all of it on hover. The text needs no other file; widths grow with the number of operators, so that
every one keeps its name.
"""

import html
from collections import Counter
from typing import NamedTuple

from tflm_cy.report.table import byte_size, printable

PALETTE = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e4b52c", "#72b7b2", "#9d755d", "#ff9da6")
GREY, INPUT = "#9aa0a6", "#5f6b7a"

_LEFT, _RIGHT, _TOP = 76, 24, 78
_PLAN, _GAP, _LIVE, _NAMES, _LEGEND = 440, 16, 76, 150, 34
_NARROWEST, _WIDEST, _USUAL = 13, 64, 1180
_FONT = "font-family='system-ui, Segoe UI, Helvetica, Arial, sans-serif'"


class Block(NamedTuple):
    """One buffer. `writer` names the kind of operator that writes it ("" for none), which gives the colour."""

    label: str
    first: int  # step
    last: int
    offset: int
    size: int
    writer: str
    detail: str  # shown on hover, lines separated by line breaks
    scratch: bool = False


def arena_picture(title, steps, blocks, lower_bound=0, subtitle=""):
    """The picture as SVG.

    Parameters
    ----------
    title, subtitle : str
    steps : sequence of str
        What runs at each step, in order; "" for a step that has no name.
    blocks : sequence of Block
    lower_bound : int
        No plan has a lower head; drawn as a line if positive.

    Returns
    -------
    str
    """
    return _Picture(steps, blocks).svg(title, subtitle, lower_bound)


def live_bytes(steps, blocks):
    """Per step the bytes of all blocks that are alive.

    >>> live_bytes(["in", "ADD"], [Block("x", 0, 1, 0, 16, "", ""), Block("y", 1, 1, 16, 32, "ADD", "")])
    [16, 48]
    """
    return [sum(b.size for b in blocks if b.first <= step <= b.last) for step in range(len(steps))]


class _Picture:
    def __init__(self, steps, blocks):
        self.steps = list(steps) or [""]
        self.blocks = list(blocks)
        self.live = live_bytes(self.steps, self.blocks)
        self.peak = max(range(len(self.live)), key=self.live.__getitem__)
        self.head = max((b.offset + b.size for b in self.blocks), default=0)
        self.column = min(max(_USUAL / len(self.steps), _NARROWEST), _WIDEST)
        self.width = _LEFT + max(self.column * len(self.steps), 420) + _RIGHT
        self.names = _TOP + _PLAN + _GAP + _LIVE + 8
        self.height = self.names + min(_NAMES, 22 + 6 * max(map(len, self.steps))) + _LEGEND
        writers = Counter(b.writer for b in self.blocks if b.writer and not b.scratch)
        self.colours = {w: PALETTE[i] for i, (w, _) in enumerate(writers.most_common(len(PALETTE)))}

    def svg(self, title, subtitle, lower_bound):
        body = [
            *self._titles(title, subtitle),
            self._tint(),
            *self._scale(),
            *(self._block(b) for b in self.blocks),
            *self._overlaps(),
            *self._bound(lower_bound),
            *self._curve(),
            *self._step_names(),
            *self._legend(),
        ]
        width, height = round(self.width), round(self.height)
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
            f"{_FONT} font-size='11' fill='#222'>\n"
            "<defs><pattern id='overlap' width='6' height='6' patternUnits='userSpaceOnUse' "
            "patternTransform='rotate(45)'><rect width='6' height='6' fill='#fff' fill-opacity='0.25'/>"
            "<rect width='2' height='6' fill='#111' fill-opacity='0.55'/></pattern></defs>\n"
            f"<rect width='{width}' height='{height}' fill='#ffffff'/>\n" + "\n".join(body) + "\n</svg>\n"
        )

    def _x(self, step):
        return _LEFT + self.column * step

    def _y(self, offset):
        return _TOP + _PLAN * (1 - offset / (1.04 * self.head or 1))

    def _titles(self, title, subtitle):
        yield f"<text x='{_LEFT}' y='28' font-size='17' font-weight='600'>{_text(title)}</text>"
        yield f"<text x='{_LEFT}' y='48' fill='#555'>{_text(subtitle)}</text>"

    def _tint(self):
        """The peak's column."""
        x, bottom = self._x(self.peak), _TOP + _PLAN + _GAP + _LIVE
        return (
            f"<rect x='{x:.1f}' y='{_TOP - 8}' width='{self.column:.1f}' height='{bottom - _TOP + 8}' fill='#ffe9e3'/>"
            f"<text x='{x + self.column / 2:.1f}' y='{_TOP - 12}' text-anchor='middle' fill='#c1440e'>peak</text>"
        )

    def _scale(self):
        right = self._x(len(self.steps))
        for offset in _ticks(self.head):
            y = self._y(offset)
            yield f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='#e3e5e8'/>"
            yield f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' fill='#666'>{byte_size(offset)}</text>"

    def _block(self, b):
        x, y = self._x(b.first) + 0.75, self._y(b.offset + b.size)
        width, height = self.column * (b.last - b.first + 1) - 1.5, max(self._y(b.offset) - y, 1)
        colour = GREY if b.scratch else self.colours.get(b.writer, GREY) if b.writer else INPUT
        return (
            f"<g class='block'><title>{_lines(b.detail)}</title>"
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' rx='2' fill='{colour}' "
            f"fill-opacity='{0.55 if b.scratch else 0.82}' stroke='#ffffff' stroke-width='0.8'/>"
            f"{_label(b, x, y, width, height)}</g>"
        )

    def _overlaps(self):
        for i, a in enumerate(self.blocks):
            for b in self.blocks[:i]:
                first, last = max(a.first, b.first), min(a.last, b.last)
                low, high = max(a.offset, b.offset), min(a.offset + a.size, b.offset + b.size)
                if first <= last and low < high:
                    y = self._y(high)
                    yield (
                        f"<rect x='{self._x(first) + 0.75:.1f}' y='{y:.1f}' "
                        f"width='{self.column * (last - first + 1) - 1.5:.1f}' height='{self._y(low) - y:.1f}' "
                        "fill='url(#overlap)' pointer-events='none'/>"
                    )

    def _bound(self, lower_bound):
        right = self._x(len(self.steps))
        marks = [(self.head, "#c1440e", f"head {self.head:,}")]
        if 0 < lower_bound < self.head:
            marks.append((lower_bound, "#1a7f37", f"lower bound {lower_bound:,}"))
        for offset, colour, text in marks:
            y = self._y(offset)
            yield (
                f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='{colour}' "
                "stroke-dasharray='5 4' stroke-width='1.2'/>"
                f"<text x='{right - 4:.1f}' y='{y - 4:.1f}' text-anchor='end' fill='{colour}'>{text}</text>"
            )

    def _curve(self):
        """The live bytes as steps."""
        top, bottom = _TOP + _PLAN + _GAP, _TOP + _PLAN + _GAP + _LIVE
        most = self.live[self.peak] or 1
        points = [f"{_LEFT},{bottom}"]
        for step, size in enumerate(self.live):
            y = bottom - (bottom - top) * size / most
            points += [f"{self._x(step):.1f},{y:.1f}", f"{self._x(step + 1):.1f},{y:.1f}"]
        points.append(f"{self._x(len(self.live)):.1f},{bottom}")
        yield f"<polygon points='{' '.join(points)}' fill='#c9d3df' stroke='#5f6b7a' stroke-width='1'/>"
        yield f"<text x='{_LEFT - 8}' y='{top + 8}' text-anchor='end' fill='#666'>{byte_size(most)}</text>"
        yield f"<text x='{_LEFT - 8}' y='{bottom}' text-anchor='end' fill='#666'>alive</text>"

    def _step_names(self):
        for step, name in enumerate(self.steps):
            x = self._x(step + 0.5) + 3.5
            weight = " font-weight='600' fill='#c1440e'" if step == self.peak else " fill='#555'"
            yield (
                f"<text transform='translate({x:.1f} {self.names}) rotate(-90)' text-anchor='end' font-size='9.5'"
                f"{weight}>{_text(_cut(name, _NAMES - 10, 5.6))}</text>"
            )

    def _legend(self):
        entries = [*self.colours.items()]
        if any(b.writer and not b.scratch and b.writer not in self.colours for b in self.blocks):
            entries.append(("other operators", GREY))
        if any(not b.writer and not b.scratch for b in self.blocks):
            entries.append(("graph input", INPUT))
        if any(b.scratch for b in self.blocks):
            entries.append(("scratch", GREY))
        if any(self._overlaps()):
            entries.append(("two at once", "url(#overlap)"))
        x, y = _LEFT, self.height - 16
        for name, colour in entries:
            if x + 20 + 6.4 * len(name) > self.width - _RIGHT:
                break
            yield f"<rect x='{x:.1f}' y='{y - 9}' width='11' height='11' rx='2' fill='{colour}'/>"
            yield f"<text x='{x + 16:.1f}' y='{y}' font-size='10' fill='#444'>{_text(name)}</text>"
            x += 30 + 6.4 * len(name)


def _ticks(head):
    """At most eight round offsets up to the head."""
    step = 16
    while head / step > 8:
        step *= 2
    return range(0, head + 1, step)


def _label(b, x, y, width, height):
    """The label along the longer side, if at least a few letters fit; the size below it where there is room."""
    upright = height > 1.6 * width and width < 70
    along, across = (height, width) if upright else (width, height)
    if across < 10.5 or along < 24:
        return ""
    text, size = _text(_cut(b.label, along - 8, 5.6)), byte_size(b.size)
    place = f"x='{x + width / 2:.1f}' y='{y + height / 2 + 3.5:.1f}'"
    if upright:
        place = f"transform='translate({x + width / 2 + 3.5:.1f} {y + height / 2:.1f}) rotate(-90)'"
    style = "text-anchor='middle' font-size='9.5' fill='#ffffff' pointer-events='none'"
    if not upright and across > 28 and along > 6 * len(size):
        middle = f"{x + width / 2:.1f}"
        return (
            f"<text x='{middle}' y='{y + height / 2 - 2:.1f}' {style}>{text}</text>"
            f"<text x='{middle}' y='{y + height / 2 + 10:.1f}' {style} fill-opacity='0.85'>{size}</text>"
        )
    return f"<text {place} {style}>{text}</text>"


def _cut(text, room, per_letter):
    """The end of a text that is too long for the room: names of tensors differ there."""
    letters = max(int(room / per_letter), 1)
    return text if len(text) <= letters else "\u2026" + text[len(text) - letters + 1 :]


def _text(text):
    return html.escape(printable(text), quote=False)


def _lines(text):
    return "&#10;".join(_text(line) for line in text.split("\n"))
