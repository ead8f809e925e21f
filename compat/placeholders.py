"""Models whose unknown dimensions the file holds as 1: `python -m compat --placeholders`. Every case of the generators, allocated at
such shapes and resized to the case's own, and as what a graph holds and does not run: a branch that is not taken, the body of a loop that
ends at once.

TensorFlow decides which call refuses what: the first allocation, the one after the resize, or invoke. What the first one raises is
noted, and the case goes on, as programs do that resize before they run.

    ones: all            every dimension of every input is 1
    ones: batch          the first dimension
    ones: inside         the dimensions between the first and the last
    ones: but channels   all but the last; the model also runs at these shapes before it is resized
    ones: everywhere     the same, and all dimensions of what is computed are 1, which signatures call unknown, as converters write it
    rank: more           a dimension of 1 before the others; the model also runs at these shapes before it is resized
    rank: less           the first two dimensions as one; runs, too
    rank: flat           all of them as one
    to rank: more, less, flat    the file's shapes; after a run at them the inputs are resized to such ones
    to none: first, inside, last    likewise; the inputs' dimensions there become 0
    IF                   the branch that is not taken, at the placeholders and resized; then taken
    WHILE, CASE          the same as the body of a loop, as a branch of STABLEHLO_CASE; one case for each operator and kind of types

Dimensions of 0, and other ranks of single operators, are drawn where `--case` asks for them (`--case "to none:"`, `--case rank:`):
TensorFlow's delegate takes some of them and refuses others, each operator in its own way.
"""

import numpy as np

from .builder import read_model, write_model
from .builder.schema import ENUMS, OPERATORS
from .case import Case
from .cases import kinds
from .options import patterns


def _ones(keeps):
    """The function that gives a shape 1 but at the places that `keeps` names."""
    return lambda shape: [d if i in keeps(shape) else 1 for i, d in enumerate(shape)]


ASKED = ("to none:",)  # drawn where `--case` asks for them; "rank:" is drawn of graphs without being asked for
ENDLESS = ("STABLEHLO_SCATTER",)  # whose walk over no updates goes on behind them in TensorFlow
_RANKS = {
    "rank: more": lambda shape: [1, *shape],
    "rank: less": lambda shape: [shape[0] * shape[1], *shape[2:]] if len(shape) > 1 else shape,
    "rank: flat": lambda shape: [int(np.prod(shape))] if len(shape) > 2 else shape,
}
_RESIZED = {  # to what the inputs are resized after a run
    **{f"to {what}": changed for what, changed in _RANKS.items()},
    "to none: first": lambda shape: [0, *shape[1:]] if shape else shape,
    "to none: inside": lambda shape: [0 if 0 < i < len(shape) - 1 else d for i, d in enumerate(shape)],
    "to none: last": lambda shape: [*shape[:-1], 0] if shape else shape,
}
_HELD = {  # what the file holds of an input's shape
    "ones: all": _ones(lambda shape: []),
    "ones: batch": _ones(lambda shape: range(1, len(shape))),
    "ones: inside": _ones(lambda shape: {0, len(shape) - 1}),
    "ones: but channels": _ones(lambda shape: [len(shape) - 1]),
    "ones: everywhere": _ones(lambda shape: [len(shape) - 1]),
    **_RANKS,
}
RUNS, EVERYWHERE = ("ones: but channels", "rank: more", "rank: less"), "ones: everywhere"
_TYPES = {code: name.lower() for name, code in ENUMS["TensorType"].items()}
_BYTELESS = ("string", "resource", "variant")  # no zeros of these
_BITS = {"int4": 4, "uint4": 4, "int2": 2, "bfloat16": 16}


def with_placeholders(model, held):
    """The model with placeholders in the shapes of its inputs, which `held` makes of their own; whether anything has changed."""
    changed, main = False, model["subgraphs"][0]
    for t in main["inputs"]:
        tensor = main["tensors"][t]
        before = [int(d) for d in (tensor["shape"] if tensor["shape"] is not None else [])]
        after = held(before)
        if after != before:
            changed = True
            tensor["shape"] = after
            pairs = zip(after, before, strict=True) if len(after) == len(before) else [(-1, d) for d in after]
            tensor["shape_signature"] = [d if d == b else -1 for d, b in pairs]
    return changed


def forget_shapes(model):
    """What is computed of inputs has placeholders, too."""
    for graph in model["subgraphs"]:
        open_tensors = set(graph["inputs"])
        for node in graph["operators"]:
            if open_tensors.intersection(node["inputs"]):
                open_tensors.update(node["outputs"])
        if graph is model["subgraphs"][0]:
            open_tensors.difference_update(graph["inputs"])
        for tensor in (graph["tensors"][t] for t in sorted(open_tensors) if t >= 0):
            rank = 0 if tensor["shape"] is None else len(tensor["shape"])
            if rank and not tensor["is_variable"]:
                tensor["shape"], tensor["shape_signature"] = [1] * rank, [-1] * rank


