"""Which nodes TFLM allocates that fail each time that they run: types that a kernel's invoke refuses, and a few other things.

    >>> from tflm_cy.micro.type_support import failure_of             # doctest: +SKIP
    >>> failure_of(node)                                          # doctest: +SKIP
    'input 0 is INT32; TFLM takes FLOAT32, INT8, INT16'

What a kernel refuses in its prepare, where the model is not allocated, is in `walks`. `_TYPES` holds, per operator, rules
(what, types): `what` names tensors (i0: input 0, o0: output 0) and `types` the allowed combinations, written as in
`FLOAT32>INT8`. A tensor that is left out counts as `-`.

Kernels do not look at a bias's type and read its bytes as what their activations suggest (`ops.quantized_weights`), which is done
here too where the bytes suffice (an INT32 or INT64 bias read as FLOAT32); where they do not, every invoke fails here. So it
is with sparse weights, which TFLM takes for dense ones.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels (the wheel's, by its refusals).
"""

from tflm_cy.micro import decode_requests
from tflm_cy.micro.graph_view import ELEMENT_BYTES


def _rules(what, ops, types):
    return {op: (what, tuple(types.split())) for op in ops.split()}


_TABLES = (
    _rules("i0 i1", "DEPTHWISE_CONV_2D", "FLOAT32>FLOAT32 INT8>INT8 INT8>INT4 INT16>INT8 UINT8>UINT8"),
    _rules("i0", "DEPTHWISE_CONV_2D FULLY_CONNECTED", "FLOAT32 INT8 INT16"),
    _rules("i2", "TRANSPOSE_CONV", "FLOAT32 INT8 INT16"),
    _rules("i0", "ABS LEAKY_RELU LOGISTIC MEAN PRELU RELU RELU6 RSQRT TANH TRANSPOSE", "FLOAT32 INT8 INT16"),
    _rules("i0", "EXPAND_DIMS", "FLOAT32 INT8 INT16"),
    _rules("i0", "ADD MUL SUB PAD PADV2 SPLIT_V UNPACK", "FLOAT32 INT8 INT16 INT32"),
    _rules("i1", "SPLIT", "FLOAT32 INT8 INT16 INT32"),
    _rules("i1", "SELECT_V2", "FLOAT32 INT8 INT16"),
    _rules("i1", "FILL", "FLOAT32 INT8 INT32"),
    _rules("i0", "DIV", "FLOAT32 INT8 INT32"),
    _rules("i0", "SQUARED_DIFFERENCE", "FLOAT32 INT8 INT16 INT32"),
    _rules("i0", "DYNAMIC_UPDATE_SLICE", "FLOAT32 INT8 INT16 INT32"),
    _rules("i0", "MAXIMUM MINIMUM PACK", "FLOAT32 INT8 INT16 INT32 INT64"),
    _rules("i0", "SLICE", "BOOL FLOAT32 INT8 INT16 INT32"),
    _rules("i0", "STRIDED_SLICE", "BOOL FLOAT32 INT8 INT16 INT32"),
    _rules("i0", "EQUAL NOT_EQUAL", "BOOL FLOAT32 INT8 INT32 INT64"),
    _rules("i0", "GREATER", "FLOAT32 INT8 INT16 INT32 INT64"),
    _rules("i0", "GREATER_EQUAL LESS LESS_EQUAL", "FLOAT32 INT8 INT32 INT64"),
    _rules("i0", "BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND HARD_SWISH LOG_SOFTMAX MIRROR_PAD", "FLOAT32 INT8"),
    _rules("i0", "REDUCE_MAX REDUCE_MIN RESIZE_BILINEAR", "FLOAT32 INT8"),
    _rules("i0", "SUM RESIZE_NEAREST_NEIGHBOR", "FLOAT32 INT8 INT16"),
    _rules("i0", "LOGICAL_NOT", "BOOL"),
    _rules("i0", "COS FLOOR FLOOR_DIV FLOOR_MOD LOG NEG SIN SQRT SQUARE TFLite_Detection_PostProcess", "FLOAT32"),
    _rules("o0", "SHAPE", "INT32"),
    _rules("i0 o0", "ARG_MAX ARG_MIN", "FLOAT32>INT32 INT8>INT32"),
    _rules(
        "i0 o0",
        "QUANTIZE",
        "FLOAT32>INT8 FLOAT32>INT16 INT8>INT8 INT8>INT16 INT8>INT32 INT8>UINT8 INT16>INT8 INT16>INT16 INT16>INT32 "
        "INT32>INT8 INT32>INT16 UINT8>INT8",
    ),
    _rules(
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


def failure_of(node):
    """Why each invoke fails that reaches a node; None when it does not."""
    for what, types in _TYPES.get(node.op, ()):
        given = ">".join(_type(node, name) for name in what.split())
        if given not in types:
            names = " and ".join(f"{'input' if n[0] == 'i' else 'output'} {n[1:]}" for n in what.split())
            return f"{names} {'are' if '>' in given else 'is'} {given}; TFLM takes {', '.join(types)}"
    for i in range(len(node.inputs)):
        tensor = node.input(i)
        if tensor is not None and tensor.constant and tensor.sparse:
            return f"TFLM reads the sparse values of input {i} as dense ones, beyond their end"
    beyond = _BEYOND.get(node.op)
    return beyond(node) if beyond else None


def _type(node, name):
    """The type of `i0` (input 0), `o0` (output 0), ...; '-' for a tensor that is left out."""
    position, indices = int(name[1:]), node.inputs if name[0] == "i" else node.outputs
    t = indices[position] if position < len(indices) else -1
    return node.tensors[t].type if t >= 0 else "-"


def _few_indices(node):
    rank = node.input(0).rank
    if min(node.input(i).elements for i in (1, 2, 3)) < rank:
        return (
            f"TFLM reads an index for each of the {rank} dimensions, also where none is given: what follows in the file"
        )
    return None


def _no_bias(node):
    return None if node.input(3) is not None else "TFLM reads a bias (input 3), which it has not"


def _nothing_to_average(node):
    return None if node.input(0).elements else "TFLM divides by the number of elements, which is 0"


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
        return f"its bias is {bias.type}; TFLM takes INT32, INT64"
    if bias.nbytes < bias.elements * ELEMENT_BYTES[wanted]:
        return f"TFLM reads its {bias.type} bias as {wanted}, beyond the bias's end"
    return None


# activations of INT16 -> types of the bias that are read as what they are, besides INT64
_BIASES_OF_INT16 = {
    "CONV_2D": ("INT32",),
    "DEPTHWISE_CONV_2D": (),
    "FULLY_CONNECTED": ("INT32",),
    "TRANSPOSE_CONV": ("INT16",),
}

# What TFLM computes from memory that is not the tensors': here the node fails when it runs
_BEYOND = {
    "CONV_2D": _short_bias,
    "DEPTHWISE_CONV_2D": _short_bias,
    "FULLY_CONNECTED": _short_bias,
    "MEAN": _nothing_to_average,
    "STRIDED_SLICE": _few_indices,
    "SVDF": _no_bias,
    "TFLM_DECODE": decode_requests.failure,
    "TRANSPOSE_CONV": _short_bias,
}
