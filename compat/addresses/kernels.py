"""What TensorFlow's kernels tell its memory planner: temporaries, what is computed once, what takes over an input.

    temporaries(observed, constant, optimized)      # {node: [(tensor, arena)]}

Interpreters show the temporaries' shapes and addresses, not whose they are. They are numbered behind the file's
tensors: first those of kernels that ask for them when they are made, node by node, then those of kernels that ask in
prepare. Kernels ask for a fixed number and may use fewer; unused ones have no shape and are not shown, but count.

Source: LiteRT:tflite/kernels (Init and Prepare of each).
"""

from tflm_cy.memory.arena_planner import NOT_IN_ARENA, PERSISTENT, READ_WRITE

RW, KEPT, NONE = READ_WRITE, PERSISTENT, NOT_IN_ARENA

# Asked for when the kernel is made: op -> how many
_AT_ONCE = {"SVDF": 6, "UNIDIRECTIONAL_SEQUENCE_LSTM": 12, "ADD_N": 1}

_REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL")

# Operators whose output 0 is computed in prepare when all that they read is constant, into memory of its own
_FOLDED = (
    "BROADCAST_ARGS",
    "CONCATENATION",
    "GATHER",
    "MUL",
    "RANGE",
    "RESHAPE",
    "STRIDED_SLICE",
    "TILE",
    "REDUCE_PROD",
)


# op -> positions of the inputs that give the output its shape: where one is computed, the output is not planned
_SHAPED_BY = {
    "BROADCAST_TO": (1,),
    "FILL": (0,),
    "PAD": (1,),
    "PADV2": (1,),
    "RANGE": (0, 1, 2),
    "RESHAPE": (1,),
    "RESIZE_BILINEAR": (1,),
    "RESIZE_NEAREST_NEIGHBOR": (1,),
    "SLICE": (1, 2),
    "STRIDED_SLICE": (1, 2, 3),
    "TILE": (1,),
    "TOPK_V2": (1,),
    "TRANSPOSE": (1,),
    **dict.fromkeys(_REDUCTIONS, (1,)),
}


def first_dynamic(observed, arena):
    """The first node whose output's shape is known only while it runs: the planner comes no further at first."""
    for k, node in enumerate(observed["nodes"]):
        shapes = [node["inputs"][i] for i in _SHAPED_BY.get(node["op"], ()) if i < len(node["inputs"])]
        if any(t >= 0 and arena[t] != NONE for t in shapes):
            return k
    return None


def arenas(observed, constant, variables):
    """The arena of each tensor of the file: by its kind, and by the node that writes it."""
    found = dict.fromkeys((t["index"] for t in observed["tensors"]), RW)
    found.update(dict.fromkeys(variables, KEPT))
    found.update(dict.fromkeys(constant, NONE))
    for node in observed["nodes"]:
        sources = [t for t in node["inputs"] if t >= 0]
        if node["op"] in ("SHAPE", "RANK"):
            found[node["outputs"][0]] = NONE
        elif node["op"] in ("DEQUANTIZE", "DENSIFY", "CAST", "VAR_HANDLE"):  # computed once, at the first invoke
            if all(found[t] == NONE for t in sources[:1]):
                found[node["outputs"][0]] = KEPT
        elif node["op"] in _FOLDED and all(found[t] == NONE for t in sources):
            found[node["outputs"][0]] = NONE
    return found


def temporaries(observed, first, arena, optimized):
    """{node: [(tensor, arena)]}; `first` is the number of the first one.

    Raises
    ------
    ValueError
        A temporary is left that belongs to nobody: the rules are wrong.
    """
    tensors = {t["index"]: t for t in observed["tensors"]}
    found, position = {}, first
    for at_once in (True, False):
        for k, node in enumerate(observed["nodes"]):
            count = _AT_ONCE.get(node["op"], 0) if at_once else _in_prepare(node, tensors, position, optimized)
            if not count:
                continue
            mine = range(position, position + count)
            position += count
            kinds = _kinds(node, tensors, arena, mine)
            found[k] = [(t, kind) for t, kind in zip(mine, kinds, strict=False) if t in tensors]
    left = [t for t in tensors if t >= position]
    if left:
        raise ValueError(f"temporaries {left} belong to no node")
    return found


def _in_prepare(node, tensors, position, optimized):
    """How many temporaries a node asks for in prepare, when the next one has number `position`."""
    op, inputs = node["op"], [tensors.get(t) for t in node["inputs"]]
    if op in _REDUCTIONS:
        return 4
    if op == "FULLY_CONNECTED":
        return 6
    if op == "BATCH_MATMUL":
        return 7
    if op == "CONV_2D":
        im2col = int((optimized or _hybrid(inputs)) and _is_im2col(node, tensors, position))
        return im2col + (_hybrid_parts(node, tensors, position + im2col) if _hybrid(inputs) else 0)
    if op == "DEPTHWISE_CONV_2D":
        return 3 if _hybrid(inputs) else 0
    if op == "TRANSPOSE_CONV":
        value = tensors[node["inputs"][2]]
        sums = 1 if value["type"] in ("uint8", "int8", "int16") else 0
        return 2 * optimized + sums + (3 if _hybrid([value, inputs[1]]) else 0)
    return 0


def _is_im2col(node, tensors, t):
    out, filters = tensors[node["outputs"][0]]["shape"], tensors[node["inputs"][1]]["shape"]
    single = filters[1] == filters[2] == 1 and tensors[node["inputs"][0]]["shape"][1:3] == out[1:3]
    if t not in tensors or single:
        return False
    return tensors[t]["shape"] == [*out[:3], filters[1] * filters[2] * filters[3]]


def _hybrid_parts(node, tensors, t):
    """Quantized input, scales and sums; with a scale per channel the zero points and the sums of the weights too."""
    channels = tensors[node["inputs"][1]]["shape"][0]
    has_sums = t + 4 in tensors and tensors[t + 3]["shape"] == tensors[t + 1]["shape"]
    return 5 if has_sums and tensors[t + 4]["shape"] == [channels] else 3


def _hybrid(inputs):
    return inputs[0]["type"] == "float32" and inputs[1]["type"] in ("uint8", "int8")


def _kinds(node, tensors, arena, mine):
    """The arena of each temporary of a node."""
    op = node["op"]
    if op in _REDUCTIONS:
        return [RW, RW, RW, NONE if arena[node["inputs"][0]] == RW else RW]
    if op == "FULLY_CONNECTED":
        return [RW, RW, RW, RW, KEPT, KEPT]
    if op == "BATCH_MATMUL":
        return [RW, KEPT if arena[node["inputs"][1]] == NONE else RW, RW, RW, RW, RW, KEPT]
    if op == "SVDF":
        return [RW, RW, RW, KEPT, RW, KEPT]
    if op == "UNIDIRECTIONAL_SEQUENCE_LSTM":
        return [RW] * 11 + [KEPT]
    if op == "CONV_2D":
        return [RW] * (len(mine) - 1) + [KEPT if len(mine) >= 5 else RW]
    if op == "TRANSPOSE_CONV":
        transposed = [RW, KEPT if arena[node["inputs"][1]] == NONE else RW] if len(mine) in (2, 3, 5) else []
        return transposed + [RW] * (len(mine) - len(transposed))
    return [RW] * len(mine)
