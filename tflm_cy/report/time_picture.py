"""Where a model's time goes, as a picture: a strip whose parts are as wide as the nodes take long, and a column per node.

    svg = time_picture("person_detect", [Bar("0 CONV_2D", "CONV_2D", 31e-6, 0.42, "hint"), ...], "AUTO, 1 thread")

A column is as high as its node takes long; below it hangs, lighter, the share of the machine's peak that its multiply-adds reach. A
high column with a short share is where a better kernel would help. Colours are those of `theme`, as in the picture of an arena. The
picture is never wider than a page: of many nodes those that take longest keep their names. Hints show on hover.
"""

import html
from typing import NamedTuple

from tflm_cy.report.legend import legend, legend_height
from tflm_cy.report.table import duration, printable, shortened
from tflm_cy.report.theme import FONT, LIGHT, SVG_STYLE, label_colour, operator_colour

_LEFT, _RIGHT, _TOP = 76, 24, 66
_STRIP, _GAP, _TIMES, _PEAKS, _NAMES = 46, 40, 300, 110, 150
_WIDEST, _WIDE, _SMALL = 64, 1100, 760  # of a column; of all of them, and of twelve at most
_NAME_HEIGHT = 12  # pixels between two names
_MUTED = f"class='muted' fill='{LIGHT['muted']}'"


class Bar(NamedTuple):
    """One node: `name` is written below its column, `of_peak` is None where there are no products to count."""

    name: str
    kind: str
    seconds: float
    of_peak: float | None
    detail: str  # shown on hover, lines separated by line breaks


def time_picture(title, bars, subtitle=""):
    """The picture as SVG.

    Parameters
    ----------
    title, subtitle : str
    bars : sequence of Bar
        In the order in which they run.

    Returns
    -------
    str

    Examples
    --------
    >>> svg = time_picture("m", [Bar("0 ADD", "ADD", 1e-6, None, "one node")])
    >>> svg.startswith("<svg") and "one node" in svg
    True
    """
    return _Picture(list(bars)).svg(title, subtitle)


