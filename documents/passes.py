"""The list of passes as a table and as a picture, read off `tflm_cy.graph.passes.PASSES` (or `passes.pipeline.PASSES`).

Two steps come before the list: delegates partition and rewrite the graph, once, when they take their nodes. A package that has no
list yet gives an empty block that says so.
"""

import html
from importlib import import_module

from tflm_cy.report.theme import FONT, LIGHT, SVG_STYLE

from .blocks import table

BEFORE = (
    ("partition", "Nodes that a delegate supports become partitions, each of which runs as one DELEGATE node."),
    ("rewrite", "The delegate replaces patterns of several nodes inside of its partitions."),
)
NONE = "This package has no list of passes yet."


def passes():
    """(name, first sentence) of each pass, in their order; empty without a list."""
    for module in ("tflm_cy.graph.passes", "tflm_cy.graph.passes.pipeline"):
        try:
            found = getattr(import_module(module), "PASSES", None)
        except ImportError:
            continue
        if found:
            listed = [(one.name, _summary(one)) for one in found]
            return [*(entry for entry in BEFORE if entry[0] not in dict(listed)), *listed]
    return []


def _summary(one):
    text = getattr(one, "summary", None) or (getattr(one, "__doc__", None) or "").strip()
    return text.partition("\n")[0]


def content():
    """The picture, and a table of what each pass does."""
    found = passes()
    if not found:
        return NONE
    rows = [[i + 1, f"`{name}`", summary] for i, (name, summary) in enumerate(found)]
    return "![The passes, in their order](pictures/passes.svg)\n\n" + table(["", "pass", "what it does"], rows, "><<")


_WIDTH, _BOX, _STEP, _LEFT, _TOP = 860, 34, 54, 20, 16


def picture():
    """The passes from top to bottom, each with its sentence."""
    found = passes() or [("...", NONE)]
    height = _TOP + _STEP * len(found)
    body = []
    for i, (name, summary) in enumerate(found):
        y = _TOP + _STEP * i
        once = name in dict(BEFORE)
        fill = "#8f7cc3" if once else "#72b7b2"
        if i + 1 < len(found):
            body.append(
                f"<path d='M{_LEFT + 90} {y + _BOX}v{_STEP - _BOX - 5}m-4 -5l4 6l4 -6' fill='none' stroke='#7d8590' stroke-width='1.5'/>"
            )
        body.append(f"<rect x='{_LEFT}' y='{y}' width='180' height='{_BOX}' rx='6' fill='{fill}'/>")
        body.append(
            f"<text x='{_LEFT + 90}' y='{y + 22}' text-anchor='middle' font-weight='600' fill='#000000'>{_text(name)}</text>"
        )
        body.append(
            f"<text x='{_LEFT + 200}' y='{y + 22}' class='ink' fill='{LIGHT['ink']}'>{_text(summary.replace('`', ''))}</text>"
        )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' height='{height}' {FONT} "
        f"font-size='13'>\n{SVG_STYLE}<rect width='{_WIDTH}' height='{height}' class='page' fill='{LIGHT['page']}'/>\n"
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _text(text):
    return html.escape(text, quote=False)
