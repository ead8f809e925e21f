"""TFLM_DECODE, which expands a compressed constant: what its kernel asks of the arena, and what it refuses.

    >>> from tflm_cy.micro.decode_requests import method
    >>> method(bytes([2, 1, 0, 0, 1] + 11 * [0]))
    'DecodePrune'

Per output a pointer and a state, whose size depends on the method; pruning keeps the zero points of int8 channels, a byte
each, where one of them is not zero. What is decoded is planned like any other tensor, unless TFLM is given another memory
for it (SetDecompressionMemory): each node begins at its start, and what does not fit is planned.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/decode*.cc.
"""

from tflm_cy.micro.requests import Kernel
from tflm_cy.micro.target import ARENA_ALIGNMENT

HEADER = 16
_METHODS = {0: "DecodeLut", 1: "DecodeHuffman", 2: "DecodePrune"}
_VALUES = ("BOOL", "FLOAT32", "INT8", "INT16", "INT32", "INT64")


def method(header):
    """The row of `target.op_data` of an ancillary tensor's method; ValueError when TFLM has no such method or version."""
    if len(header) < HEADER:
        raise ValueError(f"{len(header)} bytes do not say how values are encoded, {HEADER} are the least")
    if header[1] != 1:
        raise ValueError(f"version {header[1]} of the encoding; TFLM takes 1")
    if header[0] not in _METHODS:
        raise ValueError(f"there is no method {header[0]}; TFLM has 0 (look-up tables), 1 (Huffman), 2 (pruning)")
    if header[4] != 1:
        raise ValueError(f"version {header[4]} of {_METHODS[header[0]]}; TFLM takes 1")
    return _METHODS[header[0]]


def pairs(node):
    """(encoded, ancillary, decoded) of each output."""
    return [(node.input(2 * i), node.input(2 * i + 1), node.output(i)) for i in range(len(node.outputs))]


def refusal(node):
    """Why TFLM refuses a node; None when it does not."""
    if not node.outputs or len(node.inputs) != 2 * len(node.outputs):
        return f"it has {len(node.inputs)} inputs for {len(node.outputs)} outputs; TFLM wants two for each"
    for i, (encoded, ancillary, decoded) in enumerate(pairs(node)):
        if encoded is None or ancillary is None or not (encoded.constant and ancillary.constant):
            return f"inputs {2 * i} and {2 * i + 1} must be constants"
        header = bytes(ancillary.data[:HEADER])
        try:
            name = method(header)
        except ValueError as error:
            return f"input {2 * i + 1}: {error}"
        if name == "DecodeHuffman":
            if not header[5] & 1 and decoded.type != "INT8":
                return f"Huffman tables of 16-bit entries are for INT8; output {i} is {decoded.type}"
            continue
        axis, channels = decoded.axis, len(decoded.scales)
        if channels and axis != 0 and not (channels > 1 and axis == decoded.rank - 1):
            return f"output {i} is quantized along axis {axis}; TFLM decodes along the first or the last"
        if name == "DecodePrune" and decoded.type != "INT8" and channels and any(decoded.zero_points):
            return f"output {i} is {decoded.type}, all zero points must be zero"
    return None


def failure(node):
    """Why each invoke fails that reaches a node; None when it does not."""
    for i, (_, ancillary, decoded) in enumerate(pairs(node)):
        takes = ("INT8", "INT16") if ancillary.data[0] == 1 else _VALUES
        if decoded.type not in takes:
            return f"output {i} is {decoded.type}; TFLM decodes {', '.join(takes)}"
    return None


def outside(nodes, size):
    """(subgraph, tensor) of what is decoded into a memory of `size` bytes of its own."""
    found = set()
    for node in nodes:
        used = 0
        for t in node.outputs if node.op == "TFLM_DECODE" else ():
            end = -(-used // ARENA_ALIGNMENT) * ARENA_ALIGNMENT + node.tensors[t].nbytes
            if end <= size:
                found.add((node.subgraph, t))
                used = end
    return found


def misread(node):
    """Where TFLM decodes something else than what was compressed: the outputs that have fewer tables than scales, as texts."""
    if node.op != "TFLM_DECODE" or refusal(node) or failure(node):
        return
    for i, (_, ancillary, decoded) in enumerate(pairs(node)):
        table, channels = ancillary.data[6] * decoded.element_bytes, len(decoded.scales)
        tables = (len(ancillary.data) - HEADER) // table if table else channels
        if ancillary.data[0] == 0 and tables < channels:
            yield (
                f"{node}: output {i} '{decoded.name}' has {channels} scales and {tables} look-up table{'s'[: tables != 1]}; TFLM wants "
                f"a table per scale and takes what lies behind in the file for the others. Compress this tensor per channel"
            )


DECODE = Kernel()
