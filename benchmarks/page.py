"""A run as one HTML page: geometric means, a plot of every model's ratio per mode and number of threads, load, memory, bars."""

import html
from math import ceil, floor, log10

from tflm_cy.report import duration, shortened
from tflm_cy.report.theme import LIGHT, SVG_STYLE, page

from . import bars
from .kinds import KINDS
from .means import by_folder, by_kind, times_ratio
from .sides import OURS

COLOURS = dict(zip(KINDS, ("#4c78a8", "#72b7b2", "#f58518", "#e4b52c", "#b279a2", "#54a24b", "#8d949c"), strict=True))
VERDICTS = {bars.MET: "good", bars.MISSED: "accent", bars.NOT_JUDGED: "muted"}  # roles of the style sheet
_STYLE = """.plots { display: flex; flex-wrap: wrap; gap: 1.5em } .plots > div { max-width: 100%; overflow-x: auto }
.verdict { font-weight: 600 } .good { color: var(--good) } .accent { color: var(--accent) } li { margin: .3em 0 }
th.number small { font-weight: 400 }"""
_MUTED = f"class='muted' fill='{LIGHT['muted']}'"
_STRONG, _GRID = "stroke='#7d8590'", f"class='grid' stroke='{LIGHT['line']}'"
_SLOWER, _FASTER = (
    f"class='mark' stroke='{LIGHT['accent']}' stroke-width='1.5'",
    f"class='edge' stroke='{LIGHT['page']}'",
)
_LEFT, _WIDTH, _ROW, _TOP, _BOTTOM = 250, 420, 15, 34, 26


def to_page(machine, results, judged):
    """The page as text.

    Parameters
    ----------
    machine : dict
        As `machine.facts` gives it.
    results : dict
        Section -> rows.
    judged : list of Bar
    """
    latency = [row for row in results.get("latency", ()) if "not_run" not in row]
    load = [row for row in results.get("load", ()) if "not_run" not in row]
    sides = ", ".join(f"{name} {version}".strip() for name, version in machine["sides"].items())
    parts = [
        f"<h1>tflm_cy: how fast?</h1>\n<p>{_text(machine['cpu'])}, {machine['cpus_allowed']} CPUs, Python {machine['python']}; "
        f"{_text(sides)}; {_text(machine['time'])}<br><small>Ratios are ours / theirs: left of the line at 1, or below 1, "
        "tflm_cy is faster. Each is measured by alternating bursts in one process; a dot is the ratio of the minima, the line's end the "
        "median of neighbouring pairs.</small></p>",
        *_means("Geometric means by kind of model", by_kind(latency)),
        *_means("Geometric means by folder", by_folder(latency)),
        *_plots("Latency of invoke", latency),
        *_plots("Load + allocate", load),
        *_memory(results.get("rss", ())),
        *_bars(judged),
    ]
    return page("tflm_cy: benchmarks", "\n".join(parts), _STYLE)


def _means(title, found):
    """A table: groups down, one column per side, mode and number of threads."""
    if not found:
        return
    columns = list(dict.fromkeys((m["theirs"], m["mode"], m["threads"]) for m in found))
    groups = list(dict.fromkeys(m["group"] for m in found))
    cells = {(m["group"], m["theirs"], m["mode"], m["threads"]): m for m in found}
    yield f'<h2>{_text(title)}</h2>\n<div class="table"><table>\n<tr><th><th class="number">models' + "".join(
        f'<th class="number">{_text(mode)}<br><small>{_threads(threads)}, {_text(side)}</small>'
        for side, mode, threads in columns
    )
    for group in groups:
        models = max(mean["models"] for key, mean in cells.items() if key[0] == group)
        yield f'<tr><td>{_text(group)}<td class="number">{models}' + "".join(
            _mean_cell(cells.get((group, *column))) for column in columns
        )
    yield "</table></div>"


def _mean_cell(mean):
    if mean is None:
        return "<td>"
    hint = f"slowest: {mean['slowest']} {mean['slowest_ratio']:.2f}; of minima {mean['of_minima']:.3f}"
    worst = "accent" if mean["slowest_ratio"] > 1 else "muted"
    return (
        f'<td class="number" title="{_text(hint)}">{mean["of_medians"]:.3f} '
        f'<small class="{worst}">most {mean["slowest_ratio"]:.2f}</small>'
    )


def _plots(title, rows):
    """A plot per side, mode and number of threads."""
    groups = {}
    for row in rows:
        groups.setdefault((row["theirs"], row["mode"], row.get("threads", 1)), []).append(row)
    if groups:
        yield f'<h2>{_text(title)}</h2>\n<div class="plots">'
        for (side, mode, threads), members in groups.items():
            yield f"<div><h3>{_text(mode)}, {_threads(threads)}, against {_text(side)}</h3>{_plot(members)}</div>"
        yield "</div>"


