"""Nodes that a convolution in front computes with its outputs: their bytes, where they are taken, and where they must not be."""

import numpy as np
import pytest
from tflm_cy.simd.table import name

from compat.builder import Model, Tensor
from tests.machine import AARCH64, take_product_rules
from tflm_cy import Interpreter
from tflm_cy.graph.passes import tiling
from tflm_cy.ops import generation

PRODUCTS_TAKE = generation.supported() and name() not in ("portable", "scalar")  # else every node computes by itself
WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
GENERATIONS = ["i8mm"] if AARCH64 else ["avx2"] + ["avx512"] * (generation.generation_name() == "avx512")


@pytest.fixture(autouse=True)
def one_chain(monkeypatch):
    """Products of several chains, which Arm cores have for some shapes, take no nodes."""
    if AARCH64:
        take_product_rules(monkeypatch, "one", 0, 0)


def count_fused(interpreter):
    """How many nodes the pass fuse_epilogues has elided."""
    return [row["pass"] for row in interpreter.explain()].count("fuse_epilogues")


class Net:
    """A float32 image of `side` x `side`, and nodes that are added to it by name."""

    def __init__(self, channels=5, side=7, seed=0):
        self.rng = np.random.default_rng(seed)
        self.model = Model()
        self.main = self.model.subgraph("main")
        self.side = side
        self.x = self.image(channels)
        self.main.inputs = [self.x]

    def image(self, channels):
        return Tensor([1, self.side, self.side, channels], "float32")

    def node(self, op, inputs, channels=None, **options):
        constants = [t if isinstance(t, Tensor) else Tensor.constant(t) for t in inputs]
        y = self.image(channels or inputs[0].shape[-1])
        self.main.op(op, constants, [y], **options)
        return y

    def conv(self, x, channels, kernel=1, activation="NONE"):
        w = self.rng.normal(size=[channels, kernel, kernel, x.shape[-1]]).astype(np.float32)
        b = self.rng.normal(size=channels).astype(np.float32)
        return self.node("CONV_2D", [x, w, b], channels, fused_activation_function=activation, **WINDOW)

    def widened(self, x, channels):
        return self.node("PAD", [x, np.int32([[0, 0], [0, 0], [0, 0], [0, channels - x.shape[-1]]])], channels)

    def slopes(self, channels):
        return self.rng.normal(size=[1, 1, channels]).astype(np.float32)

    def run(self, outputs, **options):
        """The outputs' bytes, and how many nodes were fused."""
        self.main.outputs = outputs
        x = self.rng.normal(size=self.x.shape).astype(np.float32)
        x.ravel()[[3, 8, 30, 31]] = np.uint32([0x7FC00001, 0xFFC00002, 0x7F800000, 0x80000000]).view(np.float32)
        interpreter = Interpreter(model_content=self.model.to_bytes(), **options)
        interpreter.allocate_tensors()
        fused = count_fused(interpreter)
        for _ in range(2):
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
            interpreter.invoke()
        return [interpreter.get_tensor(d["index"]).tobytes() for d in interpreter.get_output_details()], fused


def check(build, wanted, threads=(1, 2), **shape):
    """As many nodes as wanted are fused, and the bytes are those of nodes by themselves. `build` returns the outputs."""
    for count in threads:
        results = []
        for fuse in (False, True):
            net = Net(**shape)
            outputs = build(net)
            results.append(net.run(outputs if isinstance(outputs, list) else [outputs], fuse=fuse, num_threads=count))
        assert results[0][1] == 0
        assert results[1] == (results[0][0], wanted if PRODUCTS_TAKE else 0)


def end(net, x):
    """So that what is in front of it is hidden in the partition."""
    return net.node("ABS", [x])


CHAINS = {
    "relu": (["RELU"], 1),
    "relu6": (["RELU6"], 1),
    "add": (["ADD"], 1),
    "add as second": (["DDA"], 1),
    "add, relu": (["ADD", "RELU"], 2),
    "add with a clamp, relu6": (["ADD RELU", "RELU6"], 1),
    "add, prelu": (["ADD", "PRELU"], 2),
    "prelu": (["PRELU"], 1),
    "leaky, maximum": (["LEAKY_RELU", "MAXIMUM"], 2),
    "add, maximum, prelu, minimum": (["ADD", "MAXIMUM", "PRELU", "MINIMUM"], 4),
    "prelu, add": (["PRELU", "ADD"], 1),
    "add, add": (["ADD", "ADD"], 1),
    "abs, add": (["ABS", "ADD"], 0),
    "sub": (["SUB"], 0),
}


