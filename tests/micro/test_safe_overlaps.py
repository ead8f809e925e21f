"""Distances of overlapping outputs: a kernel's loops, acted out element by element, must come to the same number."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.micro.models import activation, convolution, loaded
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.safe_overlaps import aliases, distance, relaxed_rows, safe_distance


def node_of(model):
    return view(loaded(model)).subgraphs[0].nodes[0]


def least_safe(accesses, output_elements, output_bytes=1, input_bytes=1):
    """By trying: the least input offset over the output at which no read finds a byte that was written before.

    `accesses`: per output element, in the order of writing, the input elements that it reads.
    """
    for shift in range(output_elements * output_bytes + 1):
        written = np.zeros(shift + output_elements * output_bytes + (1 << 14), bool)
        for k, reads in enumerate(accesses):
            starts = [shift + r * input_bytes for r in reads]
            if any(written[s : s + input_bytes].any() for s in starts):
                break
            written[k * output_bytes : (k + 1) * output_bytes] = True
        else:
            return shift
    raise AssertionError("not even disjoint is safe")


def window_accesses(node, kernel, stride, same, channels):
    """What a convolution or a pool reads per output element; `channels(oc)` are the input channels it looks at."""
    _, height, width, depth = node.input(0).shape
    _, out_height, out_width, out_depth = node.output(0).shape
    before = [0, 0]
    for axis, (size, out) in enumerate(((height, out_height), (width, out_width))):
        before[axis] = max((out - 1) * stride + kernel[axis] - size, 0) // 2 if same else 0
    for oh in range(out_height):
        for ow in range(out_width):
            for oc in range(out_depth):
                reads = []
                for kh in range(kernel[0]):
                    for kw in range(kernel[1]):
                        ih, iw = oh * stride - before[0] + kh, ow * stride - before[1] + kw
                        if 0 <= ih < height and 0 <= iw < width:
                            reads += [(ih * width + iw) * depth + ic for ic in channels(oc)]
                yield reads


def rounded(d):
    return -(-d // 16) * 16


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("kernel", [(3, 3), (1, 1), (2, 3)])
@pytest.mark.parametrize("channels", [(3, 4), (4, 1), (1, 8)])
def test_convolution(stride, padding, kernel, channels):
    node = node_of(convolution(stride, padding, channels=channels, kernel=kernel))
    accesses = window_accesses(node, kernel, stride, padding == "SAME", lambda oc: range(channels[0]))
    assert distance(node, 0) == rounded(least_safe(list(accesses), node.output(0).elements))
    assert distance(node, 1) is None


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("channels", [(3, 3), (2, 4)])
def test_depthwise_convolution(stride, padding, channels):
    node = node_of(convolution(stride, padding, "DEPTHWISE_CONV_2D", channels=channels))
    multiplier = channels[1] // channels[0]
    accesses = window_accesses(node, (3, 3), stride, padding == "SAME", lambda oc: [oc // multiplier])
    assert distance(node, 0) == rounded(least_safe(list(accesses), node.output(0).elements))


def test_pool():
    options = {"padding": "VALID", "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
    node = node_of(Model.single("MAX_POOL_2D", [activation(1, 6, 6, 3)], [activation(1, 3, 3, 3)], **options))
    accesses = window_accesses(node, (2, 2), 2, False, lambda oc: [oc])
    assert distance(node, 0) == rounded(least_safe(list(accesses), 27)) == 0


def test_elementwise_widening_and_broadcasting():
    wide = node_of(Model.single("DEQUANTIZE", [activation(50)], [Tensor([50], "float32")]))
    assert distance(wide, 0) == rounded(3 * 49) == rounded(least_safe([[k] for k in range(50)], 50, 4, 1))
    narrow = node_of(Model.single("QUANTIZE", [Tensor([50], "float32")], [activation(50)]))
    assert distance(narrow, 0) == 0
    row = node_of(Model.single("ADD", [activation(6, 20), activation(1, 20)], [activation(6, 20)]))
    assert (distance(row, 0), distance(row, 1)) == (0, rounded(100))


def test_joining_cutting_and_padding():
    join = node_of(Model.single("CONCATENATION", [activation(1, 40), activation(1, 24)], [activation(1, 64)], axis=1))
    assert (distance(join, 0), distance(join, 1)) == (0, 48)
    axis = Tensor.constant(np.array(1, np.int32))
    rows = [activation(4, 10), activation(4, 10)]
    cut = node_of(Model.single("SPLIT", [axis, activation(4, 20)], rows, num_splits=2))
    assert [distance(cut, 1, k) for k in range(2)] == [0, 0]
    pads = Tensor.constant(np.array([[0, 0], [3, 2]], np.int32))
    pad = node_of(Model.single("PAD", [activation(5, 20), pads], [activation(5, 25)]))
    accesses = [[] if not 3 <= k % 25 < 23 else [k // 25 * 20 + k % 25 - 3] for k in range(125)]
    assert distance(pad, 0) == rounded(least_safe(accesses, 125))


def test_fully_connected_keeps_a_row():
    weights = Tensor.constant(np.ones((30, 20), np.int8), scale=0.02)
    node = node_of(Model.single("FULLY_CONNECTED", [activation(3, 20), weights, None], [activation(3, 30)]))
    accesses = [range(k // 30 * 20, k // 30 * 20 + 20) for k in range(90)]
    assert distance(node, 0) == rounded(least_safe(accesses, 90))


def test_what_must_stay_apart():
    axis = Tensor.constant(np.array([1, 2], np.int32))
    for dtype, expected in (("float32", 0), ("int8", None)):
        x, y = Tensor([1, 4, 4, 3], dtype, scale=0.1), Tensor([1, 1, 1, 3], dtype, scale=0.1)
        assert distance(node_of(Model.single("MEAN", [x, axis], [y], keep_dims=True)), 0) == expected
    assert distance(node_of(Model.single("L2_NORMALIZATION", [activation(2, 8)], [activation(2, 8)])), 0) is None


def test_only_inputs_that_die_are_relaxed():
    model = Model()
    main = model.subgraph("main")
    x, a, b, y = (activation(1, 40) for _ in range(4))
    main.op("RELU", [x], [a])
    main.op("RELU", [a], [b])
    main.op("ADD", [b, x], [y])
    main.outputs = [y, b]
    asked = demand(loaded(model))
    # x is read again, b is an output: a dies at node 1, x at node 2
    places = {buffer.place[1]: i for i, buffer in enumerate(asked.buffers)}
    tensors = {id(t): i for i, t in enumerate(main.tensors)}
    index = {name: places[tensors[id(t)]] for name, t in zip("xaby", (x, a, b, y), strict=True)}
    assert sorted(relaxed_rows(asked)) == sorted([(index["b"], index["a"], 0), (index["y"], index["x"], 0)])


def test_copies_are_aliases():
    flat = Model.single("RESHAPE", [activation(2, 30)], [activation(60)], new_shape=[60])
    asked = demand(loaded(flat))
    assert relaxed_rows(asked) == [] and aliases(asked) == [(1, 0)]


def test_the_formula_by_hand():
    reads = np.array([0, 0, 0, 4])
    # element 0, 1 and 2 are written before input 0, 0 and 4 are read
    assert safe_distance(reads, 1, 1) == 2
    assert safe_distance(np.array([0]), 4, 4) == 0