def _plot(rows):
    """A line per model, by kind, the slowest of a kind last; a logarithmic axis of ours / theirs."""
    order = {kind: i for i, kind in enumerate(KINDS)}
    rows = sorted(rows, key=lambda row: (order.get(row.get("kind"), len(order)), max(times_ratio(row))))
    values = [value for row in rows for value in times_ratio(row)]
    low, high = floor(log10(min(*values, 0.5)) * 4) / 4, ceil(log10(max(*values, 1.1)) * 4) / 4

    def x(value):
        return _LEFT + _WIDTH * (log10(value) - low) / (high - low)

    height = _TOP + _ROW * len(rows) + _BOTTOM
    body = []
    for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10):
        if low <= log10(tick) <= high:
            strong = tick == 1
            body.append(
                f"<line x1='{x(tick):.1f}' x2='{x(tick):.1f}' y1='{_TOP - 6}' y2='{height - _BOTTOM + 4}' "
                f"{_STRONG if strong else _GRID}/><text x='{x(tick):.1f}' y='{_TOP - 12}' "
                f"text-anchor='middle' {_MUTED}>{tick:g}</text>"
            )
    for i, row in enumerate(rows):
        y = _TOP + _ROW * (i + 0.5)
        minima, medians = times_ratio(row)
        colour = COLOURS.get(row.get("kind"), COLOURS["other"])
        hint = (
            f"{row['model']} ({row.get('kind', 'other')})\nours {duration(row['ours_min'])} (median "
            f"{duration(row['ours_median'])}), theirs {duration(row['theirs_min'])} ({duration(row['theirs_median'])})\n"
            f"ours / theirs {minima:.3f} of minima, {medians:.3f} of medians, {row['pairs']} pairs"
        )
        name = row["model"].removesuffix(".tflite")
        name = shortened(name, 42)
        body.append(
            f"<g><title>{_text(hint)}</title><rect x='0' y='{y - _ROW / 2:.1f}' width='{_LEFT + _WIDTH + 20}' height='{_ROW}' "
            f"fill='#fff' fill-opacity='0'/><text x='{_LEFT - 8}' y='{y + 3.5:.1f}' text-anchor='end' font-size='10'>{_text(name)}</text>"
            f"<line x1='{x(minima):.1f}' x2='{x(medians):.1f}' y1='{y:.1f}' y2='{y:.1f}' stroke='{colour}' stroke-width='2'/>"
            f"<circle cx='{x(minima):.1f}' cy='{y:.1f}' r='4' fill='{colour}' "
            f"{_SLOWER if max(minima, medians) > 1 else _FASTER}/></g>"
        )
    legend, at = [], _LEFT
    for kind in (kind for kind in KINDS if any(row.get("kind") == kind for row in rows)):
        legend.append(
            f"<rect x='{at}' y='{height - 16}' width='10' height='10' rx='2' fill='{COLOURS[kind]}'/>"
            f"<text x='{at + 14}' y='{height - 7}' font-size='10'>{kind}</text>"
        )
        at += 26 + 6 * len(kind)
    width = _LEFT + _WIDTH + 20
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
        f"font-family='system-ui, sans-serif' font-size='11' class='ink' fill='{LIGHT['ink']}'>{SVG_STYLE}"
        + "".join(body + legend)
        + "</svg>"
    )


def _memory(rows):
    """Growth over the import, per model and side."""
    grown, sides = {}, []
    for row in rows:
        if "not_run" not in row:
            sides = [*sides, row["side"]] if row["side"] not in sides else sides
            grown.setdefault(row["model"], {})[row["side"]] = row["rss"] - row["import_rss"]
    if grown:
        yield (
            '<h2>Memory of loading and running a model, import left out</h2>\n<div class="table"><table>\n<tr><th>model'
            + "".join(f'<th class="number">{_text(side)}, MB' for side in sides)
        )
        for model, found in grown.items():
            least = min((value for side, value in found.items() if side != OURS), default=0)
            yield f"<tr><td>{_text(model)}" + "".join(
                f'<td class="number{_mark(side == OURS and found[side] > least)}">{found[side] / 1e6:.2f}'
                if side in found
                else "<td>"
                for side in sides
            )
        yield "</table></div>"


def _mark(wrong):
    return " accent" if wrong else ""


def _bars(judged):
    yield "<h2>Bars</h2>\n<ul>"
    for bar in judged:
        yield (
            f'<li><span class="verdict {VERDICTS[bar.verdict]}">{bar.verdict}</span> {_text(bar.text)}'
            f"<br><small>{_text(bar.details[0])}</small>"
            + (
                f"<details><summary>{len(bar.details) - 1} more</summary>{'<br>'.join(map(_text, bar.details[1:]))}</details>"
                if len(bar.details) > 1
                else ""
            )
        )
    yield "</ul>"


def _threads(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def _text(text):
    return html.escape(str(text))
