"""A page around a picture of a model (its arena's plan, where its time goes): tables, and a piece of source, as one HTML file."""

import html

from tflm_cy.report.table import is_numeric, printable
from tflm_cy.report.theme import page

# A picture is as wide as the page; on a narrow screen it scrolls instead of shrinking until nobody can read it.
PICTURE_STYLE = """.picture svg { max-width: 100%; min-width: 46rem; height: auto } .picture.long svg { max-width: none }
.block:hover rect { stroke: var(--ink); stroke-width: 2 }
#hint { position: fixed; display: none; background: var(--ink); color: var(--page); padding: .4em .7em; border-radius: 4px;
  white-space: pre; font-size: 12px; pointer-events: none; z-index: 1 }"""
_LONG = 1400  # pixels of a picture that scrolls on every screen

# The browser's own hint comes late and small: show the title of the block under the pointer at once.
PICTURE_SCRIPT = """const hint = document.getElementById("hint");
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
        Title, column titles, rows of cells. Columns of numbers are right-aligned.
    source : (str, str), optional
        Title and text of a piece of source.

    Examples
    --------
    >>> page = arena_page("m", [], "<svg/>", [("T", (["a"], [[1]]))], ("C++", "int x;"))
    >>> '<td class="number">1' in page and "<pre>int x;</pre>" in page
    True
    """
    parts = [f"<h1>{_text(title)}</h1>", '<div id="hint"></div>']
    parts += [f'<p class="remark">{_text(remark)}</p>' for remark in remarks]
    parts.append(f'<div class="picture{" long" if _width(svg) > _LONG else ""}">{svg}</div>')
    parts += [f"<h2>{_text(name)}</h2>\n{table(*rows)}" for name, rows in tables]
    if source is not None:
        parts.append(f"<h2>{_text(source[0])}</h2>\n<pre>{html.escape(source[1], quote=False)}</pre>")
    return page(_text(title), "\n".join(parts), PICTURE_STYLE, PICTURE_SCRIPT)


def _width(svg):
    """Pixels that a picture says it is wide; 0 if it does not say so."""
    _, found, rest = svg.partition(" width='")
    return int(rest.partition("'")[0]) if found else 0


def table(header, rows):
    """A table as HTML; columns of numbers are right-aligned."""
    rows = [list(row) for row in rows]
    numeric = [is_numeric([row[c] for row in rows]) for c in range(len(header))]
    head = "".join(f"<th{_NUMBER if right else ''}>{_text(name)}" for name, right in zip(header, numeric, strict=True))
    body = "\n".join("<tr>" + "".join(map(_cell, row, numeric)) for row in rows)
    return f'<div class="table"><table>\n<tr>{head}\n{body}\n</table></div>'


_NUMBER = ' class="number"'


def _cell(value, numeric):
    text = "" if value is None else f"{value:,}" if isinstance(value, int) else _text(value)
    if numeric:
        return f"<td{_NUMBER}>{text}"
    return f'<td class="bar">{text}' if text.startswith("#") else f"<td>{text}"


def _text(text):
    return html.escape(printable(text), quote=False)