def inputs_of(model):
    main = model["subgraphs"][0]
    return [main["tensors"][t] for t in main["inputs"]]


def cropped(feed, tensors):
    """A feed's beginning, in the shapes that the file holds; None where there is not enough of it."""
    arrays = []
    for array, tensor in zip(feed, tensors, strict=True):
        shape = [int(d) for d in (tensor["shape"] if tensor["shape"] is not None else [])]
        if len(shape) != array.ndim and int(np.prod(shape)) == array.size:
            arrays.append(array.reshape(shape))
            continue
        if len(shape) != array.ndim or any(d > size for d, size in zip(shape, array.shape, strict=True)):
            return None
        arrays.append(array[tuple(slice(d) for d in shape)].reshape(shape))
    return arrays


def derived(case, what, model, feeds, before):
    return Case(
        case.op,
        case.dtype,
        f"{case.variant}, {what}",
        case.seed,
        write_model(model),
        feeds,
        case.text,
        refused=None,
        options=case.options,
        before=before,
        origins=(*(_renamed(name, what) for name in case.origins), case.id, *case.origins),
    )


def _renamed(name, what):
    """The id of a case that is made of another one in the same way."""
    kind, _, seed = name.rpartition("#")
    return f"{kind}, {what}#{seed}"


# ---------------------------------------------------------------- callers


def _tensor(like, name, shape=None, buffer=0):
    """A tensor of another one's type and quantization."""
    return {
        **{field: like[field] for field in ("type", "quantization")},
        "shape": like["shape"] if shape is None else shape,
        "name": name,
        "buffer": buffer,
    }


def _plain(dtype, name, shape=(), buffer=0):
    return _tensor({"type": dtype, "quantization": None}, name, list(shape), buffer)


