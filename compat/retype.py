"""Which types does an operator take? Cases of the generators with one type replaced by every other: `python -m compat --retype`.

For each operator one case of a floating type and one of an 8-bit type serve as patterns. All their tensors of that type become another
type, constants by conversion, once without quantization ("plain") and, for small integers, once with a scale ("scaled").
TensorFlow decides what runs; what only one side runs shows as a difference. bfloat16 is left out: numpy lacks it, and TensorFlow's
interpreter raises when it is asked for an input's details.
"""

import numpy as np

from .builder import pack_bits, read_model, write_model
from .builder.schema import ENUMS
from .case import Case
from .cases import kinds

TYPES = (
    *("float32", "float16", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"),
    *("uint64", "bool", "complex64", "int4"),
)
_CODES = {name.lower(): code for name, code in ENUMS["TensorType"].items()}
_PATTERNS = (("float32",), ("int8", "int32", "bool", "string"))  # the first of each that an operator has


def patterns(ops, dtype=None):
    """One kind for each operator and group of types: the variant that comes first, "random" if there is one."""
    for op in sorted({kind.op for kind in kinds(ops)} - {"GRAPH"}):
        known = [
            kind
            for kind in kinds([op])
            if not any(word in kind.variant for word in ("wrong", "bounds", "out of", "special values"))
        ]
        for group in _PATTERNS:
            label = next((t for t in group if any(k.dtype == t for k in known)), None)
            if label:
                fitting = [k for k in known if k.dtype == label]
                yield next((k for k in fitting if k.variant == "random"), fitting[0])


def _bytes(values, dtype):
    if dtype == "int4":
        return pack_bits(np.clip(values, -8, 7), 4)
    return converted(values, dtype).tobytes()


def converted(values, dtype):
    """Values of another type; what it cannot hold becomes whatever the conversion makes of it."""
    with np.errstate(all="ignore"):
        if dtype == "int4":
            return np.clip(values, -8, 7).astype(np.int8)
        return np.nan_to_num(values).astype(dtype) if np.asarray(values).dtype.kind == "f" else values.astype(dtype)


def retyped(case, dtype, scaled):
    """A case whose tensors of its own type have another; None where nothing changes."""
    model = read_model(case.model)
    own, code = _CODES[case.dtype], _CODES[dtype]
    for graph in model["subgraphs"]:
        for tensor in graph["tensors"]:
            if tensor["type"] != own:
                continue
            tensor["type"] = code
            tensor["quantization"] = (
                {"scale": np.array([0.05], np.float32), "zero_point": np.array([0])} if scaled else None
            )
            data = model["buffers"][tensor["buffer"]].get("data")
            if data is not None and len(data):
                values = np.frombuffer(bytes(data), case.dtype)
                model["buffers"][tensor["buffer"]] = {"data": _bytes(values, dtype)}
    feeds = [[converted(a, dtype) if a.dtype == np.dtype(case.dtype) else a for a in feed] for feed in case.feeds]
    return Case(
        case.op,
        f"{case.dtype} as {dtype}",
        "scaled" if scaled else "plain",
        case.seed,
        write_model(model),
        feeds,
        case.text,
    )


def retyped_cases(seeds, invokes, ops=None, dtype=None, variant=None):
    for seed in seeds:
        for kind in patterns(ops):
            if kind.dtype == "string":
                continue
            case = kind.case(seed, invokes)
            for name in TYPES:
                for scaled in (False, True) if name in ("int8", "uint8", "int16", "int32") else (False,):
                    label = f"{case.dtype} as {name}"
                    if dtype in (None, label, name) and (variant or "") in ("scaled" if scaled else "plain"):
                        yield retyped(case, name, scaled)
