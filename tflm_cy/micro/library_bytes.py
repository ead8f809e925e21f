"""Where a library's kernels compute other values than TFLM's reference kernels, node by node.

    >>> from tflm_cy.micro.library_bytes import other_bytes      # doctest: +SKIP
    >>> other_bytes(node, target("cortex-m55"))                  # doctest: +SKIP
    'INT4 weights: other values than the reference kernel'

Found by running single operators with random shapes and inputs on builds of both (CMSIS-NN 4ab83cc on cortex-m3, m4 and
m55, emulated; esp-nn's generic C kernels with esp-tflite-micro); what is not named here gave equal bytes on all of them.
esp-nn's kernels for ESP32-S3 and P4 cannot be run without these chips; the library says that they are exact unless its
fast requantization is chosen.
"""

from tflm_cy.micro.device import CMSIS_NN, ESP_NN, ESP_NN_ANSI

_GROUPS = "its input has groups of channels, which the library computes wrongly"
_NO_BIAS = "groups and no bias: the library reads a bias from an address near 0, and may crash"
_MISSING_BIAS = "no bias: esp-tflite-micro's kernel reads one all the same, and the program crashes; give it zeros"
_BY_ONE = "INT16 without a bias: values may differ by 1"
_INT4 = "INT4 weights: other values than the reference kernel, in part of the shapes"
_UNSET = (
    "one channel and one row on MVE: TFLM asks for scratch before it has set the stride, for fewer bytes than the kernel "
    "writes, which overwrites what lies behind; use the reference kernel of this operator"
)
_FUSED = "FLOAT32 on this processor multiplies and adds with one rounding: the last bit may differ"
_FAST = 'exact unless "fast requantization" is chosen in the library\'s menu; not run here'


def other_bytes(node, machine):
    """A sentence, or None where the bytes are the reference kernels'.

    Parameters
    ----------
    node : graph_view.Node
    machine : target.Target
    """
    if machine.kernels == CMSIS_NN:
        return _of_cmsis_nn(node, machine.features)
    if machine.kernels in (ESP_NN, ESP_NN_ANSI) and node.inputs and node.input(0) is not None:
        return _of_esp_nn(node, machine.features)
    return None


def crash(node, machine):
    """Why the program crashes at a node with the library's kernels; None where it does not."""
    found = other_bytes(node, machine)
    return found if found == _MISSING_BIAS else None


def _of_esp_nn(node, features):
    x = node.input(0)
    convolution = node.op in ("CONV_2D", "DEPTHWISE_CONV_2D")
    if convolution and x.type == "INT8" and node.input(2) is None and node.input(1).type == "INT8":
        return _MISSING_BIAS
    if node.op == "CONV_2D" and x.type == "INT8" and x.shape[-1] != node.input(1).shape[-1]:
        return _GROUPS
    if node.op == "CONV_2D" and x.type == "INT16" and node.input(2) is None:
        return _BY_ONE
    if node.op == "SOFTMAX" and x.type == "INT8" and x.rank == 1:
        return "one dimension: its scratch buffer has not the size that the kernel uses"
    return _FAST if features and x.type == "INT8" and node.op in _ESP_OPS else None


_ESP_OPS = ("ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MUL")
_WITH_EXP = ("SOFTMAX", "LOGISTIC", "TANH", "UNIDIRECTIONAL_SEQUENCE_LSTM", "ELU", "EXP", "LOG", "LOG_SOFTMAX")


def _of_cmsis_nn(node, features):
    first = node.input(0)
    rule = _RULES.get(node.op)
    found = rule(node) if rule and first is not None else None
    if "mve" in features and _asked_unset(node):
        return _UNSET
    if found is None and "mve" in features and first is not None and first.type == "FLOAT32" and node.op in _WITH_EXP:
        return _FUSED
    return found


def _convolution(node):
    x, weights, bias = node.input(0), node.input(1), node.input(2)
    if weights is None or x.type not in ("INT8", "INT16"):
        return None
    groups = x.shape[-1] != weights.shape[-1]
    if groups and bias is None and weights.type == "INT8" and x.type == "INT8":
        return _NO_BIAS
    if groups and (x.type == "INT16" or weights.type == "INT4"):
        return _GROUPS
    if x.type == "INT16" and bias is None:
        return _BY_ONE
    return None


def _depthwise(node):
    weights = node.input(1)
    return _INT4 if weights is not None and weights.type == "INT4" else None


def _asked_unset(node):
    """A DEPTHWISE_CONV_2D that runs as a CONV_2D, whose size along a row depends on the stride."""
    if node.op != "DEPTHWISE_CONV_2D" or node.input(1) is None:
        return False
    x, weights = node.input(0), node.input(1)
    if x.type != "INT8" or weights.type != "INT8" or x.rank != 4 or weights.rank != 4:
        return False
    along_a_row = x.shape[3] == 1 < weights.shape[3] and x.shape[1] == weights.shape[1] == 1
    return along_a_row and weights.shape[2] > 1 and node.options.stride_w % 4 != 0


def _transposed(node):
    weights, x, options = node.input(1), node.input(2), node.options
    if weights is None or x is None or x.type != "INT8":
        return None
    if weights.shape[1] < options.stride_h or weights.shape[2] < options.stride_w:
        return "weights smaller than the stride: other values than the reference kernel, in part of the shapes"
    return None


def _transpose(node):
    order = node.constant_values(1)
    if node.input(0).type == "INT8" and node.input(0).rank < 4 and order == tuple(range(len(order or ()))):
        return "an order that changes nothing, with fewer than 4 dimensions: wrong values"
    return None


def _svdf(node):
    state = node.input(4)
    if node.input(0).type == "INT8" and state is not None and state.type == "INT8":
        return "an INT8 state: other values than the reference kernel"
    return None


_RULES = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "SVDF": _svdf,
    "TRANSPOSE": _transpose,
    "TRANSPOSE_CONV": _transposed,
}
