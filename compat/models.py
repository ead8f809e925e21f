"""Cases from .tflite files: every model below a folder, with random inputs of the types that it declares.

Inputs are drawn per seed and invoke: float32 from three distributions in turn, small integer types over their whole
range, wider ones as small non-negative numbers (they tend to be indices, shapes or counts), bool and strings at
random. `model_hints.json` says what a model needs beyond that: file name pattern -> {"why": ..., "inputs": {position:
hint}} with

    {"shape": [1, 1280]}         resize the input to this, after an allocation at the file's shape
    {"like_output": 0}           feed the declared shape of that output (a shape tensor, as of TRANSPOSE_CONV)
    {"low": 0, "high": 4}        draw from low to high
    {"special": true}            NaN, infinities and numbers near the ends of float32 among the values
"""

import json
from fnmatch import fnmatch
from pathlib import Path
from zlib import crc32

import numpy as np

from .builder import read_model
from .builder.schema import ENUMS
from .case import Case
from .cases.special_values import scattered
from .verdict import UsageError

HINTS = json.loads((Path(__file__).parent / "model_hints.json").read_text())
_TYPES = {code: name.lower() for name, code in ENUMS["TensorType"].items()}


def find_models(folders, part=""):
    """(name, path) of each model below the folders whose name contains `part`, sorted.

    A name is the path below the folder's parent. A folder whose own name ends in .tflite is a folder.

    Raises
    ------
    UsageError
        A folder does not exist.
    """
    found = []
    for folder in map(Path, folders):
        if not folder.exists():
            raise UsageError(f"no such folder: {folder}")
        if folder.is_file():
            found.append((folder.name, folder))
        else:
            folder = folder.resolve()  # its models may be links to elsewhere
            found += [(path.relative_to(folder.parent).as_posix(), path) for path in tflite_files(folder)]
    return [(name, path) for name, path in found if part in name]


def tflite_files(folder):
    """The .tflite files below a folder, sorted."""
    return sorted(path for path in folder.rglob("*.tflite") if path.is_file())


def model_cases(folders, seeds, invokes=3, part=""):
    """A case per model and seed; the operator's place in the case's name is the folder."""
    for name, path in find_models(folders, part):
        inputs, outputs = _interface(path)
        hints = _hints_for(name)
        for seed in seeds:
            rng = np.random.default_rng([seed, crc32(name.encode())])
            feeds = [
                [_draw(rng, tensor, hints.get(str(i), {}), outputs, seed) for i, tensor in enumerate(inputs)]
                for _ in range(invokes)
            ]
            dtype = "+".join(dict.fromkeys(_TYPES.get(t["type"], "?") for t in inputs)) or "none"
            folder, _, file = name.rpartition("/")
            before = [] if any("shape" in hint for hint in hints.values()) else None
            yield Case(folder or ".", dtype, file, seed, path, feeds, before=before)


def _interface(path):
    """Input and output tensors of the main graph; none where the file cannot be read as a model."""
    try:
        graph = read_model(path.read_bytes())["subgraphs"][0]
        return [[graph["tensors"][i] for i in graph[role]] for role in ("inputs", "outputs")]
    except Exception:
        return [], []


def _hints_for(name):
    for pattern, hint in HINTS.items():
        if fnmatch(name, f"*{pattern}"):
            return hint["inputs"]
    return {}


def _draw(rng, tensor, hint, outputs, seed):
    """An array for an input tensor."""
    declared = [] if tensor["shape"] is None else [max(1, int(d)) for d in tensor["shape"]]
    shape, dtype = hint.get("shape", declared), _TYPES[tensor["type"]]
    if "like_output" in hint:
        return np.asarray(outputs[hint["like_output"]]["shape"], dtype)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype == "string":
        return np.array([b"s%d" % v for v in rng.integers(0, 99, shape).ravel()], object).reshape(shape)
    if dtype.startswith(("float", "bfloat")):
        if "low" in hint:
            return rng.uniform(hint["low"], hint["high"], shape).astype(dtype)
        spread = [rng.standard_normal(shape), rng.random(shape), rng.uniform(-1, 1, shape)]
        values = spread[seed % 3].astype("float32" if dtype == "bfloat16" else dtype)
        return scattered(rng, values) if hint.get("special") else values
    if dtype in ("int4", "int2", "uint4"):
        return rng.integers(-8, 8, shape).astype(np.int8)
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if np.dtype(dtype).itemsize <= 2 else (0, 9)
    return rng.integers(hint.get("low", low), hint.get("high", high) + 1, shape).astype(dtype)
