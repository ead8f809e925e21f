"""A kernel's prepare, walked without running it: tensors opened, memory asked for, and what is refused, in TFLM's order.

    def relu(walk):                       # i0: input 0, o0: output 0; a "?" for what may be left out
        x, y = walk.open("i0 o0")
        walk.ensure(x.rank > 0, "input 0 is a scalar")
        walk.keep(16)

A tensor that is opened takes temporary memory until the node is prepared, each time that it is opened; `keep` is a
persistent allocation, `scratch` a request. So a walk says three things: what stays (`kept`, `scratches`), how much has
to lie between head and tail, and when (`peaks`: objects kept so far, bytes below them), and whether TFLM refuses
the node (`ensure` and its kin raise Refused, as a kernel returns an error).

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels and signal/micro/kernels, the portable reference kernels.
"""

import math
from functools import cache, partial

import numpy as np

from tflm_cy.micro.device import CMSIS_NN, ESP_NN, ESP_NN_ANSI
from tflm_cy.micro.requests import MOST_SCRATCH, kernel_of

RELU, RELU_N1_TO_1, RELU6 = 1, 2, 3  # fused activations
_MOST_ACTIVATIONS = 5
_INT32 = float(1 << 31)


class Refused(Exception):  # noqa: N818 (no error of ours)
    """Why a kernel returns an error, or stops the program."""