def _zeros(model, tensor, name):
    """A constant of zeros in another tensor's type and shape."""
    shape = [max(int(d), 0) for d in (tensor["shape"] if tensor["shape"] is not None else [])]
    dtype = _TYPES[tensor["type"]]
    bits = _BITS.get(dtype) or 8 * np.dtype(dtype).itemsize
    model["buffers"].append({"data": bytes((int(np.prod(shape)) * bits + 7) // 8)})
    return _tensor(tensor, name, shape, len(model["buffers"]) - 1)


def _code(model, name):
    code = OPERATORS.index(name)
    fields = {"deprecated_builtin_code": min(code, 127), "builtin_code": code, "version": 1, "custom_code": None}
    model["operator_codes"].append(fields)
    return len(model["operator_codes"]) - 1


def _caller(model, name, inputs, outputs, first, slot, options):
    """A new main graph of one operator, whose inputs are the graph's from `first` on; the old one goes to the end."""
    node = {
        "opcode_index": _code(model, name),
        "inputs": list(range(len(inputs))),
        "outputs": [len(inputs) + k for k in range(len(outputs))],
        slot: options,
    }
    model["subgraphs"].append(model["subgraphs"][0])
    model["subgraphs"][0] = {
        "tensors": [*inputs, *outputs],
        "inputs": list(range(first, len(inputs))),
        "outputs": node["outputs"],
        "operators": [node],
        "name": "main",
    }
    model["signature_defs"] = None


def as_branch(model, name):
    """The main graph becomes what an IF or STABLEHLO_CASE calls for False or 1, beside a branch of zeros; the choice is input 0."""
    graph = model["subgraphs"][0]
    x, y = ([graph["tensors"][t] for t in graph[role]] for role in ("inputs", "outputs"))
    total = len(model["subgraphs"])
    zeros = {
        "tensors": [
            *(_tensor(t, f"x{i}") for i, t in enumerate(x)),
            *(_zeros(model, t, f"y{k}") for k, t in enumerate(y)),
        ],
        "inputs": list(range(len(x))),
        "outputs": list(range(len(x), len(x) + len(y))),
        "operators": [],
        "name": "zeros",
    }
    choice = _plain(ENUMS["TensorType"]["BOOL" if name == "IF" else "INT32"], "choice")
    ours, other = total, total + 1
    options = ("IfOptions", {"then_subgraph_index": other, "else_subgraph_index": ours})
    slot = "builtin_options"
    if name != "IF":
        slot, options = "builtin_options_2", ("StablehloCaseOptions", {"branch_subgraph_indices": [other, ours]})
    outputs = [_tensor(t, f"y{k}") for k, t in enumerate(y)]
    _caller(model, name, [choice, *(_tensor(t, f"x{i}") for i, t in enumerate(x))], outputs, 0, slot, options)
    model["subgraphs"].append(zeros)


def as_body(model):
    """The main graph becomes the body of a WHILE that runs once or, where input 0 is False, not at all.

    Its state is whether to run, the graph's inputs, and the outputs, at first zeros."""
    graph = model["subgraphs"][0]
    x, y = ([graph["tensors"][t] for t in graph[role]] for role in ("inputs", "outputs"))
    total, boolean = len(model["subgraphs"]), ENUMS["TensorType"]["BOOL"]
    state = [_plain(boolean, "again"), *(_tensor(t, f"x{i}") for i, t in enumerate(x))]
    inputs = [*state, *(_zeros(model, t, f"y{k}") for k, t in enumerate(y))]
    results = [_tensor(t, f"z{i}") for i, t in enumerate(inputs)]
    own = len(graph["tensors"])
    graph["tensors"] = [
        *graph["tensors"],
        _plain(boolean, "again"),
        *(_tensor(t, f"before{k}") for k, t in enumerate(y)),
        _plain(boolean, "no more"),
    ]
    graph["operators"] = [
        *graph["operators"],
        {"opcode_index": _code(model, "LOGICAL_NOT"), "inputs": [own], "outputs": [own + 1 + len(y)]},
    ]
    graph["outputs"] = [own + 1 + len(y), *graph["inputs"], *graph["outputs"]]
    graph["inputs"] = [own, *graph["inputs"], *range(own + 1, own + 1 + len(y))]
    condition = {
        "tensors": [_tensor(t, f"c{i}", buffer=0) for i, t in enumerate(inputs)],
        "inputs": list(range(len(inputs))),
        "outputs": [0],
        "operators": [],
        "name": "condition",
    }
    options = ("WhileOptions", {"cond_subgraph_index": total + 1, "body_subgraph_index": total})
    _caller(model, "WHILE", inputs, results, 0, "builtin_options", options)
    main = model["subgraphs"][0]
    main["inputs"] = list(range(len(state)))
    model["subgraphs"].append(condition)


CALLERS = {
    "IF": (
        lambda model: as_branch(model, "IF"),
        True,
        False,
    ),  # the value of input 0 that leaves the graph out, that runs it
    "CASE": (lambda model: as_branch(model, "STABLEHLO_CASE"), np.int32(0), np.int32(1)),
    "WHILE": (as_body, False, True),
}


def called(case, caller):
    """The case as what is not called, at placeholders, then in its own shapes, then called; None where there are no zeros of its types."""
    model = read_model(case.model)
    graph = model["subgraphs"][0]
    types = [_TYPES[graph["tensors"][t]["type"]] for t in (*graph["inputs"], *graph["outputs"])]
    if not case.feeds or any(t in _BYTELESS for t in types) or any(t < 0 for t in graph["outputs"]):
        return None
    change, out, into = CALLERS[caller]
    with_placeholders(model, _HELD[RUNS[0]])
    before = cropped(case.feeds[0], inputs_of(model))
    change(model)
    feeds = [[np.array(choice), *feed] for choice, feed in zip((out, into), (case.feeds * 2)[:2], strict=True)]
    before = [] if before is None or caller == "WHILE" else [np.array(out), *before]
    return derived(case, caller, model, feeds, before)


# ---------------------------------------------------------------- cases


def placeholder_cases(seeds, invokes, ops=None, dtype=None, variant=None):
    """The cases that fit; a variant by a part of its name, the generators' and what is made of it."""
    chosen = {(k.op, k.dtype, k.variant) for k in patterns(ops)}
    for seed in seeds:
        for kind in kinds(ops, dtype):
            if not _may_fit(kind, variant):
                continue
            case = kind.case(seed, min(invokes, 2))
            for found in _of(case, (kind.op, kind.dtype, kind.variant) in chosen):
                asked = ASKED if kind.op == "GRAPH" else (*ASKED, "rank:")
                if (variant or "") in found.variant and all(
                    what not in found.variant or what in (variant or "") for what in asked
                ):
                    yield found


def _may_fit(kind, variant):
    parts = [*_HELD, *_RESIZED, *CALLERS]
    return not variant or any(variant in f"{kind.variant}, {part}" for part in parts)


def _resized(array, shape):
    return array.reshape(shape) if array.size == np.prod(shape, dtype=int) else np.zeros(shape, array.dtype)


def _of(case, chosen):
    seen = set()
    for what, held in _HELD.items() if "mixture" not in case.variant else ():
        model = read_model(case.model)
        shapes = str([held(list(a.shape)) for a in case.feeds[0]]) if case.feeds else ""
        if case.feeds and (shapes not in seen or what == EVERYWHERE) and with_placeholders(model, held):
            seen.add(shapes)
            if what == EVERYWHERE:
                forget_shapes(model)
            before = cropped(case.feeds[0], inputs_of(model)) if what in RUNS else []
            yield derived(case, what, model, case.feeds, before or [])
    for what, resized in _RESIZED.items() if "mixture" not in case.variant else ():
        if case.op in ENDLESS and what.startswith("to none"):
            continue
        feeds = [[_resized(array, resized(list(array.shape))) for array in feed] for feed in case.feeds]
        if any(
            a.shape != b.shape for a, b in zip(feeds[0] if feeds else (), case.feeds[0] if feeds else (), strict=True)
        ):
            yield derived(case, what, read_model(case.model), [case.feeds[0], *feeds], None)
    for caller in CALLERS if chosen else ("IF",):
        found = called(case, caller)
        if found is not None:
            yield found
