"""The lines of C++ that a firmware needs for a model: the arena's size, the resolver with its operators, its variables.

    >>> method("DEPTHWISE_CONV_2D"), method("SignalPCAN"), method("ethos-u")
    ('AddDepthwiseConv2D', 'AddPCAN', 'AddEthosU')

They are statements of a function that returns TfLiteStatus. The names are those of
tensorflow/tflite-micro:tensorflow/lite/micro/micro_mutable_op_resolver.h: an operator's words capitalized, with a few
exceptions. An operator that TFLM lacks has no line, but for a custom one, whose kernel the firmware may bring.
"""

import re

from tflm_cy.micro.advice import FLEX
from tflm_cy.micro.requests import has_kernel

_NAMES = {
    "BATCH_MATMUL": "AddBatchMatMul",
    "CUMSUM": "AddCumSum",
    "PADV2": "AddPadV2",
    "TFLM_DECODE": "AddDecode",
    "TFLite_Detection_PostProcess": "AddDetectionPostprocess",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
    "ethos-u": "AddEthosU",
}


def method(op):
    """The method of MicroMutableOpResolver that adds an operator of TFLM's, custom ones included."""
    if op in _NAMES:
        return _NAMES[op]
    if op.startswith("Signal"):
        return "Add" + op.removeprefix("Signal")
    return "Add" + "".join(word if word == "2D" else word.capitalize() for word in op.split("_"))


def firmware(graph, arena_size):
    """C++ source.

    Parameters
    ----------
    graph : GraphView
    arena_size : int
        Rounded up to 16 here, so that the array ends where TFLM wants it.
    """
    names = sorted({(node.op, node.custom) for node in graph.nodes})
    known = [op for op, custom in names if has_kernel(op, custom)]
    own = [op for op, custom in names if custom and op not in known and not op.startswith(FLEX)]
    size = -(-arena_size // 16) * 16
    lines = [
        f"constexpr int kTensorArenaSize = {size};",
        "alignas(16) static uint8_t tensor_arena[kTensorArenaSize];",
        "",
        f"static tflite::MicroMutableOpResolver<{max(1, len(known) + len(own))}> resolver;",
        *(f"TF_LITE_ENSURE_STATUS(resolver.{method(op)}());" for op in known),
    ]
    for op in own:
        registration = "Register_" + re.sub(r"\W", "_", op, flags=re.ASCII).upper()
        lines.append(f"const TFLMRegistration* {registration}();  // yours: TFLM has no kernel of this name")
        lines.append(f"TF_LITE_ENSURE_STATUS(resolver.AddCustom({_literal(op)}, {registration}()));")
    count = len(graph.variables)
    if count:
        lines += [
            "",
            "tflite::MicroAllocator* allocator = tflite::MicroAllocator::Create(tensor_arena, kTensorArenaSize);",
            "tflite::MicroResourceVariables* variables =",
            f"    tflite::MicroResourceVariables::Create(allocator, {count});",
            "// then: tflite::MicroInterpreter interpreter(model, resolver, allocator, variables);",
        ]
    return "\n".join(lines)


def _literal(text):
    """A C string; bytes that are not printable ASCII in octal."""
    plain = {ord('"'): '\\"', ord("\\"): "\\\\"}
    content = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(plain.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in content) + '"'
