"""A plan as a picture: every buffer of an arena's head a rectangle, operators from left to right, offsets upwards.

    svg = arena_picture("person_detect", steps, blocks, lower_bound=55296)      # an SVG file as text

Below the plan a curve shows the bytes that are alive at each operator; the peak's column is tinted in both. What two
buffers share at the same time is hatched. A block's colour is that of the operator that writes it; its text is shown
where it fits, and all of it on hover. The text needs no other file; widths grow with the number of operators, so that
every one keeps its name. Colours are those of `theme`.
"""

import html
from typing import NamedTuple

from tflm_cy.report.legend import legend, legend_height
from tflm_cy.report.table import byte_size, printable
from tflm_cy.report.theme import FONT, INPUT, LIGHT, OTHER, SCRATCH, SVG_STYLE, label_colour, operator_colour

_LEFT, _RIGHT, _TOP = 76, 24, 78
_PLAN, _GAP, _LIVE, _NAMES = 440, 16, 76, 150
_NARROWEST, _WIDEST, _USUAL = 13, 64, 1100


WEIGHTS = "WEIGHTS"  # the writer of a block of constants
_MUTED = f"class='muted' fill='{LIGHT['muted']}'"
_ACCENT = f"class='accent' fill='{LIGHT['accent']}'"


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


