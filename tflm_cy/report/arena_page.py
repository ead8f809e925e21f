"""A page around a picture of a model (its arena's plan, where its time goes): tables, and a piece of source, as one HTML file."""

import html

from tflm_cy.report.table import printable

_STYLE = """body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 86em; padding: 0 1em; color: #222;
  background: #fff }
h2 { font-size: 16px; margin: 1.8em 0 .4em }
table { border-collapse: collapse } th, td { text-align: left; padding: .2em .9em .2em 0; border-bottom: 1px solid #ddd }
td.number { text-align: right; font-variant-numeric: tabular-nums } td.bar { font-family: monospace; color: #5f6b7a }
pre { background: #f5f6f7; padding: 1em; overflow-x: auto }
.remark { border-left: 4px solid #c1440e; padding-left: .8em }
.picture { overflow-x: auto; border: 1px solid #ddd } .block:hover rect { stroke: #111; stroke-width: 2 }
#hint { position: fixed; display: none; background: #222; color: #fff; padding: .4em .7em; border-radius: 4px;
  white-space: pre; font-size: 12px; pointer-events: none; z-index: 1 }"""

# The browser's own hint comes late and small: show the title of the block under the pointer at once.
_SCRIPT = """const hint = document.getElementById("hint");
for (const block of document.querySelectorAll(".block")) {
  const title = block.querySelector("title"), text = title.textContent;
  title.remove();
  block.addEventListener("mousemove", e => {
    hint.textContent = text;
    hint.style.display = "block";
    const x = Math.min(e.clientX + 14, innerWidth - hint.offsetWidth - 8);
    const y = Math.min(e.clientY + 14, innerHeight - hint.offsetHeight - 8);
    hint.style.left = x + "px";
    hint.style.top = y + "px";
  });
  block.addEventListener("mouseleave", () => hint.style.display = "none");
}"""


def arena_page(title, remarks, svg, tables, source=None):
    """The page as text.

    Parameters
    ----------
    title : str
    remarks : sequence of str
        Shown first, marked.
    svg : str
        As `arena_picture` or `time_picture` gives it.
    tables : sequence of (str, (header, rows))
        Title, column titles, rows of cells.
    source : (str, str), optional
        Title and text of a piece of source.

    Examples
    --------
    >>> page = arena_page("m", [], "<svg/>", [("T", (["a"], [[1]]))], ("C++", "int x;"))
    >>> '<td class="number">1' in page and "<pre>int x;</pre>" in page
    True
    """
    parts = [f'<p class="remark">{_text(remark)}</p>' for remark in remarks]
    parts.append(f'<div class="picture">{svg}</div>')
    parts += [f"<h2>{_text(name)}</h2>\n{_table(*table)}" for name, table in tables]
    if source is not None:
        parts.append(f"<h2>{_text(source[0])}</h2>\n<pre>{html.escape(source[1], quote=False)}</pre>")
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{_text(title)}</title>\n'
        f'<style>{_STYLE}</style>\n<h1>{_text(title)}</h1>\n<div id="hint"></div>\n'
        + "\n".join(parts)
        + f"\n<script>{_SCRIPT}</script>\n</html>\n"
    )


def _table(header, rows):
    head = "".join(f"<th>{_text(name)}" for name in header)
    body = "\n".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows)
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"


def _cell(value):
    if value is None:
        return "<td>"
    if isinstance(value, int):
        return f'<td class="number">{value:,}'
    return f'<td class="bar">{_text(value)}' if str(value).startswith("#") else f"<td>{_text(value)}"


def _text(text):
    return html.escape(printable(text), quote=False)
