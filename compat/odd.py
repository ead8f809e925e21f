"""Odd but running quantization and values, and sides of size 0: `python -m compat --odd`.

"odd scale": of one case for each operator and type, each quantized tensor's scale in turn becomes 0, a denormal, tiny, huge, infinite, NaN,
or itself times a power of two that leads multipliers over the ends of their range; then all tensors' scales do, and each zero point goes to
the ends of its type. "lowest bytes": half of the bytes of constants and inputs are the lowest of their type. "odd booleans": of every case
with booleans, and of patterns whose type becomes BOOL, the bytes of what is true are others than 1. "zero size", "short side of 1": each
dimension of each input in turn becomes 0, 1, 2 or 3 by a resize; then the case's own shapes return. Tensors are called by index (`t3`),
inputs by position.

TensorFlow decides which call raises and, where it runs, every byte.
"""

import numpy as np

from .builder import read_model, write_model
from .builder.schema import ENUMS
from .case import Case
from .cases import kinds
from .options import UNFIT
from .retype import patterns as retyped_patterns
from .retype import retyped

_TYPES = {code: name.lower() for name, code in ENUMS["TensorType"].items()}
SCALES = {
    **{"0": 0.0, "denormal": 1e-45, "1e-30": 1e-30, "1e-6": 1e-6, "1": 1.0, "1e30": 1e30, "largest": 3.4028235e38},
    **{"inf": np.inf, "nan": np.nan},
}
FACTORS = {f"times 2^{k}": 2.0**k for k in (-70, -34, -31, -12, -1, 1, 7, 12, 31, 34, 70)}
BYTES = ("int8", "uint8")
TRUE = np.array([1, 2, 3, 127, 128, 254, 255], np.uint8)  # bytes that C++ may read as true, or as numbers
ENDLESS = (  # what TensorFlow's loops have no end with: a condition of an empty counter, a walk over updates that begins behind its end
    "WHILE/zero size",
    *(f"STABLEHLO_SCATTER/zero size {updates}" for updates in ("input 2", "all")),
)
SIDES = {0: "zero size", 1: "short side of 1", 2: "short side of 2", 3: "short side of 3"}
ODD_BOOLEANS = "odd booleans"
_ALL = ("0", "denormal", "1e-30", "1", "1e30", "largest")


def patterns(ops, dtype=None):
    """A kind of each operator and type that makes a sensible model: "random" before others."""
    seen = set()
    for kind in sorted(kinds(ops, dtype), key=lambda kind: kind.variant != "random"):
        if kind.op == "GRAPH" or (kind.op, kind.dtype) in seen or "mixture" in kind.variant:
            continue
        if not any(word in kind.variant for word in (*UNFIT, "zero", "scale")):
            seen.add((kind.op, kind.dtype))
            yield kind


def quantized(model):
    """(graph, tensor) of every tensor with scales."""
    for g, graph in enumerate(model["subgraphs"]):
        for t, tensor in enumerate(graph["tensors"]):
            if len((tensor.get("quantization") or {}).get("scale", ())):
                yield g, t


def _changed(case, what, change, places):
    """The case with `change(quantization, tensor)` made at some places."""
    model = read_model(case.model)
    for g, t in places:
        tensor = model["subgraphs"][g]["tensors"][t]
        tensor["quantization"] = {**tensor["quantization"], **change(tensor["quantization"], tensor)}
    return Case(case.op, case.dtype, what, case.seed, write_model(model), case.feeds, case.text, None)


def _scale(value):
    return lambda quantization, _: {"scale": np.full(len(quantization["scale"]), value, np.float32)}


def _times(factor):
    def change(quantization, _):
        with np.errstate(all="ignore"):
            return {"scale": (np.asarray(quantization["scale"], np.float64) * factor).astype(np.float32)}

    return change


def _zero_point(end):
    def change(quantization, tensor):
        name = _TYPES[tensor.get("type", 0)]
        bits = {"int2": 2, "int4": 4}.get(name)
        limits = np.iinfo(name if name in ("int8", "uint8", "int16") else "int32")
        low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if bits else (limits.min, limits.max)
        value = low if end == "lowest" else high
        return {"zero_point": np.full(max(len(quantization.get("zero_point", ())), 1), value, np.int64)}

    return change


def odd_scales(case):
    """Cases with one quantized tensor changed, or all of them."""
    places = list(quantized(read_model(case.model)))
    changes = {**{k: _scale(v) for k, v in SCALES.items()}, **{k: _times(v) for k, v in FACTORS.items()}}
    changes.update({f"zero point {end}": _zero_point(end) for end in ("lowest", "highest")})
    for g, t in places:
        where = f"t{t}" if g == 0 else f"g{g} t{t}"
        for name, change in changes.items():
            yield f"odd scale {where} {name}", change, [(g, t)]
    for name in _ALL if len(places) > 1 else ():
        yield f"odd scale all {name}", _scale(SCALES[name]), places


