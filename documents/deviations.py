"""The table of deviations: each reason once, with the operators and modes that it is about."""

from .blocks import table

SHORT = {
    ("AUTO", "BUILTIN"): "AUTO",
    ("AUTO", "BUILTIN", "BUILTIN_WITHOUT_DEFAULT_DELEGATES"): "AUTO, WITHOUT_DELEGATES",
    ("BUILTIN_REF",): "REF",
    ("MICRO",): "MICRO",
}
_MOST_OPERATORS = 6


def content():
    """Two tables: what differs on purpose, and what ends TensorFlow's process, so that nothing can be compared."""
    from compat.crashes import CRASHES
    from compat.deviations import DEVIATIONS

    return "\n".join(
        [
            f"{len(DEVIATIONS)} rules with {len({d.reason for d in DEVIATIONS})} reasons.\n",
            _table(DEVIATIONS, "what is done here; what the other interpreter does"),
            "\n### What ends the other interpreter's process\n",
            _table(CRASHES, "cause"),
        ]
    )


def _table(entries, title):
    reasons = {}
    for entry in entries:
        reasons.setdefault(entry.reason, []).append(entry)
    rows = [[reason, _operators(group), _modes(group)] for reason, group in reasons.items()]
    return table([title, "cases", "modes"], rows)


def _operators(entries):
    """The first part of the cases' names: operators, or "any"."""
    names = list(dict.fromkeys(entry.cases.partition("/")[0].split(",")[0].strip() for entry in entries))
    if "*" in names:
        return "any"
    more = f" and {len(names) - _MOST_OPERATORS} more" if len(names) > _MOST_OPERATORS else ""
    return ", ".join(f"`{name}`" for name in names[:_MOST_OPERATORS]) + more


def _modes(entries):
    modes = {mode for entry in entries for mode in entry.modes}
    if not modes or any(not entry.modes for entry in entries) or len(modes) >= 4:
        return "all"
    return SHORT.get(tuple(sorted(modes)), ", ".join(sorted(modes)))
