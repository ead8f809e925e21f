"""What to change in the conversion of a model that TFLM does not take.

>>> from tflm_cy.micro.advice import advice                  # doctest: +SKIP
>>> advice(survey.objections)[0]                             # doctest: +SKIP
'Leave tf.lite.OpsSet.SELECT_TF_OPS out of ...'
"""

FLEX = "Flex"  # how the names of TensorFlow's own operators begin in a model

_LISTS = ("TensorList", "TensorArray")
_STRINGS = ("HASHTABLE", "LSH_PROJECTION", "SKIP_GRAM", "UNPACK_STRING")


def advice(objections):
    """Sentences, the most important first; each once."""
    found = [sentence for objection in objections for sentence in _of(objection)]
    return list(dict.fromkeys(found))


def _of(objection):
    op = objection.node.op if objection.node is not None else ""
    if objection.lacks_operator:
        yield _instead_of(objection.node)
        return
    reason = objection.reason.split("; TFLM takes")[0]  # what is given, not what would be taken
    if "is VARIANT" in reason:
        yield _WITHOUT_LISTS
    elif "is STRING" in reason:
        yield _NUMBERS
    elif "FLOAT32>INT8" in reason or "FLOAT32>INT4" in reason:
        yield (
            "The weights are quantized and the activations are not (dynamic range quantization): give the converter a "
            "representative_dataset, so that both are INT8, or leave converter.optimizations out."
        )
    elif "UINT8" in reason and op == "CAST":
        yield (
            "TFLM casts no UINT8: convert with inference_input_type tf.int8 and feed INT8 (UINT8 less 128), or leave "
            "the cast out and feed FLOAT32."
        )
    elif "UINT8" in reason:
        yield (
            "It is quantized to UINT8: convert it again from its source with TensorFlow 2, a representative_dataset and "
            "inference_input_type tf.int8."
        )
    elif "FLOAT16" in reason:
        yield "Leave tf.float16 out of converter.target_spec.supported_types: TFLM computes FLOAT32, INT8 and INT16."
    elif "dynamic tensors" in reason or "is not constant" in reason:
        yield (
            f"The shapes around {op} are known only while it runs: convert from a concrete function whose input shapes, "
            "batch included, are all fixed."
        )
    elif "TFLM finds" in reason or "paddings do not give" in reason:
        yield (
            "The shapes that the file gives are not those that its operators make: something was open when it was converted "
            "(a batch, a length), or it was changed afterwards. Convert from a concrete function whose input shapes, batch "
            "included, are all fixed."
        )
    elif "UNIDIRECTIONAL_SEQUENCE_LSTM" in op:
        yield (
            "TFLM has the plain LSTM alone: use tf.keras.layers.LSTM without peepholes, projection and layer normalization, "
            "with a fixed batch, and quantize it with INT16 activations."
        )
    elif "joins" in reason:
        yield "Join the tensors in several steps of at most 10."


_WITHOUT_LISTS = (
    "A recurrent layer was converted to a loop over lists of tensors: give its input a fixed batch "
    "(tf.keras.Input(..., batch_size=1)), set converter._experimental_lower_tensor_list_ops = True and leave "
    "tf.lite.OpsSet.SELECT_TF_OPS out; an LSTM becomes UNIDIRECTIONAL_SEQUENCE_LSTM then, other layers want unroll=True."
)
_NUMBERS = "TFLM holds no strings: look words up outside of the model, and feed numbers."


def _instead_of(node):
    """For an operator that TFLM has not."""
    op = node.op
    if op.startswith(FLEX):
        if any(word in op for word in _LISTS):
            return _WITHOUT_LISTS
        return (
            "Leave tf.lite.OpsSet.SELECT_TF_OPS out of converter.target_spec.supported_ops, and replace the layers that the "
            "converter names then: TFLM runs none of TensorFlow's own operators."
        )
    if node.custom:
        return (
            f"{op} is a custom operator: write its kernel for TFLM and add it with AddCustom, or compile the model for another "
            "processor than the one that made this operator."
        )
    if any(word in op for word in _STRINGS):
        return _NUMBERS
    if op in ("RFFT2D", "COMPLEX_ABS", "REAL", "IMAG"):
        return (
            f"Compute the spectrum outside of the model instead of by {op}, or with TFLM's signal library "
            "(tflite_micro.python.tflite_micro.signal)."
        )
    if op in (
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        "BIDIRECTIONAL_SEQUENCE_RNN",
        "LSTM",
        "RNN",
        "UNIDIRECTIONAL_SEQUENCE_RNN",
    ):
        return f"TFLM has no {op}: use tf.keras.layers.LSTM in one direction, or unroll=True."
    return f"Replace {op} by operators that TFLM has, or write its kernel for TFLM."
