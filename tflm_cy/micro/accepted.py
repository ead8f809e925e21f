"""Which types TFLM's kernels take, and the few other things that they refuse: before the model runs, or when it does.

    >>> from tflm_cy.micro.accepted import refusal_of             # doctest: +SKIP
    >>> refusal_of(node, FAILS)                                   # doctest: +SKIP
    'node 3 ABS: its input 0 is INT32; TFLM takes FLOAT32, INT8, INT16'

A kernel says so in its prepare (`REFUSES`: the model is not allocated) or only in its invoke (`FAILS`: the model is
allocated, and each invoke that reaches the node fails). `_TYPES` holds, per operator, rules (when, what, types): `what`
names tensors (i0: input 0, o0: output 0) and `types` the allowed combinations, written as in `FLOAT32>INT8`. A tensor
that is left out counts as `-`.

Where a kernel reads indices or sizes from the model, they must be constant (`_CONSTANT`). STRIDED_SLICE reads as many
indices as the input has dimensions, whatever was given, ignores new_axis_mask and ellipsis_mask, and wants the shape in
the file to be the result's. Where there are fewer indices TFLM reads what follows them in the file: there every invoke
fails here. So it is with a bias: kernels do not look at its type and read its bytes as what their activations suggest
(`ops.weighted`), which is done here too where the bytes suffice (an INT32 or INT64 bias read as FLOAT32). Sparse
weights, which TFLM takes for dense ones, fail likewise.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels (the wheel's, by its refusals).
"""

import struct

from tflm_cy.micro import decode_requests
from tflm_cy.micro.graph_view import ELEMENT_BYTES

REFUSES, FAILS = "refuses", "fails"

_MOST_SLICED = 4  # dimensions
_MOST_BROADCAST = _MOST_TRANSPOSED = 5


def _rules(when, what, ops, types):
    return {op: (when, what, tuple(types.split())) for op in ops.split()}


