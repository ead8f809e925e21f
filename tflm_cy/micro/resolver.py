"""The lines of C++ that a firmware needs for a model: the arena's size and the resolver with its operators.

    >>> method("DEPTHWISE_CONV_2D"), method("SignalPCAN")
    ('AddDepthwiseConv2D', 'AddPCAN')

The names are those of tensorflow/tflite-micro:tensorflow/lite/micro/micro_mutable_op_resolver.h: an operator's words
capitalized, with a few exceptions.
"""

_NAMES = {
    "BATCH_MATMUL": "AddBatchMatMul",
    "CUMSUM": "AddCumSum",
    "PADV2": "AddPadV2",
    "TFLM_DECODE": "AddDecode",
    "TFLite_Detection_PostProcess": "AddDetectionPostprocess",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
}


def method(op):
    """The method of MicroMutableOpResolver that adds an operator, custom ones of TFLM included."""
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
    ops = sorted({node.op for node in graph.nodes})
    size = -(-arena_size // 16) * 16
    lines = [
        f"constexpr int kTensorArenaSize = {size};",
        "alignas(16) static uint8_t tensor_arena[kTensorArenaSize];",
        "",
        f"static tflite::MicroMutableOpResolver<{len(ops)}> resolver;",
        *(f"TF_LITE_ENSURE_STATUS(resolver.{method(op)}());" for op in ops),
    ]
    return "\n".join(lines)
