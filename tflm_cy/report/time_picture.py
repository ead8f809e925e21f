"""Where a model's time goes, as a picture: a strip whose parts are as wide as the nodes take long, and a column per node.

    svg = time_picture("person_detect", [Bar("0 CONV_2D", "CONV_2D", 31e-6, 0.42, "hint"), ...], "AUTO, 1 thread")

The columns show the time; beneath each hangs its share of what the machine multiplies at most, where the node is made of products: long and
light is where a better kernel would help, long and dark is work. Colours are operators. Hints show on hover; no other file is needed.
"""

import html
from typing import NamedTuple

from tflm_cy.report.arena_picture import OTHER, PALETTE
from tflm_cy.report.table import duration, printable, shortened

_LEFT, _RIGHT, _TOP = 76, 24, 66
_STRIP, _GAP, _TIMES, _PEAKS, _NAMES, _LEGEND = 46, 40, 300, 110, 150, 34
_NARROWEST, _WIDEST, _USUAL = 13, 64, 1180
_FONT = "font-family='system-ui, Segoe UI, Helvetica, Arial, sans-serif'"


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
        by_kind = {}
        for bar in bars:
            by_kind[bar.kind] = by_kind.get(bar.kind, 0) + bar.seconds
        self.kinds = sorted(by_kind.items(), key=lambda item: -item[1])
        self.colours = {kind: PALETTE[i] for i, (kind, _) in enumerate(self.kinds[: len(PALETTE)])}
        self.column = min(max(_USUAL / max(len(bars), 1), _NARROWEST), _WIDEST)
        self.wide = max(self.column * len(bars), _USUAL if len(bars) > 12 else 760)
        self.width = _LEFT + self.wide + _RIGHT
        self.times = _TOP + _STRIP + _GAP
        self.base = self.times + _TIMES
        self.peaks = any(bar.of_peak is not None for bar in bars)
        self.names = self.base + (_PEAKS + 22 if self.peaks else 10)
        longest = max((len(bar.name) for bar in bars), default=0)
        self.height = self.names + min(_NAMES, 22 + 6 * longest) + _LEGEND

    def svg(self, title, subtitle):
        body = [
            f"<text x='{_LEFT}' y='28' font-size='17' font-weight='600'>{_text(title)}</text>",
            f"<text x='{_LEFT}' y='48' fill='#555'>{_text(subtitle)}</text>",
            *self._strip(),
            *self._scale(),
            *self._columns(),
            *self._legend(),
        ]
        width, height = round(self.width), round(self.height)
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
            f"{_FONT} font-size='11' fill='#222'>\n<rect width='{width}' height='{height}' fill='#ffffff'/>\n"
            + "\n".join(body)
            + "\n</svg>\n"
        )

    def _strip(self):
        """All nodes side by side, to scale."""
        x = _LEFT
        yield f"<text x='{_LEFT - 8}' y='{_TOP + 20}' text-anchor='end' fill='#666'>one run</text>"
        yield (
            f"<text x='{_LEFT - 8}' y='{_TOP + 34}' text-anchor='end' fill='#666'>{_text(duration(self.whole))}</text>"
        )
        for bar in self.bars:
            width = self.wide * bar.seconds / self.whole
            yield (
                f"<g class='block'><title>{_lines(bar.detail)}</title><rect x='{x:.2f}' y='{_TOP}' width='{width:.2f}' "
                f"height='{_STRIP}' fill='{self._colour(bar)}' stroke='#ffffff' "
                f"stroke-width='{0.8 if width > 3 else 0.2}'/></g>"
            )
            label = next((text for text in (bar.name, bar.name.split(" ")[0]) if 6.2 * len(text) + 6 < width), "")
            if label:
                yield (
                    f"<text x='{x + width / 2:.1f}' y='{_TOP + _STRIP / 2 + 4}' text-anchor='middle' fill='#ffffff' "
                    f"font-weight='600' pointer-events='none'>{_text(label)}</text>"
                )
            x += width

    def _scale(self):
        right = _LEFT + self.wide
        for tick in _ticks(self.longest):
            y = self.base - _TIMES * tick / self.longest
            yield f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='#e3e5e8'/>"
            yield (
                f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' fill='#666'>"
                f"{_text(duration(tick)) if tick else '0'}</text>"
            )
        if self.peaks:
            for share in (0.5, 1):
                y = self.base + 8 + _PEAKS * share
                yield (
                    f"<line x1='{_LEFT}' x2='{right:.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='#c9ced4' stroke-dasharray='3 4'/>"
                )
                yield (
                    f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' fill='#666'>"
                    f"{'peak' if share == 1 else '50 %'}</text>"
                )

    def _columns(self):
        for i, bar in enumerate(self.bars):
            x, width = _LEFT + self.column * i, self.column * 0.82
            height = _TIMES * bar.seconds / self.longest
            yield f"<g class='block'><title>{_lines(bar.detail)}</title>"
            yield (
                f"<rect x='{x:.1f}' y='{self.times}' width='{self.column:.1f}' height='{self.names - self.times}' "
                "fill='#fff' fill-opacity='0'/>"
            )
            yield (
                f"<rect x='{x:.1f}' y='{self.base - height:.1f}' width='{width:.1f}' height='{max(height, 0.5):.1f}' "
                f"rx='1.5' fill='{self._colour(bar)}'/>"
            )
            if bar.of_peak is not None:
                drop = _PEAKS * min(bar.of_peak, 1)
                yield (
                    f"<rect x='{x:.1f}' y='{self.base + 8}' width='{width:.1f}' height='{max(drop, 0.5):.1f}' rx='1.5' "
                    f"fill='{self._colour(bar)}' fill-opacity='0.45'/>"
                )
            yield "</g>"
            yield (
                f"<text transform='translate({x + width / 2 + 3.5:.1f} {self.names}) rotate(-90)' text-anchor='end' "
                f"font-size='9.5' fill='#555'>{_text(shortened(bar.name, (_NAMES - 10) // 6))}</text>"
            )

    def _legend(self):
        x, y = _LEFT, self.height - 16
        for kind, seconds in self.kinds:
            text = f"{kind} {100 * seconds / self.whole:.0f} %"
            if x + 20 + 6.4 * len(text) > self.width - _RIGHT:
                break
            yield f"<rect x='{x:.1f}' y='{y - 9}' width='11' height='11' rx='2' fill='{self.colours.get(kind, OTHER)}'/>"
            yield f"<text x='{x + 16:.1f}' y='{y}' font-size='10' fill='#444'>{_text(text)}</text>"
            x += 30 + 6.4 * len(text)

    def _colour(self, bar):
        return self.colours.get(bar.kind, OTHER)


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