_TABLES = (
    _rules(REFUSES, "i0", "AVERAGE_POOL_2D MAX_POOL_2D", "FLOAT32 INT8 INT16"),
    _rules(REFUSES, "i0", "ADD_N CUMSUM DEPTH_TO_SPACE SPACE_TO_DEPTH L2_NORMALIZATION", "FLOAT32 INT8"),
    _rules(REFUSES, "i0 i1", "GATHER GATHER_ND", "FLOAT32>INT32 INT8>INT32"),
    _rules(REFUSES, "i0", "CEIL EXP ROUND", "FLOAT32"),
    _rules(REFUSES, "i0", "CONCATENATION", "BOOL FLOAT32 INT8 INT16 INT32 INT64"),
    _rules(REFUSES, "i0", "DEQUANTIZE", "INT8 INT16 UINT8"),
    _rules(REFUSES, "i0 i1", "BATCH_MATMUL", "FLOAT32>FLOAT32 INT8>INT8 INT16>INT16"),
    _rules(REFUSES, "i0 i1", "CONV_2D", "FLOAT32>FLOAT32 INT8>INT8 INT8>INT4 INT16>INT8"),
    _rules(
        REFUSES, "i0 i1", "DEPTHWISE_CONV_2D", "FLOAT32>FLOAT32 INT8>INT8 INT8>INT4 INT16>INT8 INT16>INT16 UINT8>UINT8"
    ),
    _rules(
        REFUSES,
        "i0 i1",
        "FULLY_CONNECTED",
        "FLOAT32>FLOAT32 INT8>INT8 INT8>INT4 INT16>INT8 UINT8>FLOAT32 UINT8>INT4 UINT8>INT8 UINT8>INT16 UINT8>UINT8",
    ),
    _rules(REFUSES, "i2 i1", "TRANSPOSE_CONV", "FLOAT32>FLOAT32 INT8>INT8 INT16>INT8 INT16>INT16 UINT8>UINT8"),
    _rules(REFUSES, "i0 i1", "SVDF", "FLOAT32>FLOAT32 INT8>INT8"),
    _rules(REFUSES, "i0 o0", "SOFTMAX", "FLOAT32>FLOAT32 INT8>INT8 INT8>INT16 INT16>INT16"),
    _rules(FAILS, "i0 i1", "DEPTHWISE_CONV_2D", "FLOAT32>FLOAT32 INT8>INT8 INT8>INT4 INT16>INT8 UINT8>UINT8"),
    _rules(FAILS, "i0", "DEPTHWISE_CONV_2D FULLY_CONNECTED", "FLOAT32 INT8 INT16"),
    _rules(FAILS, "i2", "TRANSPOSE_CONV", "FLOAT32 INT8 INT16"),
    _rules(FAILS, "i0", "ABS LEAKY_RELU LOGISTIC MEAN PRELU RELU RELU6 RSQRT TANH TRANSPOSE", "FLOAT32 INT8 INT16"),
    _rules(FAILS, "i0", "EXPAND_DIMS", "FLOAT32 INT8 INT16"),
    _rules(FAILS, "i0", "ADD MUL SUB PAD PADV2 SPLIT_V UNPACK", "FLOAT32 INT8 INT16 INT32"),
    _rules(FAILS, "i1", "SPLIT", "FLOAT32 INT8 INT16 INT32"),
    _rules(FAILS, "i1", "SELECT_V2", "FLOAT32 INT8 INT16"),
    _rules(FAILS, "i1", "FILL", "FLOAT32 INT8 INT32"),
    _rules(FAILS, "i0", "DIV SQUARED_DIFFERENCE", "FLOAT32 INT8 INT32"),
    _rules(FAILS, "i0", "DYNAMIC_UPDATE_SLICE", "FLOAT32 INT8 INT16 INT32"),
    _rules(FAILS, "i0", "MAXIMUM MINIMUM PACK", "FLOAT32 INT8 INT16 INT32 INT64"),
    _rules(FAILS, "i0", "SLICE", "BOOL FLOAT32 INT8 INT16 INT32"),
    _rules(FAILS, "i0", "STRIDED_SLICE", "BOOL FLOAT32 INT8 INT16 INT32"),
    _rules(FAILS, "i0", "EQUAL NOT_EQUAL", "BOOL FLOAT32 INT8 INT32 INT64"),
    _rules(FAILS, "i0", "GREATER", "FLOAT32 INT8 INT16 INT32 INT64"),
    _rules(FAILS, "i0", "GREATER_EQUAL LESS LESS_EQUAL", "FLOAT32 INT8 INT32 INT64"),
    _rules(FAILS, "i0", "BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND HARD_SWISH LOG_SOFTMAX MIRROR_PAD", "FLOAT32 INT8"),
    _rules(FAILS, "i0", "REDUCE_MAX REDUCE_MIN RESIZE_BILINEAR", "FLOAT32 INT8"),
    _rules(FAILS, "i0", "SUM RESIZE_NEAREST_NEIGHBOR", "FLOAT32 INT8 INT16"),
    _rules(FAILS, "i0", "FLOOR FLOOR_DIV FLOOR_MOD LOG NEG SQRT TFLite_Detection_PostProcess", "FLOAT32"),
    _rules(FAILS, "o0", "SHAPE", "INT32"),
    _rules(FAILS, "i0 o0", "ARG_MAX ARG_MIN", "FLOAT32>INT32 INT8>INT32"),
    _rules(
        FAILS,
        "i0 o0",
        "QUANTIZE",
        "FLOAT32>INT8 FLOAT32>INT16 INT8>INT8 INT8>INT16 INT8>INT32 INT8>UINT8 INT16>INT8 INT16>INT16 INT16>INT32 "
        "INT32>INT8 INT32>INT16 UINT8>INT8",
    ),
    _rules(
        FAILS,
        "i0 o0",
        "CAST",
        " ".join(
            f"{source}>{result}"
            for source in ("BOOL", "FLOAT32", "INT8", "INT16", "INT32", "UINT32")
            for result in ("BOOL", "FLOAT32", "INT8", "INT16", "INT32", "UINT32")
        ),
    ),
)

