"""A page that shows which nodes of a model differ between two modes, as one HTML file without scripts.

Reasons stand once, with a letter; nodes that agree are folded away between those that differ; long names lose their middle.
"""

import html
from itertools import groupby

from tflm_cy.report.table import printable
from tflm_cy.report.theme import page

_HEAD, _TAIL = 14, 30  # letters of a long name: tensors of one model differ at the end
_MOST_NAMED = 12  # operators in the line of nodes that agree

_STYLE = """.share { background: var(--track); height: .7em; width: 7em; border-radius: 2px; margin-top: .35em }
.share span { display: block; height: 100%; min-width: 2px; background: var(--accent); border-radius: 2px }
tr.equal td { color: var(--muted) } td.key { font-weight: 600; text-align: center } td.name { overflow-wrap: anywhere; min-width: 9rem }
.sides div { margin: 0 } details { display: inline }
@media (max-width: 40rem) { .wide { display: none } th, td { padding-right: .7rem }
  .operators { overflow-wrap: anywhere; min-width: 7rem } }"""

_HEADER = (
    '<th class="number">node<th>operator<th>tensor<th class="number">differ<th class="number wide">elements<th class="wide">'
    '<th class="number">largest<th>unit<th class="wide">distances<th>why'
)
_COLUMNS = 10


def difference_page(title, rows, remarks=()):
    """The page as text.

    Parameters
    ----------
    title : str
    rows : iterable of (int, str, str, Distance, str)
        Node, operator, tensor's name, distance, reason; in the order in which the nodes run.
    remarks : sequence of str
        Shown first, a paragraph each.

    Returns
    -------
    str

    Examples
    --------
    >>> from tflm_cy.report import distance
    >>> import numpy as np
    >>> "1 of 1 nodes differs" in difference_page("x", [(0, "ADD", "y", distance(np.int8([1, 2]), np.int8([1, 3])), "why")])
    True
    """
    rows = list(rows)
    differing = [row for row in rows if row[3].differing]
    reasons = {}
    for row in differing:
        reasons.setdefault(row[4], []).append(row)
    keys = {reason: _key(i) for i, reason in enumerate(sorted(reasons, key=lambda reason: -len(reasons[reason])))}
    nodes, wrong = len({row[0] for row in rows}), len({row[0] for row in differing})
    parts = [f"<h1>{_text(title)}</h1>", f"<p>{wrong} of {nodes} nodes {'differs' if wrong == 1 else 'differ'}.</p>"]
    parts += [f"<p>{_text(remark)}</p>" for remark in remarks]
    if differing:
        parts += [
            "<h2>Why</h2>",
            _table(_WHY_HEADER, (_why(key, reason, reasons[reason]) for reason, key in keys.items())),
        ]
    parts += ["<h2>Nodes</h2>", _table(_HEADER, _nodes(rows, keys))]
    return page(_text(title), "\n".join(parts), _STYLE)


_WHY_HEADER = '<th><th class="number">nodes<th>operators<th>what each side computes'


def _why(key, reason, rows):
    operators = ", ".join(dict.fromkeys(row[1] for row in rows))
    sides = "".join(f"<div>{_text(side)}</div>" for side in reason.split("; "))
    return f'<tr><td class="key">{key}<td class="number">{len(rows)}<td class="operators">{_text(operators)}<td class="sides">{sides}'


def _nodes(rows, keys):
    for agree, run in groupby(rows, key=lambda row: not row[3].differing):
        if agree:
            yield _folded(list(run))
        else:
            yield from (_row(*row, keys) for row in run)


def _folded(rows):
    """A line for neighbouring nodes that agree; their names on demand."""
    first, last = rows[0][0], rows[-1][0]
    which = f"node {first}" if first == last else f"nodes {first} to {last}"
    operators = list(dict.fromkeys(row[1] for row in rows))
    more = ", ..." if len(operators) > _MOST_NAMED else ""
    names = "<br>".join(f"{row[0]} {_text(row[1])} {_text(_middle_out(row[2]))}" for row in rows)
    return (
        f'<tr class="equal"><td class="number">{first}<td colspan="{_COLUMNS - 1}"><details><summary>{which}: equal '
        f"({_text(', '.join(operators[:_MOST_NAMED]))}{more})</summary>{names}</details>"
    )


def _row(node, op, name, d, reason, keys):
    share = 100 * d.differing / d.elements if d.elements else 0
    histogram = ", ".join(f"{key}: {count:,}" for key, count in d.histogram.items())
    return (
        f'<tr class="differs"><td class="number">{node}<td>{_text(op)}'
        f'<td class="name" title="{html.escape(printable(name))}">{_text(_middle_out(name))}'
        f'<td class="number">{d.differing:,}<td class="number wide">{d.elements:,}'
        f'<td class="wide"><div class="share" title="{share:.2f} %"><span style="width:{share:.1f}%"></span></div>'
        f'<td class="number">{d.largest:,}<td>{_text(d.unit)}<td class="wide">{_text(histogram)}<td class="key">{keys[reason]}'
    )


def _table(header, rows):
    return f'<div class="table"><table>\n<tr>{header}\n' + "\n".join(rows) + "\n</table></div>"


def _middle_out(name):
    return name if len(name) <= _HEAD + _TAIL + 3 else f"{name[:_HEAD]}...{name[-_TAIL:]}"


def _key(i):
    """A, B, ... Z, AA, AB, ..."""
    return (_key(i // 26 - 1) if i >= 26 else "") + chr(ord("A") + i % 26)


def _text(text):
    return html.escape(printable(text), quote=False)
