"""The report as one HTML page without scripts: the table first, then each result worth a look."""

from html import escape

from tflm_cy.report.theme import page

from ..run import EQUAL, REFUSED, VERDICTS
from .plain import reproduction, setting

_STYLE = """tr.differs td { color: var(--accent); font-weight: 600 } tr.deviates td { background: var(--tint) }
pre { white-space: pre-wrap; margin: .2em 0 1em } h3 { margin-bottom: 0 }"""

_BODY = """<h1>{a} <small>against</small> {b}</h1><p>{summary}</p>
<div class="table"><table><tr>{head}</tr>
{rows}
</table></div>
{sections}"""


def to_html(tally):
    """The page's text."""
    total = tally.total()
    body = _BODY.format(
        a=escape(tally.sides[0]),
        b=escape(tally.sides[1]),
        summary=escape(", ".join(f"{total[v]} {v}" for v in VERDICTS) + f"; {tally.seconds:.0f} s"),
        head="".join(f"<th>{escape(h)}</th>" for h in ("operator", "type", "mode", "threads"))
        + "".join(f'<th class="number">{escape(h)}</th>' for h in VERDICTS),
        rows="\n".join(_row(key, counts) for key, counts in sorted(tally.rows.items())),
        sections="\n".join(_sections(tally)),
    )
    return page("compat", body, _STYLE)


def _row(key, counts):
    worst = next((v for v in ("differs", "deviates") if counts[v]), "")
    cells = "".join(f"<td>{escape(str(k))}</td>" for k in key)
    numbers = "".join(f"<td class='number'>{counts[v] or ''}</td>" for v in VERDICTS)
    return f'<tr class="{worst}">{cells}{numbers}</tr>'


def _sections(tally):
    if tally.reasons:
        yield "<h2>Deviations that we want</h2><ul>"
        yield from (f"<li>{count} &times; {escape(reason)}</li>" for reason, count in tally.reasons.most_common())
        yield "</ul>"
    if tally.crashes:
        yield "<h2>Why side a died</h2><ul>"
        yield from (f"<li>{count} &times; {escape(reason)}</li>" for reason, count in tally.crashes.most_common())
        yield "</ul>"
    for verdict in reversed(VERDICTS):
        found = tally.of(verdict)
        if not found:
            continue
        yield f"<h2>{verdict if verdict not in (EQUAL, REFUSED) else 'unexpected: ' + verdict} ({len(found)})</h2>"
        for result in found:
            yield f"<h3>{escape(result.case.id)} {escape(setting(result))}</h3>"
            lines = (result.case.text, result.difference or result.a.summary(), reproduction(result, tally.arguments))
            yield f"<pre>{escape(chr(10).join(lines))}</pre>"