_TYPES: dict[str, list] = {}
for _table in _TABLES:
    for _op, _rule in _table.items():
        _TYPES.setdefault(_op, []).append(_rule)

# op -> inputs that must be constant
_CONSTANT = {
    "BROADCAST_TO": (1,),
    "EXPAND_DIMS": (1,),
    "FILL": (0,),
    "PAD": (1,),
    "PADV2": (1,),
    "RESIZE_BILINEAR": (1,),
    "RESIZE_NEAREST_NEIGHBOR": (1,),
    "SPLIT": (0,),
    "SPLIT_V": (2,),
    "STRIDED_SLICE": (1, 2, 3),
    "TRANSPOSE": (1,),
}


def refusal_of(node, when):
    """Why TFLM refuses a node (`REFUSES`), or why each invoke fails that reaches it (`FAILS`); None when it does not."""
    for rule_when, what, types in _TYPES.get(node.op, ()):
        if rule_when == when:
            given = ">".join(_type(node, name) for name in what.split())
            if given not in types:
                names = " and ".join(f"{'input' if n[0] == 'i' else 'output'} {n[1:]}" for n in what.split())
                return f"{node}: {names} {'are' if '>' in given else 'is'} {given}; TFLM takes {', '.join(types)}"
    if when == FAILS:
        for i in range(len(node.inputs)):
            tensor = node.input(i)
            if tensor is not None and tensor.constant and tensor.sparse:
                return f"{node}: TFLM reads the sparse values of input {i} as dense ones, beyond their end"
        beyond = _BEYOND.get(node.op)
        return beyond(node) if beyond else None
    for i in _CONSTANT.get(node.op, ()):
        tensor = node.input(i)
        if tensor is not None and not tensor.constant:
            return f"{node}: input {i} is not constant, which TFLM wants"
    if any(t >= 0 and node.tensors[t].nbytes for t in node.intermediates):
        return f"{node} has intermediate tensors with bytes, which TFLM does not take"
    check = _CHECKS.get(node.op)
    return check(node) if check else None


def _type(node, name):
    """The type of `i0` (input 0), `o0` (output 0), ...; '-' for a tensor that is left out."""
    position, indices = int(name[1:]), node.inputs if name[0] == "i" else node.outputs
    t = indices[position] if position < len(indices) else -1
    return node.tensors[t].type if t >= 0 else "-"