def follow(net, value, other, steps):
    for step in steps:
        op, _, activation = step.partition(" ")
        if op == "DDA":
            value = net.node("ADD", [other, value])
        elif op in ("ADD", "SUB"):
            value = net.node(op, [value, other], fused_activation_function=activation or "NONE")
        elif op == "PRELU":
            value = net.node(op, [value, net.slopes(value.shape[-1])])
        elif op in ("MAXIMUM", "MINIMUM"):
            value = net.node(op, [value, np.float32([-0.25 if op == "MAXIMUM" else 1.5])])
        else:
            value = net.node(op, [value], **({"alpha": 0.125} if op == "LEAKY_RELU" else {}))
    return value


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("channels", [1, 8, 16, 20, 33, 70])
def test_chains(name, channels):
    steps, wanted = CHAINS[name]

    def build(net):
        other = net.node("NEG", [net.conv(net.x, channels)])
        return end(net, follow(net, net.conv(net.x, channels, kernel=3), other, steps))

    check(build, wanted)


@pytest.mark.parametrize("name", ["LEAKY_RELU", "PRELU"])
@pytest.mark.parametrize("channels", [1, 20])
@pytest.mark.parametrize("xnnpack", GENERATIONS)
def test_what_bends_follows_the_generation(name, channels, xnnpack, monkeypatch):
    """What has its sign bit set but is not below zero bends in one of them."""
    monkeypatch.setenv("TFLM_CY_XNNPACK", xnnpack)

    def build(net):
        net.slopes = lambda n: np.resize(np.float32([-0.5, 3, np.nan]), [1, 1, n])
        w, b = np.full([channels, 1, 1, 5], -0.0, np.float32), np.full(channels, -0.0, np.float32)
        return net.node("NEG", [follow(net, net.node("CONV_2D", [net.x, w, b], channels, **WINDOW), None, [name])])

    check(build, 1)


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
def test_the_own_clamp_comes_first(activation):
    def build(net):
        other = net.node("NEG", [net.conv(net.x, 20)])
        return end(net, net.node("RELU", [net.node("ADD", [net.conv(net.x, 20, activation=activation), other])]))

    check(build, 2)


@pytest.mark.parametrize(("narrow", "wide"), [(5, 6), (5, 21), (5, 40), (16, 24), (16, 48), (20, 28), (24, 32)])
@pytest.mark.parametrize("order", ["conv, pad", "pad, conv"])
def test_channels_of_zeros_are_not_written(narrow, wide, order):
    def build(net):
        x = net.conv(net.x, narrow)
        value = net.conv(x, wide) if order == "conv, pad" else None
        other = net.widened(x, wide)
        return end(net, net.node("ADD", [value or net.conv(x, wide), other], fused_activation_function="RELU"))

    check(build, 2)


def test_a_pad_that_somebody_else_reads_is_written():
    def build(net):
        x = net.conv(net.x, 16)
        value, other = net.conv(x, 20), net.widened(x, 20)
        return [end(net, net.node("ADD", [value, other])), end(net, other)]

    check(build, 0)


def test_a_pad_in_front_of_the_channels_is_a_pad():
    def build(net):
        x = net.conv(net.x, 16)
        value = net.conv(x, 20)
        return end(net, net.node("ADD", [value, net.node("PAD", [x, np.int32([[0, 0], [0, 0], [0, 0], [4, 0]])], 20)]))

    check(build, 0)


def test_a_product_that_somebody_else_reads_is_written():
    def build(net):
        value = net.conv(net.x, 16)
        return [end(net, net.node("RELU", [value])), net.node("NEG", [value])]

    check(build, 0)


def test_an_output_of_the_graph_is_written():
    def build(net):
        value = net.conv(net.x, 16)
        return [value, end(net, net.node("RELU", [value]))]

    check(build, 0)


def test_a_residual_that_the_convolution_sees_stays():
    """conv3x3(a) + a: the sum does not lie over what the next rows see."""

    def build(net):
        a = net.conv(net.x, 16)
        return end(net, net.node("ADD", [a, net.conv(a, 16, kernel=3)]))

    check(build, 1)


def test_a_residual_that_is_read_in_between_stays():
    def build(net):
        a = net.conv(net.x, 16)
        value = net.conv(net.x, 16)
        b = net.node(
            "DEPTHWISE_CONV_2D",
            [a, np.ones([1, 3, 3, 16], np.float32), np.zeros(16, np.float32)],
            depth_multiplier=1,
            **WINDOW,
        )
        return [end(net, net.node("ADD", [a, value])), end(net, b)]

    check(build, 1)