class Walk:
    """One node's prepare.

    Parameters
    ----------
    node : graph_view.Node
    machine : target.Target
    graph : graph_view.GraphView
    held : int
        Bytes of the head that are taken when prepare begins.

    Attributes
    ----------
    kept, scratches : list of int
        Sizes of persistent allocations and of scratch requests.
    peaks : list of (int, int)
        When this many objects are kept, this many bytes below them are taken.
    """

    def __init__(self, node, machine, graph, held):
        self.node, self.machine, self.graph = node, machine, graph
        self.kept, self.scratches, self.peaks = [], [], [(0, held)]
        self._solid = self._end = held

    # ---------------------------------------------------------------- memory

    def open(self, names):
        """The tensors of names like `i0`, `o1`, `i2?`: one, or a list of several; None for one that is left out."""
        found = [self._opened(name) for name in names.split()]
        return found[0] if len(found) == 1 else found

    def _opened(self, name):
        tensor = self.tensor(name.rstrip("?"))
        if tensor is None:
            if not name.endswith("?"):
                raise Refused(f"has not the inputs and outputs that its kernel expects: {described(name)} is missing")
            return None
        if not tensor.has_size:
            raise Refused(f"{described(name.rstrip('?'))} is {tensor.type}, a type that TFLM cannot hold")
        self._take("TfLiteTensor")
        self._solid = self._end
        if tensor.affine:
            self._take("TfLiteAffineQuantization")
            self._solid = self._end - self.machine.size("TfLiteAffineQuantization") + 2 * self.machine.size("pointer")
            self._end = -(-self._end // 4) * 4 + 4 + 4 * len(tensor.scales)
        self._press()
        return tensor

    def _take(self, struct):
        size, alignment = self.machine.structs[struct]
        self._end = -(-self._end // alignment) * alignment + size

    def _press(self):
        count = len(self.kept)
        if self.peaks[-1][0] == count:
            self.peaks.pop()
        self.peaks.append((count, self._end))

    def keep(self, size):
        """A persistent allocation. TFLM lets it lie over the tensors that are open, and is lost when it overwrites them:
        all but the last bytes of the last one, its zero points, which nobody looks at any more."""
        self.kept.append(size)
        self.peaks.append((len(self.kept), self._solid))

    def hold(self):
        """The last tensor's zero points are looked at after what is kept next."""
        self._solid = self._end

    def keep_dimensions(self, tensor):
        """An array of dimensions, moved into the arena so that it can be changed."""
        self.keep(4 + 4 * tensor.rank)

    def scratch(self, size):
        if len(self.scratches) == MOST_SCRATCH:
            raise Refused(f"it asks for more than {MOST_SCRATCH} scratch buffers")
        self.scratches.append(size)

    # ---------------------------------------------------------------- looks

    def tensor(self, name):
        """A tensor by name, without opening it; None when it is left out."""
        indices = self.node.inputs if name[0] == "i" else self.node.outputs
        position = int(name[1:])
        t = indices[position] if position < len(indices) else -1
        return self.node.tensors[t] if t >= 0 else None

    def type(self, name):
        tensor = self.tensor(name)
        return "-" if tensor is None else tensor.type

    def option(self, name):
        """A number among a custom operator's options."""
        value = self.node.custom_options.get(name)
        if not isinstance(value, (int, float)) or value < 0:
            raise Refused(f"it has no usable option {name}: {value}")
        return int(value)

    # ---------------------------------------------------------------- refusals

    def ensure(self, condition, reason):
        if not condition:
            raise Refused(reason)

    def counts(self, inputs, outputs=1):
        """How many inputs and outputs the node has: a number, or several that are allowed; None for any."""
        for what, given, wanted in (("inputs", self.node.inputs, inputs), ("outputs", self.node.outputs, outputs)):
            allowed = (wanted,) if isinstance(wanted, int) else wanted
            if allowed is not None and len(given) not in allowed:
                raise Refused(f"it has {len(given)} {what}; TFLM takes {' or '.join(map(str, allowed))}")

    def types(self, names, allowed):
        """The types of some tensors together, as in `types("i0 i1", "FLOAT32>FLOAT32 INT8>INT4")`."""
        names, given = names.split(), ">".join(self.type(name) for name in names.split())
        if given not in allowed.split():
            what = " and ".join(map(described, names))
            raise Refused(
                f"{what} {'are' if len(names) > 1 else 'is'} {given}; TFLM takes {', '.join(allowed.split())}"
            )

    def same_type(self, first, *others):
        for other in others:
            if self.type(first) != self.type(other):
                raise Refused(
                    f"{described(first)} is {self.type(first)} and {described(other)} is {self.type(other)}; "
                    "TFLM wants one type for both"
                )

    def rank(self, name, least, most=None):
        tensor = self.tensor(name)
        most = least if most is None else most
        if not least <= tensor.rank <= most:
            wanted = f"at most {most}" if least == 0 else f"{least}" if least == most else f"{least} to {most}"
            raise Refused(f"{described(name)} has {tensor.rank} dimensions; TFLM takes {wanted}")

    def constant(self, name):
        if not self.tensor(name).constant:
            raise Refused(f"{described(name)} is not constant, which TFLM wants")

    def equal(self, what, given, wanted):
        """TF_LITE_ENSURE_EQ: `what` is the thing that has a value, and should have another."""
        if given != wanted:
            raise Refused(f"{what} is {given}, TFLM wants {wanted}")

    def shape(self, name, wanted):
        self.equal(f"the shape of {described(name)}", self.tensor(name).shape, tuple(wanted))

    def zero_points(self, names, wanted=0):
        for name in names.split():
            self.equal(f"the zero point of {described(name)}", self.tensor(name).zero_point, wanted)

    def quantized(self, names):
        for name in names.split():
            if not self.tensor(name).affine:
                raise Refused(f"{described(name)} has no scales and zero points, which TFLM wants")

    def not_quantized(self, names):
        for name in names.split():
            if self.tensor(name).affine:
                raise Refused(f"{described(name)} is a quantized INT32, TFLM wants plain numbers")

    @property
    def activation(self):
        """The fused one; 0 for none, and for a number that TFLM does not know."""
        number = self.node.options.fused_activation_function
        return number if 0 <= number <= _MOST_ACTIVATIONS else 0

    def activation_range(self, output):
        """CalculateActivationRangeQuantized: the output is of 8 or 16 bits, and the activation's ends are in range."""
        self.ensure(
            output.type in ("INT8", "UINT8", "INT16"),
            f"output 0 is {output.type}; TFLM takes INT8, UINT8, INT16 for a quantized result",
        )
        for end in {RELU: (0.0,), RELU6: (0.0, 6.0), RELU_N1_TO_1: (-1.0, 1.0)}.get(self.activation, ()):
            with np.errstate(all="ignore"):
                steps = float(np.float32(end) / np.float32(output.scale))
            self.ensure(
                abs(steps) <= _INT32,
                f"the activation's end {end:g} is no number in steps of the output's scale {output.scale:g}",
            )

    def below_one(self, multiplier, what):
        """QuantizeMultiplierSmallerThanOneExp, which stops the program."""
        if not 0 < multiplier < 1 or (math.frexp(multiplier)[0] * (1 << 31) >= (1 << 31) - 0.5 and multiplier > 0.5):
            raise Refused(f"{what} is {multiplier:g}; TFLM stops the program unless it lies between 0 and 1")


def walked(node, machine, graph, held):
    """(the Walk of a node's prepare, why TFLM refuses it or None), as far as it goes."""
    walk = Walk(node, machine, graph, held)
    try:
        _walk_of(node.op, machine.kernels)(walk)
    except Refused as refused:
        return walk, str(refused)
    except (IndexError, AttributeError, ZeroDivisionError, ValueError):
        return walk, "has not the inputs, outputs and shapes that its kernel expects"
    return walk, None


@cache
def _walks():
    from tflm_cy.micro.walks import decoding, pointwise, reducing, shaping, signals, weighted

    families = (decoding, pointwise, reducing, shaping, signals, weighted)
    return {op: walk for family in families for op, walk in family.WALKS.items()}


@cache
def _library(kernels):
    """The module of a library's kernels; None for the reference kernels."""
    from tflm_cy.micro.walks import cmsis_nn, esp_nn

    return {CMSIS_NN: cmsis_nn, ESP_NN: esp_nn, ESP_NN_ANSI: esp_nn}.get(kernels)


def replaced(node, kernels):
    """Whether a library computes a node instead of a reference kernel."""
    library = _library(kernels)
    first = next((node.tensors[t] for t in node.inputs if t >= 0), None)
    if library is None or first is None:
        return False
    kind = node.output(0).type if node.op == "TRANSPOSE_CONV" and node.outputs else first.type
    return kind in library.REPLACED.get(node.op, "").split()


def _walk_of(op, kernels):
    library = _library(kernels)
    found = (library and library.WALKS.get(op)) or _walks().get(op)
    return found or partial(_asking, kernel_of(op).prepare)


def _asking(prepare, walk):
    """A kernel that is not walked: all of its tensors are open while it asks for memory."""
    walk.open(
        " ".join([f"i{i}?" for i in range(len(walk.node.inputs))] + [f"o{i}?" for i in range(len(walk.node.outputs))])
    )
    for request in prepare(walk.node, walk.machine) if prepare else ():
        (walk.scratch if request.scratch else walk.keep)(request.size)


def described(name):
    return f"{'input' if name[0] == 'i' else 'output'} {name[1:].rstrip('?')}"


def single(value):
    """A number as float32."""
    with np.errstate(all="ignore"):
        return np.float32(value)


def broadcast(*shapes):
    """The shape that some shapes broadcast to; None when they do not."""
    found = []
    for d in range(1, 1 + max(map(len, shapes))):
        sizes = {shape[-d] for shape in shapes if d <= len(shape)} - {1}
        if len(sizes) > 1:
            return None
        found.insert(0, sizes.pop() if sizes else 1)
    return tuple(found)
