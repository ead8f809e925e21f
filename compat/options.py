"""Options out of the ordinary: `python -m compat --options`. One case for each operator and kind of types, with its options absent, with
enumerations that hold every other value of theirs and values that are none of them, and with lists of nine entries (TensorFlow has room
for eight of most).

TensorFlow decides when each is refused, if it is: while the interpreter is constructed, or later.
"""

from .builder import read_model, write_model
from .builder.schema import ENUMS, TABLES
from .case import Case
from .cases import kinds

SLOTS = ("builtin_options", "builtin_options_2")


_ENDLESS = "AddOptions.fused_activation_function=2"  # RELU_N1_TO_1 on a loop's counter
UNFIT = ("wrong", "bounds", "out of", "growing")  # variants that fail, or that TensorFlow Lite Micro has no memory for
GROUPS = (("float", "hybrid"), ("int8", "uint8"), ("int16",))  # how types begin whose kernels are of a kind


def patterns(ops):
    """A kind of each operator and group of types that makes a sensible model: the first, "random" before others."""
    seen = set()
    for kind in sorted(kinds(ops), key=lambda kind: kind.variant != "random"):
        group = next((g for g, starts in enumerate(GROUPS) if kind.dtype.startswith(starts)), None)
        if kind.op == "GRAPH" or (kind.op, group) in seen or kind.dtype == "string":
            continue
        if not any(word in kind.variant for word in UNFIT):
            seen.add((kind.op, group))
            yield kind


def changes(name, fields):
    """(what, the table) for each change of an options table; None: absent."""
    yield f"{name} absent", None
    for field, kind, _ in TABLES[name]:
        if kind in ENUMS:
            others = (
                []
                if kind == "TensorType"
                else [v for k, v in ENUMS[kind].items() if fields.get(field, 0) not in (k, v)]
            )
            for value in (*others, 99, 21 if kind == "TensorType" else -1):
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
                            if (variant or "") not in what or (kind.op == "WHILE" and what == _ENDLESS):
                                continue
                            model = read_model(case.model)
                            model["subgraphs"][g]["operators"][n][slot] = table
                            yield Case(case.op, case.dtype, what, seed, write_model(model), case.feeds, case.text)
