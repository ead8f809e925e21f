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
    size = -(-arena_size // 16) * 16
    lines = [
        f"constexpr int kTensorArenaSize = {size};",
        "alignas(16) static uint8_t tensor_arena[kTensorArenaSize];",
        "",
        *_operators([graph]),
    ]
    count = len(graph.variables)
    if count:
        lines += [
            "",
            "tflite::MicroAllocator* allocator = tflite::MicroAllocator::Create(tensor_arena, kTensorArenaSize);",
            *_variables(count, "variables"),
            "// then: tflite::MicroInterpreter interpreter(model, resolver, allocator, variables);",
        ]
    return "\n".join(lines)


def firmware_shared(graphs, names, arena_size):
    """The lines for several models in one arena; `names` are those of their `const tflite::Model*`."""
    lines = [
        f"constexpr int kTensorArenaSize = {-(-arena_size // 16) * 16};",
        "alignas(16) static uint8_t tensor_arena[kTensorArenaSize];",
        "",
        *_operators(graphs),
        "",
        "tflite::MicroAllocator* allocator = tflite::MicroAllocator::Create(tensor_arena, kTensorArenaSize);",
        "// in this order: AllocateTensors of each, then the invokes, one model after the other",
    ]
    for graph, name in zip(graphs, names, strict=True):
        count, own = len(graph.variables), ""
        if count:
            own = f"variables_{name}"
            lines += _variables(count, own)
            own = f", {own}"
        lines.append(f"static tflite::MicroInterpreter interpreter_{name}({name}, resolver, allocator{own});")
    return "\n".join(lines)


def firmware_split(graph, persistent, non_persistent, fast=None):
    """The lines for a model whose tail and head are two arenas; with `fast` so many bytes of the head in fast memory."""
    count = len(graph.variables)
    head = ["alignas(16) static uint8_t non_persistent_arena[kNonPersistentArenaSize];  // the one for fast memory"]
    if fast is not None:
        head = [
            f"constexpr int kFastBytes = {fast};  // of the non-persistent arena",
            "// Your linker script puts the section .tflm_head where its first kFastBytes are the end of fast memory, and the",
            "// rest the beginning of slow memory.",
            'alignas(16) __attribute__((section(".tflm_head")))',
            "static uint8_t non_persistent_arena[kNonPersistentArenaSize];",
        ]
    return "\n".join(
        [
            f"constexpr int kPersistentArenaSize = {persistent};",
            f"constexpr int kNonPersistentArenaSize = {non_persistent};",
            "alignas(16) static uint8_t persistent_arena[kPersistentArenaSize];",
            *head,
            "",
            *_operators([graph]),
            "",
            "tflite::MicroAllocator* allocator = tflite::MicroAllocator::Create(",
            "    persistent_arena, kPersistentArenaSize, non_persistent_arena, kNonPersistentArenaSize);",
            *(_variables(count, "variables") if count else ()),
            f"// then: tflite::MicroInterpreter interpreter(model, resolver, allocator{', variables' if count else ''});",
        ]
    )


def _operators(graphs):
    """The resolver with the operators of all graphs."""
    names = sorted({(node.op, node.custom) for graph in graphs for node in graph.nodes})
    known = list(dict.fromkeys(op for op, custom in names if has_kernel(op, custom)))
    own = [op for op, custom in names if custom and op not in known and not op.startswith(FLEX)]
    yield f"static tflite::MicroMutableOpResolver<{max(1, len(known) + len(own))}> resolver;"
    for op in known:
        yield f"TF_LITE_ENSURE_STATUS(resolver.{method(op)}());"
    for op in own:
        registration = "Register_" + re.sub(r"\W", "_", op, flags=re.ASCII).upper()
        yield f"const TFLMRegistration* {registration}();  // yours: TFLM has no kernel of this name"
        yield f"TF_LITE_ENSURE_STATUS(resolver.AddCustom({_literal(op)}, {registration}()));"


def _variables(count, name):
    return [
        f"tflite::MicroResourceVariables* {name} =",
        f"    tflite::MicroResourceVariables::Create(allocator, {count});",
    ]


def _literal(text):
    """A C string; bytes that are not printable ASCII in octal."""
    plain = {ord('"'): '\\"', ord("\\"): "\\\\"}
    content = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(plain.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in content) + '"'