class _Picture:
    def __init__(self, bars):
        self.bars = bars
        self.whole = sum(bar.seconds for bar in bars) or 1e-12
        self.longest = max((bar.seconds for bar in bars), default=0) or 1e-12
        self.wide = _WIDE if len(bars) > 12 else _SMALL
        self.column = min(self.wide / max(len(bars), 1), _WIDEST)
        self.width = _LEFT + self.wide + _RIGHT
        self.times = _TOP + _STRIP + _GAP
        self.base = self.times + _TIMES
        self.peaks = any(bar.of_peak is not None for bar in bars)
        self.names = self.base + (_PEAKS + 22 if self.peaks else 10)
        longest = max((len(bar.name) for bar in bars), default=0)
        self.entries = list(self._entries())
        self.legend = self.names + min(_NAMES, 22 + 6 * longest)
        self.height = self.legend + legend_height(self.entries, self.wide)

    def svg(self, title, subtitle):
        body = [
            f"<text x='{_LEFT}' y='28' font-size='17' font-weight='600'>{_text(title)}</text>",
            f"<text x='{_LEFT}' y='48' {_MUTED}>{_text(subtitle)}</text>",
            *self._strip(),
            *self._scale(),
            *self._columns(),
            *self._column_names(),
            *legend(self.entries, _LEFT, self.legend, self.wide),
        ]
        width, height = round(self.width), round(self.height)
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
            f"{FONT} font-size='11' class='ink' fill='{LIGHT['ink']}'>\n{SVG_STYLE}"
            f"<rect width='{width}' height='{height}' class='page' fill='{LIGHT['page']}'/>\n"
            + "\n".join(body)
            + "\n</svg>\n"
        )

    def _strip(self):
        """All nodes side by side, to scale."""
        x = _LEFT
        yield f"<text x='{_LEFT - 8}' y='{_TOP + 20}' text-anchor='end' {_MUTED}>all nodes</text>"
        yield f"<text x='{_LEFT - 8}' y='{_TOP + 34}' text-anchor='end' {_MUTED}>{_text(duration(self.whole))}</text>"
        for bar in self.bars:
            width, colour = self.wide * bar.seconds / self.whole, operator_colour(bar.kind)
            yield (
                f"<g class='block'><title>{_lines(bar.detail)}</title><rect x='{x:.2f}' y='{_TOP}' width='{width:.2f}' "
                f"height='{_STRIP}' fill='{colour}' class='edge' stroke='#ffffff' "
                f"stroke-width='{0.8 if width > 3 else 0.2}'/></g>"
            )
            label = next((text for text in (bar.name, bar.name.split(" ")[0]) if 7.6 * len(text) + 8 < width), "")
            if label:
                yield (
                    f"<text x='{x + width / 2:.1f}' y='{_TOP + _STRIP / 2 + 4}' text-anchor='middle' "
                    f"fill='{label_colour(colour)}' pointer-events='none'>{_text(label)}</text>"
                )
            x += width

    def _scale(self):
        right = _LEFT + self.wide
        for tick in _ticks(self.longest):
            y = self.base - _TIMES * tick / self.longest
            yield (
                f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' class='grid' stroke='{LIGHT['line']}'/>"
                f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' {_MUTED}>"
                f"{_text(duration(tick)) if tick else '0'}</text>"
            )
        if self.peaks:
            for share in (0.5, 1):
                y = self.base + 8 + _PEAKS * share
                yield (
                    f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' class='grid' stroke='{LIGHT['line']}' "
                    f"stroke-dasharray='3 4'/><text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' {_MUTED}>"
                    f"{'peak' if share == 1 else '50 %'}</text>"
                )

    def _columns(self):
        for i, bar in enumerate(self.bars):
            x, width, colour = _LEFT + self.column * i, self.column * 0.82, operator_colour(bar.kind)
            height = _TIMES * bar.seconds / self.longest
            yield f"<g class='block'><title>{_lines(bar.detail)}</title>"
            yield (
                f"<rect x='{x:.1f}' y='{self.times}' width='{self.column:.1f}' height='{self.names - self.times}' "
                "fill='#fff' fill-opacity='0'/>"
            )
            yield (
                f"<rect x='{x:.1f}' y='{self.base - height:.1f}' width='{width:.1f}' height='{max(height, 0.5):.1f}' "
                f"rx='1.5' fill='{colour}'/>"
            )
            if bar.of_peak is not None:
                drop = _PEAKS * min(bar.of_peak, 1)
                yield (
                    f"<rect x='{x:.1f}' y='{self.base + 8}' width='{width:.1f}' height='{max(drop, 0.5):.1f}' rx='1.5' "
                    f"fill='{colour}' fill-opacity='0.45'/>"
                )
            yield "</g>"

    def _column_names(self):
        for i in self._named():
            bar, x = self.bars[i], _LEFT + self.column * (i + 0.41) + 3.5
            yield (
                f"<text transform='translate({x:.1f} {self.names}) rotate(-90)' text-anchor='end' "
                f"font-size='9.5' {_MUTED}>{_text(shortened(bar.name, (_NAMES - 10) // 6))}</text>"
            )

    def _named(self):
        """The columns with a name: all that do not touch a longer one's."""
        taken = []
        for i in sorted(range(len(self.bars)), key=lambda i: -self.bars[i].seconds):
            if all(abs(i - other) * self.column >= _NAME_HEIGHT for other in taken):
                taken.append(i)
        return sorted(taken)

    def _entries(self):
        """The legend: a colour, the operators that have it, and their share of the time."""
        families = {}
        for bar in self.bars:
            names = families.setdefault(operator_colour(bar.kind), {})
            names[bar.kind] = names.get(bar.kind, 0) + bar.seconds
        for colour, names in sorted(families.items(), key=lambda item: -sum(item[1].values())):
            ordered = sorted(names, key=lambda name: -names[name])
            share = f"{100 * sum(names.values()) / self.whole:.0f} %"
            yield (
                colour,
                (*ordered[:-1], f"{ordered[-1]} {share}") if len(ordered) <= 4 else (*ordered[:3], f"others {share}"),
            )


def _ticks(longest):
    """Round numbers from 0, four to nine of them.

    >>> _ticks(7.3e-5)
    [0.0, 1e-05, 2e-05, 3e-05, 4e-05, 5e-05, 6e-05, 7e-05]
    >>> _ticks(1.1e-5)
    [0.0, 2e-06, 4e-06, 6e-06, 8e-06, 1e-05]
    """
    power = 10.0 ** (len(f"{int(longest * 1e12)}") - 13)
    step = next(power * factor for factor in (0.1, 0.2, 0.5, 1, 2) if longest / (power * factor) <= 9)
    return [round(i * step, 15) for i in range(int(longest / step) + 1)]


def _text(text):
    return html.escape(printable(text), quote=False)


def _lines(text):
    return "&#10;".join(_text(line) for line in text.split("\n"))
