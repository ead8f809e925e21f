"""A page that shows which nodes of a model differ between two modes, as one HTML file without scripts."""

import html

_STYLE = """body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25em .75em; border-bottom: 1px solid #ddd }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.bar { background: #eee; height: .8em; width: 10em } .bar span { display: block; height: 100%; background: #c1440e }
.equal { color: #777 }"""


def difference_page(title, rows):
    """The page as text.

    Parameters
    ----------
    title : str
    rows : iterable of (int, str, str, Distance, str)
        Node, operator, tensor's name, distance, reason; in the order in which the nodes run.

    Returns
    -------
    str

    Examples
    --------
    >>> from tflm_cy.report import distance
    >>> import numpy as np
    >>> "1 of 2" in difference_page("x", [(0, "ADD", "y", distance(np.int8([1, 2]), np.int8([1, 3])), "why")])
    True
    """
    body = "\n".join(_row(*row) for row in rows)
    title = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n<style>{_STYLE}</style>\n'
        f"<h1>{title}</h1>\n<table>\n<tr><th>node<th>operator<th>tensor<th>differ<th><th>largest<th>distances<th>why</tr>\n"
        f"{body}\n</table>\n</html>\n"
    )


def _row(node, op, name, d, reason):
    share = 100 * d.differing / d.elements if d.elements else 0
    histogram = ", ".join(f"{key}: {count}" for key, count in d.histogram.items())
    return (
        f'<tr class="{"differs" if d.differing else "equal"}"><td class="number">{node}<td>{html.escape(op)}<td>{html.escape(name)}'
        f'<td class="number">{d.differing} of {d.elements}<td><div class="bar"><span style="width:{share:.1f}%"></span></div>'
        f'<td class="number">{f"{d.largest} {d.unit}" if d.differing else ""}<td>{html.escape(histogram)}<td>{html.escape(reason)}</tr>'
    )