def lowest_bytes(case, rng):
    """The case with constants and inputs of bytes of which half are the lowest ones, or None: products of two meet the ends of sums."""
    model, changed = read_model(case.model), False

    def lowered(values):
        return np.where(rng.random(values.shape) < 0.5, np.iinfo(values.dtype).min, values)

    for graph in model["subgraphs"]:
        for tensor in graph["tensors"]:
            data = model["buffers"][tensor.get("buffer", 0)].get("data")
            name = _TYPES[tensor.get("type", 0)]
            if name in BYTES and data is not None and len(data) and tensor.get("sparsity") is None:
                values = np.frombuffer(bytes(data), name)
                model["buffers"][tensor["buffer"]]["data"] = lowered(values).tobytes()
                changed = True
    feeds = [[lowered(array) if array.dtype.name in BYTES else array for array in feed] for feed in case.feeds]
    changed = changed or any(array.dtype.name in BYTES for feed in feeds for array in feed)
    if not changed:
        return None
    return Case(case.op, case.dtype, "lowest bytes", case.seed, write_model(model), feeds, case.text, None)


def odd_booleans(case, rng):
    """The case with bytes of constants and inputs that say true in other ways than 1, or None where there are no booleans."""
    model, changed = read_model(case.model), False

    def made_odd(values):
        return np.where(values.view(np.uint8) != 0, rng.choice(TRUE, values.shape), np.uint8(0)).view(bool)

    for graph in model["subgraphs"]:
        for tensor in graph["tensors"]:
            data = model["buffers"][tensor.get("buffer", 0)].get("data")
            if (
                _TYPES[tensor.get("type", 0)] == "bool"
                and data is not None
                and len(data)
                and not tensor.get("sparsity")
            ):
                model["buffers"][tensor["buffer"]]["data"] = made_odd(np.frombuffer(bytes(data), bool)).tobytes()
                changed = True
    feeds = [[made_odd(array) if array.dtype == bool else array for array in feed] for feed in case.feeds]
    changed = changed or any(array.dtype == bool for feed in feeds for array in feed)
    if not changed:
        return None
    what = f"{case.variant}, {ODD_BOOLEANS}"
    origins = (case.id, *case.origins)
    return Case(
        case.op, case.dtype, what, case.seed, write_model(model), feeds, case.text, None, case.options, origins=origins
    )


def odd_boolean_cases(seed, invokes, ops, dtype):
    """Of every kind that has booleans, and of patterns of other types made boolean."""
    for kind in kinds(ops, dtype):
        case = kind.case(seed, invokes)
        found = odd_booleans(case, np.random.default_rng(seed)) if isinstance(case.model, bytes) else None
        if found is not None:
            yield found
    for kind in retyped_patterns(ops) if dtype in (None, "bool") else ():
        if kind.dtype not in ("string", "bool"):
            found = odd_booleans(retyped(kind.case(seed, invokes), "bool", False), np.random.default_rng(seed))
            if found is not None:
                yield found


def short_sides(case):
    """(what, feeds) with one dimension of one input, or of all, of no, one, two or three elements at first, as the case has it then."""
    first = case.feeds[0] if case.feeds else []
    ranks = {a.ndim for a in first}
    places = [(f"input {i} dim {d}", [i], d) for i, array in enumerate(first) for d in range(array.ndim)]
    if len(ranks) == 1 and len(first) > 1:
        places += [(f"all dim {d}", range(len(first)), d) for d in range(ranks.pop())]
    for where, inputs, d in places:
        for size, what in SIDES.items():
            if all(first[i].shape[d] > size for i in inputs):
                feed = [a.take(range(size), axis=d) if i in inputs else a for i, a in enumerate(first)]
                yield f"{what} {where}", [feed, *case.feeds[1:]]


def odd_cases(seeds, invokes, ops=None, dtype=None, variant=None):
    for seed in seeds:
        if (variant or "") in ODD_BOOLEANS:
            yield from odd_boolean_cases(seed, invokes, ops, dtype)
        for kind in patterns(ops, dtype):
            case = kind.case(seed, invokes)
            for what, change, places in odd_scales(case):
                if (variant or "") in what:
                    yield _changed(case, what, change, places)
            lowest = lowest_bytes(case, np.random.default_rng(seed)) if (variant or "") in "lowest bytes" else None
            if lowest is not None:
                yield lowest
            for what, feeds in short_sides(case):
                if (variant or "") in what and not f"{kind.op}/{what}".startswith(ENDLESS):
                    yield Case(case.op, case.dtype, what, seed, case.model, feeds, case.text, None)
