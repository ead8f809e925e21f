"""The page of `python -m tflm_cy doctor`: the verdict first, then what to do, then the numbers."""

import html

from tflm_cy.report.arena_page import PICTURE_SCRIPT, PICTURE_STYLE, table
from tflm_cy.report.table import printable
from tflm_cy.report.theme import page

_STYLE = """.verdict { border-radius: 8px; padding: .9rem 1.1rem; margin: 0 0 1rem; font-size: 1.05rem; max-width: none;
  border: 1px solid var(--line); border-left: 6px solid var(--good); background: var(--panel); overflow-wrap: anywhere }
.verdict.bad { border-left-color: var(--accent); background: var(--tint) }
.verdict b { display: block; font-size: 1.25rem } .verdict.bad b { color: var(--accent) } .verdict b { color: var(--good) }
ul { margin: .3rem 0; padding-left: 1.2rem; max-width: 60rem } li { margin: .3rem 0; overflow-wrap: anywhere }
.table + .picture { margin-top: 1rem }"""

_CODE = "For the firmware"


def doctor_page(title, verdict, sections, svg):
    """The page as text.

    Parameters
    ----------
    title : str
    verdict : (bool, str)
        Whether the model runs, and the sentence.
    sections : sequence of (str, list of str or (header, rows))
        Title and lines, or a table.
    svg : str
        As `arena_picture` gives it.

    Examples
    --------
    >>> page = doctor_page("m", (False, "does not run"), [("Why", ["a < b"]), ("T", (["n"], [[1]]))], "<svg/>")
    >>> "Does not run" in page and "a &lt; b" in page and '<td class="number">1' in page
    True
    """
    runs, sentence = verdict
    word = "Runs" if runs else "Does not run"
    parts = [
        f"<h1>{_text(title)}</h1>",
        '<div id="hint"></div>',
        f'<p class="verdict{"" if runs else " bad"}"><b>{word}</b>{_text(sentence)}</p>',
    ]
    for name, body in sections:
        parts.append(f"<h2>{_text(name)}</h2>")
        if isinstance(body, tuple):
            parts.append(table(*body))
        elif name == _CODE:
            parts.append("<pre>" + html.escape("\n".join(body), quote=False) + "</pre>")
        else:
            parts.append("<ul>" + "".join(f"<li>{_marked(line)}" for line in body) + "</ul>")
        if name == "Memory":
            parts.append(f'<div class="picture">{svg}</div>')
    return page(_text(title), "\n".join(parts), PICTURE_STYLE + _STYLE, PICTURE_SCRIPT)


def _text(text):
    return html.escape(printable(text), quote=False)


def _marked(line):
    """Commands between backticks as code."""
    parts = _text(line).split("`")
    if len(parts) % 2 == 0:  # a lone one
        return _text(line)
    return "".join(f"<code>{part}</code>" if k % 2 else part for k, part in enumerate(parts))
