"""Options out of the ordinary: `python -m compat --options`. Each operator's first case with its options absent, with enumerations
that hold a value that is none of them, and with lists of nine entries (TensorFlow has room for eight of most).

TensorFlow decides when each is refused, if it is: while the interpreter is constructed, or later.
"""

from .builder import read_model, write_model
from .builder.schema import ENUMS, TABLES
from .case import Case
from .cases import kinds

SLOTS = ("builtin_options", "builtin_options_2")


def patterns(ops):
    """The first kind of each operator that makes a sensible model."""
    seen = {"GRAPH"}
    for kind in kinds(ops):
        if kind.op in seen or kind.dtype == "string" or any(w in kind.variant for w in ("wrong", "bounds", "out of")):
            continue
        seen.add(kind.op)
        yield kind


def changes(name, fields):
    """(what, the table) for each change of an options table; None: absent."""
    yield f"{name} absent", None
    for field, kind, _ in TABLES[name]:
        if kind in ENUMS:
            for value in (99, 21 if kind == "TensorType" else -1):
                yield f"{name}.{field}={value}", (name, {**fields, field: value})
        elif kind.startswith("[") and kind[1:-1] in ("int", "long", "float"):
            yield f"{name}.{field} of 9", (name, {**fields, field: [1] * 9})


def optioned_cases(seeds, invokes, ops=None, dtype=None, variant=None):
    for seed in seeds:
        for kind in patterns(ops):
            case = kind.case(seed, invokes)
            if dtype not in (None, case.dtype):
                continue
            for g, graph in enumerate(read_model(case.model)["subgraphs"]):
                for n, node in enumerate(graph["operators"]):
                    for slot in SLOTS:
                        for what, table in changes(*node[slot]) if node.get(slot) else ():
                            if (variant or "") not in what:
                                continue
                            model = read_model(case.model)
                            model["subgraphs"][g]["operators"][n][slot] = table
                            yield Case(case.op, case.dtype, what, seed, write_model(model), case.feeds, case.text)