def _strided_slice(node):
    source, output = node.input(0), node.output(0)
    if source.rank > _MOST_SLICED:
        return f"{node}: TFLM slices at most {_MOST_SLICED} dimensions"
    begin, end, strides = (node.constant_values(i) for i in (1, 2, 3))
    if None in (begin, end, strides) or any(node.input(i).type != "INT32" for i in (1, 2, 3)):
        return f"{node}: its indices are no INT32 constants"
    if min(len(begin), len(end), len(strides)) < source.rank:
        return None  # it depends on what follows in the file
    wanted, options = [], node.options
    for axis, size in enumerate(source.shape):
        if strides[axis] == 0:
            return f"{node}: stride value has to be non-zero"
        first = _start(begin[axis], strides[axis], size, options.begin_mask >> axis & 1)
        if options.shrink_axis_mask >> axis & 1:
            continue
        stop = _stop(end[axis], strides[axis], size, options.end_mask >> axis & 1)
        wanted.append(max(0, -((first - stop) // strides[axis])))
    if tuple(wanted) != output.shape:
        return f"{node}: the output's shape is {output.shape}, TFLM finds {tuple(wanted)}"
    return None


def _few_indices(node):
    rank = node.input(0).rank
    if min(node.input(i).elements for i in (1, 2, 3)) < rank:
        return f"{node}: TFLM reads an index for each of the {rank} dimensions, also where none is given"
    return None


def _start(index, stride, size, masked):
    if masked:
        return 0 if stride > 0 else size - 1
    index += size if index < 0 else 0
    return min(max(index, 0), size) if stride > 0 else min(max(index, -1), size - 1)


def _stop(index, stride, size, masked):
    if masked:
        return size if stride > 0 else -1
    index += size if index < 0 else 0
    return min(max(index, 0), size) if stride > 0 else min(max(index, -1), size - 1)


def _pad(node):
    """Paddings are read as INT32, whatever they are."""
    source, output, paddings = node.input(0), node.output(0), node.input(1)
    if len(paddings.data) < 8 * source.rank:
        return f"{node}: it has too few paddings"
    values = struct.unpack_from(f"<{2 * source.rank}i", paddings.data)
    for axis, size in enumerate(source.shape):
        if output.rank != source.rank or values[2 * axis] + size + values[2 * axis + 1] != output.shape[axis]:
            return f"{node}: the output's shape is {output.shape}, which its paddings do not give"
    return None


def _broadcast_to(node):
    if max(node.input(0).rank, node.output(0).rank) > _MOST_BROADCAST:
        return f"{node}: TFLM broadcasts at most {_MOST_BROADCAST} dimensions"
    return None


def _transpose(node):
    if node.input(0).rank > _MOST_TRANSPOSED:
        return f"{node}: TFLM transposes at most {_MOST_TRANSPOSED} dimensions"
    return None


def _fully_connected(node):
    if node.input(1).type == "INT4" and len(node.input(1).scales) > 1:
        return f"{node}: TFLM has no scale per channel for INT4"
    return None


def _quantize(node):
    if len(node.output(0).scales) > 1:
        return f"{node}: TFLM quantizes with one scale"
    return None


def _softmax(node):
    if _type(node, "i0") == "INT8" and node.output(0).type == "INT16" and node.output(0).zero_points[:1] != (-32768,):
        return f"{node}: an INT16 output of an INT8 input must have zero point -32768"
    return None


def _short_bias(node):
    """A kernel does not ask for its bias's type: with FLOAT32 it reads FLOAT32, with INT8 INT32, with INT16 INT64 or INT32."""
    source, position = ("i2", 3) if node.op == "TRANSPOSE_CONV" else ("i0", 2)
    bias, kind = node.input(position), _type(node, source)
    if bias is None or kind not in ("FLOAT32", "INT8", "INT16"):
        return None
    if kind == "INT16" and bias.type in _BIASES_OF_INT16[node.op]:
        return None
    wanted = {"FLOAT32": "FLOAT32", "INT8": "INT32", "INT16": "INT64"}[kind]
    if kind == "INT16" and node.op == "CONV_2D" and bias.type != wanted:
        return f"{node}: its bias is {bias.type}; TFLM takes INT32, INT64"
    if bias.nbytes < bias.elements * ELEMENT_BYTES[wanted]:
        return f"{node}: TFLM reads its {bias.type} bias as {wanted}, beyond the bias's end"
    return None


def _undecoded(node):
    reason = decode_requests.failure(node)
    return f"{node}: {reason}" if reason else None


# activations of INT16 -> types of the bias that are read as what they are, besides INT64
_BIASES_OF_INT16 = {
    "CONV_2D": ("INT32",),
    "DEPTHWISE_CONV_2D": (),
    "FULLY_CONNECTED": ("INT32",),
    "TRANSPOSE_CONV": ("INT16",),
}

_CHECKS = {
    "BROADCAST_TO": _broadcast_to,
    "FULLY_CONNECTED": _fully_connected,
    "PAD": _pad,
    "PADV2": _pad,
    "QUANTIZE": _quantize,
    "SOFTMAX": _softmax,
    "STRIDED_SLICE": _strided_slice,
    "TRANSPOSE": _transpose,
}

# What TFLM computes from memory that is not the tensors': here the node fails when it runs
_BEYOND = {
    "CONV_2D": _short_bias,
    "DEPTHWISE_CONV_2D": _short_bias,
    "FULLY_CONNECTED": _short_bias,
    "STRIDED_SLICE": _few_indices,
    "TFLM_DECODE": _undecoded,
    "TRANSPOSE_CONV": _short_bias,
}
