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
OTHER, INPUT, SCRATCH = "#8d949c", "#5f6b7a", "#c6cbd1"

_LEFT, _RIGHT, _TOP = 76, 24, 78
_PLAN, _GAP, _LIVE, _NAMES, _LEGEND = 440, 16, 76, 150, 34
_NARROWEST, _WIDEST, _USUAL = 13, 64, 1180
_FONT = "font-family='system-ui, Segoe UI, Helvetica, Arial, sans-serif'"


class Block(NamedTuple):
    """One buffer. `writer` names the kind of operator that writes it ("" for none), which gives the colour."""

    labels: tuple[str, ...]  # from the longest to the shortest: the first that fits is written
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

    >>> live_bytes(["in", "ADD"], [Block(("x",), 0, 1, 0, 16, "", ""), Block(("y",), 1, 1, 16, 32, "ADD", "")])
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
        self.shared = list(_shared(self.blocks))
        self.colours = {w: PALETTE[i] for i, (w, _) in enumerate(writers.most_common(len(PALETTE)))}

    def svg(self, title, subtitle, lower_bound):
        body = [
            *self._titles(title, subtitle),
            self._tint(),
            *self._scale(),
            *(self._block(b) for b in self.blocks),
            *(self._hatch(*shared) for shared in self.shared),
            *(self._label(b) for b in self.blocks),
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
            yield f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' fill='#666'>{_round_size(offset)}</text>"

    def _block(self, b):
        x, y, width, height = self._box(b.first, b.last, b.offset, b.offset + b.size)
        colour = SCRATCH if b.scratch else self.colours.get(b.writer, OTHER) if b.writer else INPUT
        return (
            f"<g class='block'><title>{_lines(b.detail)}</title>"
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' rx='2' fill='{colour}' "
            "fill-opacity='0.85' stroke='#ffffff' stroke-width='0.8'/></g>"
        )

    def _box(self, first, last, low, high):
        """x, y, width and height of what lies between two steps and two offsets."""
        y = self._y(high)
        return self._x(first) + 0.75, y, self.column * (last - first + 1) - 1.5, max(self._y(low) - y, 1)

    def _hatch(self, first, last, low, high):
        x, y, width, height = self._box(first, last, low, high)
        return (
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' fill='url(#overlap)' "
            "pointer-events='none'/>"
        )

    def _label(self, b):
        """The first label that fits, along the longer side; where the block is hatched in part, in the rest."""
        first, last, clear = _clear_steps(b, self.shared)
        x, y, width, height = self._box(first, last, b.offset, b.offset + b.size)
        letter, line = 5.7, 11
        colour = "#333333" if b.scratch else "#ffffff"
        style = f"text-anchor='middle' font-size='9.5' fill='{colour}' pointer-events='none'"
        if not clear:
            style += " stroke='#2b3440' stroke-opacity='0.7' stroke-width='2.5' paint-order='stroke'"
        for text in b.labels:
            room = letter * len(text) + 6
            if room <= width and height >= line:
                size = byte_size(b.size)
                two = height > 2 * line + 4 and letter * len(size) + 6 <= width
                middle, base = x + width / 2, y + height / 2 + (-2 if two else 3.5)
                second = f"<text x='{middle:.1f}' y='{base + 12:.1f}' {style} fill-opacity='0.85'>{size}</text>"
                return f"<text x='{middle:.1f}' y='{base:.1f}' {style}>{_text(text)}</text>" + (second if two else "")
            if room <= height and width >= line:
                place = f"translate({x + width / 2 + 3.5:.1f} {y + height / 2:.1f}) rotate(-90)"
                return f"<text transform='{place}' {style}>{_text(text)}</text>"
        return ""

    def _bound(self, lower_bound):
        right = self._x(len(self.steps))
        marks = [(self.head, "#c1440e", f"head {self.head:,}", -4)]
        if 0 < lower_bound < self.head:
            marks.append((lower_bound, "#1a7f37", f"lower bound {lower_bound:,}", 13))
        for offset, colour, text, down in marks:
            y = self._y(offset)
            yield (
                f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='{colour}' "
                "stroke-dasharray='5 4' stroke-width='1.2'/>"
                f"<text x='{right - 4:.1f}' y='{y + down:.1f}' text-anchor='end' fill='{colour}'>{text}</text>"
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
            entries.append(("other operators", OTHER))
        if any(not b.writer and not b.scratch for b in self.blocks):
            entries.append(("graph input", INPUT))
        if any(b.scratch for b in self.blocks):
            entries.append(("scratch", SCRATCH))
        if self.shared:
            entries.append(("shared by two", "url(#overlap)"))
        x, y = _LEFT, self.height - 16
        for name, colour in entries:
            if x + 20 + 6.4 * len(name) > self.width - _RIGHT:
                break
            yield f"<rect x='{x:.1f}' y='{y - 9}' width='11' height='11' rx='2' fill='{colour}'/>"
            yield f"<text x='{x + 16:.1f}' y='{y}' font-size='10' fill='#444'>{_text(name)}</text>"
            x += 30 + 6.4 * len(name)


def _shared(blocks):
    """(first step, last step, lowest offset, highest) of what two blocks have in common."""
    for i, a in enumerate(blocks):
        for b in blocks[:i]:
            first, last = max(a.first, b.first), min(a.last, b.last)
            low, high = max(a.offset, b.offset), min(a.offset + a.size, b.offset + b.size)
            if first <= last and low < high:
                yield first, last, low, high


def _clear_steps(b, shared):
    """The longest run of a block's steps in which nothing else lies over it, and whether there is one; else all."""
    hatched = set()
    for first, last, low, high in shared:
        if low < b.offset + b.size and b.offset < high:
            hatched.update(range(max(first, b.first), min(last, b.last) + 1))
    best, start = None, b.first
    for step in range(b.first, b.last + 2):
        if step in hatched or step == b.last + 1:
            if step > start and (best is None or step - start > best[1] - best[0] + 1):
                best = start, step - 1
            start = step + 1
    return (*best, True) if best else (b.first, b.last, False)


def _ticks(head):
    """At most eight round offsets up to the head."""
    step = 16
    while head / step > 8:
        step *= 2
    return range(0, head + 1, step)


def _round_size(offset):
    """A tick's offset, exact: 1.25 MiB, where `byte_size` would round."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if offset >= factor:
            return f"{offset / factor:g} {unit}"
    return f"{offset} B"


def _cut(text, room, per_letter):
    """The end of a text that is too long for the room: names of tensors differ there."""
    letters = max(int(room / per_letter), 1)
    return text if len(text) <= letters else "\u2026" + text[len(text) - letters + 1 :]


def _text(text):
    return html.escape(printable(text), quote=False)


def _lines(text):
    return "&#10;".join(_text(line) for line in text.split("\n"))
