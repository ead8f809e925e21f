"""What TFLM prints where it stops, for somebody who has it on a serial line and looks for the reason.

    >>> from tflm_cy.micro.messages import words                 # doctest: +SKIP
    >>> words(refusal)                                           # doctest: +SKIP
    "Didn't find op for builtin opcode 'TILE'"

A kernel that checks a condition prints its file and the line, which change with the version; the sentence behind them is
given where it is known, else that it is such a line.

Source: tensorflow/tflite-micro:tensorflow/lite/micro, micro_op_resolver.cc, micro_interpreter.cc,
micro_interpreter_graph.cc and kernels.
"""

from tflm_cy.micro.refusal import INIT, INVOKE, PLAN, PREPARE, RESOLVE

_HYBRID_OPS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "SVDF", "BATCH_MATMUL")
_ALLOCATE, _INVOKE = "AllocateTensors", "Invoke"


def words(refusal):
    """The lines that TFLM prints for a `refusal.Refusal`, the telling one first."""
    node = refusal.node
    if refusal.stage == RESOLVE and node is not None:
        return "\n".join(_unresolved(refusal, node))
    if refusal.stage == PLAN or node is None:
        return "Failed starting model allocation." if refusal.stage != INVOKE else f"{_INVOKE} fails"
    verb = {INIT: "init", PREPARE: "prepare", INVOKE: "invoke"}.get(refusal.stage, "prepare")
    return "\n".join([*_reason(refusal), f"Node {node.op} (number {node.index}) failed to {verb} with status 1"])


def _unresolved(refusal, node):
    if not refusal.lacks_operator:
        yield f"Node {node.op} (number {node.index}): its options are not parsed"
        return
    if node.custom:
        yield "Failed to get registration from op code CUSTOM"
    else:
        yield f"Didn't find op for builtin opcode '{node.op}'"
        yield f"Failed to get registration from op code {node.op}"


def _reason(refusal):
    reason, op = refusal.reason, refusal.node.op
    if "dynamic tensors" in reason:
        yield "Dynamic tensors are not supported"
    elif "is not constant" in reason:
        yield "Non-constant tensor is not supported"
    elif op in _HYBRID_OPS and ">" in reason and "TFLM takes" in reason:
        yield "Hybrid models are not supported on TFLite Micro."
    elif "TFLM takes" in reason:
        yield "Type ... not supported."


def call(refusal):
    """The call of a firmware that returns an error."""
    return _INVOKE if refusal is not None and refusal.stage == INVOKE else _ALLOCATE