@pytest.mark.parametrize("kernel", [2, 3])
def test_a_residual_that_the_group_sees_stays(kernel):
    """The sum is computed after the group, but taken by its last node: it must not lie over rows that the first one still sees."""

    def build(net):
        a = net.conv(net.x, 1)
        return end(net, net.node("ADD", [a, net.conv(net.conv(a, 8, kernel=5), 1, kernel)]))

    former = tiling.tune(cache_bytes=0, tile_bytes=3000, far_bytes=2000)
    try:
        check(build, 1, side=15)
    finally:
        tiling.tune(**former)


def test_the_later_of_two_products_takes_the_sum():
    def build(net):
        return end(net, net.node("RELU", [net.node("ADD", [net.conv(net.x, 16), net.conv(net.x, 16, kernel=3)])]))

    check(build, 2)


def test_a_sum_with_itself_is_a_node():
    def build(net):
        value = net.conv(net.x, 16)
        return end(net, net.node("ADD", [value, value]))

    check(build, 0)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1, 1)])
def test_a_constant_of_one_value(shape):
    def build(net):
        return end(net, net.node("ADD", [net.conv(net.x, 1), np.full(shape, 0.5, np.float32)]))

    check(build, 1, channels=64, side=1)


def test_a_constant_for_every_value():
    def build(net):
        return end(net, net.node("ADD", [net.conv(net.x, 24), net.rng.normal(size=[7, 7, 24]).astype(np.float32)]))

    check(build, 1)


def test_what_is_added_comes_too_late():
    def build(net):
        value = net.conv(net.x, 16)
        other = net.node("NEG", [net.node("ABS", [net.x])])
        return end(net, net.node("ADD", [value, other]))

    check(build, 0, channels=16)


def test_a_fully_connected_layer():
    def build(net):
        w, b = net.rng.normal(size=[37, 9]).astype(np.float32), net.rng.normal(size=37).astype(np.float32)
        rows = Tensor([49, 9], "float32")
        net.main.op("RESHAPE", [net.x, Tensor.constant(np.int32([49, 9]))], [rows], new_shape=[49, 9])
        values = [Tensor([49, 37], "float32") for _ in range(4)]
        net.main.op("FULLY_CONNECTED", [rows, Tensor.constant(w), Tensor.constant(b)], [values[0]])
        net.main.op("FULLY_CONNECTED", [rows, Tensor.constant(-w), Tensor.constant(b)], [values[1]])
        net.main.op("ADD", values[:2], [values[2]])
        net.main.op("RELU", [values[2]], [values[3]])
        y = Tensor([49, 37], "float32")
        net.main.op("ABS", [values[3]], [y])
        return y

    check(build, 2, channels=9)


def test_a_single_row_is_shared_by_columns():
    """Slopes and what is added are those of a thread's own columns."""

    def build(net):
        value = net.conv(net.x, 1024)
        other = net.node("NEG", [net.conv(net.x, 1024)])
        return end(net, net.node("PRELU", [net.node("ADD", [value, other]), net.slopes(1024)]))

    def later(net):
        other = net.node("NEG", [net.conv(net.x, 1024)])
        return end(net, net.node("PRELU", [net.node("ADD", [net.conv(net.x, 1024), other]), net.slopes(1024)]))

    check(build, 0, channels=64, side=1)
    check(later, 2, channels=64, side=1)


def test_another_shape_is_broadcast():
    """Between two allocations what is added gets another shape: the sum is a node then, and becomes part of the convolution again."""
    net = Net(channels=16)
    z = Tensor([1, 7, 7, 16], "float32")
    net.main.inputs = [net.x, z]
    other = net.node("NEG", [z])
    net.main.outputs = [end(net, net.node("ADD", [net.conv(net.x, 16), other]))]
    blob = net.model.to_bytes()
    values = {}
    for fuse in (False, True):
        interpreter = Interpreter(model_content=blob, fuse=fuse)
        indices = [d["index"] for d in interpreter.get_input_details()]
        values[fuse] = []
        for shape in ([1, 7, 7, 16], [1, 1, 1, 16], [1, 7, 7, 16], [2, 7, 7, 16]):
            interpreter.resize_tensor_input(indices[1], shape)
            interpreter.allocate_tensors()
            assert count_fused(interpreter) == (PRODUCTS_TAKE and fuse and shape == [1, 7, 7, 16])
            rng = np.random.default_rng(1)
            interpreter.set_tensor(indices[0], rng.normal(size=[1, 7, 7, 16]).astype(np.float32))
            interpreter.set_tensor(indices[1], rng.normal(size=shape).astype(np.float32))
            interpreter.invoke()
            values[fuse].append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tobytes())
    assert values[False] == values[True]


def test_whoever_preserves_all_tensors_sees_them():
    net = Net()
    value = net.conv(net.x, 16)
    y = end(net, net.node("RELU", [value]))
    assert net.run([y], experimental_preserve_all_tensors=True)[1] == 0