def arena_picture(title, steps, blocks, lower_bound=0, subtitle="", border=None):
    """The picture as SVG.

    Parameters
    ----------
    title, subtitle : str
    steps : sequence of str
        What runs at each step, in order; "" for a step that has no name.
    blocks : sequence of Block
    lower_bound : int
        No plan has a lower head; drawn as a line if positive.
    border : (int, str), optional
        An offset at which another memory begins, and what to call it.

    Returns
    -------
    str
    """
    return _Picture(steps, blocks).svg(title, subtitle, lower_bound, border)


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
        self.shared = list(_shared(self.blocks))
        self.entries = list(self._entries())
        self.legend = self.names + min(_NAMES, 22 + 6 * max(map(len, self.steps)))
        self.height = self.legend + legend_height(self.entries, self.width - _LEFT - _RIGHT)

    def svg(self, title, subtitle, lower_bound, border=None):
        body = [
            *self._titles(title, subtitle),
            self._tint(),
            *self._scale(),
            *(self._block(b) for b in self.blocks),
            *(self._hatch(*shared) for shared in self.shared),
            *(self._label(b) for b in self.blocks),
            *self._bound(lower_bound, border),
            *self._curve(),
            *self._step_names(),
            *legend(self.entries, _LEFT, self.legend, self.width - _LEFT - _RIGHT),
        ]
        width, height = round(self.width), round(self.height)
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
            f"{FONT} font-size='11' class='ink' fill='{LIGHT['ink']}'>\n{SVG_STYLE}"
            "<defs><pattern id='overlap' width='6' height='6' patternUnits='userSpaceOnUse' "
            "patternTransform='rotate(45)'><rect width='6' height='6' fill='#fff' fill-opacity='0.25'/>"
            "<rect width='2' height='6' fill='#111' fill-opacity='0.55'/></pattern></defs>\n"
            f"<rect width='{width}' height='{height}' class='page' fill='{LIGHT['page']}'/>\n"
            + "\n".join(body)
            + "\n</svg>\n"
        )

    def _x(self, step):
        return _LEFT + self.column * step

    def _y(self, offset):
        return _TOP + _PLAN * (1 - offset / (1.04 * self.head or 1))

    def _titles(self, title, subtitle):
        yield f"<text x='{_LEFT}' y='28' font-size='17' font-weight='600'>{_text(title)}</text>"
        yield f"<text x='{_LEFT}' y='48' {_MUTED}>{_text(subtitle)}</text>"

    def _tint(self):
        """The peak's column."""
        x, bottom = self._x(self.peak), _TOP + _PLAN + _GAP + _LIVE
        return (
            f"<rect x='{x:.1f}' y='{_TOP - 8}' width='{self.column:.1f}' height='{bottom - _TOP + 8}' "
            f"class='tint' fill='{LIGHT['tint']}'/>"
            f"<text x='{x + self.column / 2:.1f}' y='{_TOP - 12}' text-anchor='middle' {_ACCENT}>peak</text>"
        )

    def _scale(self):
        right = self._x(len(self.steps))
        for offset in _ticks(self.head):
            y = self._y(offset)
            yield f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' class='grid' stroke='{LIGHT['line']}'/>"
            yield f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' {_MUTED}>{_round_size(offset)}</text>"

    def _block(self, b):
        x, y, width, height = self._box(b.first, b.last, b.offset, b.offset + b.size)
        colour = _fill(b)
        return (
            f"<g class='block'><title>{_lines(b.detail)}</title>"
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' rx='2' fill='{colour}' "
            "class='edge' stroke='#ffffff' stroke-width='0.8'/></g>"
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
        style = f"text-anchor='middle' font-size='9.5' fill='{label_colour(_fill(b))}' pointer-events='none'"
        if not clear:
            style += f" stroke='{_fill(b)}' stroke-width='4' paint-order='stroke'"
        for text in b.labels:
            room = letter * len(text) + 6
            if room <= width and height >= line:
                size = byte_size(b.size)
                two = height > 2 * line + 4 and letter * len(size) + 6 <= width
                middle, base = x + width / 2, y + height / 2 + (-2 if two else 3.5)
                second = f"<text x='{middle:.1f}' y='{base + 12:.1f}' {style}>{size}</text>"
                return f"<text x='{middle:.1f}' y='{base:.1f}' {style}>{_text(text)}</text>" + (second if two else "")
            if room <= height and width >= line:
                place = f"translate({x + width / 2 + 3.5:.1f} {y + height / 2:.1f}) rotate(-90)"
                return f"<text transform='{place}' {style}>{_text(text)}</text>"
        return ""

    def _bound(self, lower_bound, border):
        right = self._x(len(self.steps))
        marks = [(self.head, "accent", "mark", f"head {self.head:,}", -4)]
        if 0 < lower_bound < self.head:
            marks.append((lower_bound, "good", "bound", f"lower bound {lower_bound:,}", 13))
        if border is not None and 0 < border[0] < self.head:
            marks.append((border[0], "good", "bound", _text(border[1]), 13))
        for offset, role, line, text, down in marks:
            y, colour = self._y(offset), LIGHT[role]
            yield (
                f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' class='{line}' stroke='{colour}' "
                "stroke-dasharray='5 4' stroke-width='1.2'/>"
                f"<text x='{right - 4:.1f}' y='{y + down:.1f}' text-anchor='end' class='{role}' fill='{colour}'>{text}</text>"
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
        yield (
            f"<polygon points='{' '.join(points)}' class='curve' fill='{LIGHT['curve']}' stroke='#5f6b7a' stroke-width='1'/>"
        )
        yield f"<text x='{_LEFT - 8}' y='{top + 8}' text-anchor='end' {_MUTED}>{byte_size(most)}</text>"
        yield f"<text x='{_LEFT - 8}' y='{bottom}' text-anchor='end' {_MUTED}>alive</text>"

    def _step_names(self):
        for step, name in enumerate(self.steps):
            x = self._x(step + 0.5) + 3.5
            weight = f" font-weight='600' {_ACCENT}" if step == self.peak else f" {_MUTED}"
            yield (
                f"<text transform='translate({x:.1f} {self.names}) rotate(-90)' text-anchor='end' font-size='9.5'"
                f"{weight}>{_text(_cut(name, _NAMES - 10, 5.6))}</text>"
            )

    def _entries(self):
        """The legend: a colour, and what has it."""
        families = {}
        for b in self.blocks:
            if b.writer and not b.scratch:
                families.setdefault(operator_colour(b.writer), []).append(b.writer)
        other = families.pop(OTHER, ())
        for colour, names in sorted(families.items(), key=lambda item: -len(item[1])):
            yield colour, tuple(dict.fromkeys(names))
        if other:
            names = ["other operators"] if set(other) - {WEIGHTS} else []
            yield OTHER, (*names, *(["weights"] if WEIGHTS in other else []))
        if any(not b.writer and not b.scratch for b in self.blocks):
            yield INPUT, ("graph input",)
        if any(b.scratch for b in self.blocks):
            yield SCRATCH, ("scratch",)
        if self.shared:
            yield "url(#overlap)", ("shared by two",)


def _fill(b):
    return SCRATCH if b.scratch else operator_colour(b.writer) if b.writer else INPUT


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
