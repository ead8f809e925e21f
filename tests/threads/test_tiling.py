"""Nodes that are computed range by range, one after the other, on one thread and on several: the bytes of whole nodes."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests import harness
from tests.machine import delegated
from tflm_cy import Interpreter
from tflm_cy.graph.passes import tiling

pytestmark = delegated


@pytest.fixture(autouse=True)
def small_ranges():
    former = tiling.tune(cache_bytes=0, tile_bytes=600, far_bytes=0)
    yield
    tiling.tune(**former)


class Network:
    """A network: the methods add nodes, `random` any of them: what may follow what, and what may not."""

    PARTS = (
        *("pointwise", "pointwise", "depthwise", "convolution", "add", "add"),
        *("function", "function", "reshape", "pool", "pad", "widen", "branch"),
    )
    WIDTHS = (1, 4, 8, 16, 17, 33)

    def __init__(self, rng, kind, side, channels, images=1):
        self.rng = rng
        self.kind = kind
        self.images = images
        self.side = list(side)
        self.channels = channels
        self.model = Model()
        self.main = self.model.subgraph("main")
        x = self.tensor()
        self.main.inputs = [x]
        self.shape = list(x.shape)
        self.value, self.seen = x, [x]

    @classmethod
    def random(cls, seed, kind):
        rng = np.random.default_rng(seed)
        images = int(rng.choice([1, 1, 2, 3, 7]))
        network = cls(rng, kind, [int(v) for v in rng.integers(5, 24, 2)], int(rng.choice(cls.WIDTHS)), images)
        for _ in range(int(rng.integers(3, 12))):
            getattr(network, str(rng.choice(cls.PARTS)))()
        network.main.outputs = [network.value, *(t for t in network.seen[1:-1] if rng.random() < 0.1)]
        return network

    def tensor(self):
        shape = [self.images, *self.side, self.channels]
        if self.kind == "float32":
            return Tensor(shape, "float32")
        return Tensor(
            shape,
            self.kind,
            scale=0.05,
            zero_point=int(self.rng.integers(-20, 20)) + (128 if self.kind == "uint8" else 0),
        )

    def weights(self, shape, axis):
        if self.kind == "float32":
            return [
                Tensor.constant(self.rng.normal(size=shape).astype(np.float32) / 3),
                Tensor.constant(self.rng.normal(size=shape[axis]).astype(np.float32)),
            ]
        low, zero = (0, 128) if self.kind == "uint8" else (-127, 0)
        w = self.rng.integers(low, 127, shape).astype(self.kind)
        bias = self.rng.integers(-900, 900, shape[axis]).astype(np.int32)
        return [
            Tensor.constant(w, scale=0.01, zero_point=zero),
            Tensor.constant(bias, scale=float(np.float32(0.05) * np.float32(0.01)), zero_point=0),
        ]

    def put(self, op, inputs, **options):
        y = self.tensor()
        self.main.op(op, inputs, [y], **options)
        self.value = y
        self.seen.append(y)

    def pointwise(self, channels=None):
        before, self.channels = self.channels, channels or int(self.rng.choice(self.WIDTHS))
        window = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
        self.put("CONV_2D", [self.value, *self.weights([self.channels, 1, 1, before], 0)], **window)

    def depthwise(self, padding="SAME", kernel=3):
        window = {"padding": padding, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
        self.put(
            "DEPTHWISE_CONV_2D",
            [self.value, *self.weights([1, kernel, kernel, self.channels], 3)],
            depth_multiplier=1,
            **window,
        )

    def convolution(self):
        kernel, stride = int(self.rng.integers(2, 5)), int(self.rng.choice([1, 1, 2]))
        dilation = int(self.rng.choice([1, 1, 2])) if stride == 1 else 1
        self.convolve(self.value, kernel, stride, dilation, int(self.rng.choice([1, 4, 8, 16])))

    def convolve(self, x, kernel, stride, dilation, channels, padding=None):
        before, side = int(x.shape[3]), [int(n) for n in x.shape[1:3]]
        span = (kernel - 1) * dilation + 1
        same = padding == "SAME" or self.rng.random() < 0.6 or min(side) < span
        self.channels = channels
        self.side = [-(-n // stride) if same else (n - span) // stride + 1 for n in side]
        window = {"padding": "SAME" if same else "VALID", "stride_h": stride, "stride_w": stride}
        window |= {"dilation_h_factor": dilation, "dilation_w_factor": dilation}
        self.put("CONV_2D", [x, *self.weights([self.channels, kernel, kernel, before], 0)], **window)

    def branch(self):
        """Two convolutions of one tensor, one behind the other or side by side in the output; other nodes between them see them, too."""
        x, stride, channels = self.value, int(self.rng.choice([1, 2])), int(self.rng.choice([4, 8, 16]))
        self.convolve(x, int(self.rng.choice([1, 3])), stride, 1, channels, "SAME")
        if self.rng.random() < 0.5:
            self.function()
        left = self.value
        self.convolve(x, int(self.rng.choice([1, 2, 5])), stride, 1, channels, "SAME")
        right = self.value
        if self.rng.random() < 0.5:
            right.scale, right.zero_point = left.scale, left.zero_point
            self.channels = 2 * channels
            y = self.tensor()
            y.scale, y.zero_point = left.scale, left.zero_point
            self.main.op("CONCATENATION", [left, right], [y], axis=3)
            self.value = y
            self.seen.append(y)
        else:
            self.put("ADD", [left, right])

    def add(self):
        alike = [t for t in self.seen if list(t.shape) == list(self.value.shape)]
        self.put("ADD", [self.value, alike[int(self.rng.integers(len(alike)))]])

    def function(self):
        if self.kind == "float32" and self.rng.random() < 0.5:
            self.put(
                "PRELU", [self.value, Tensor.constant(self.rng.normal(size=[1, 1, self.channels]).astype(np.float32))]
            )
        elif self.kind == "float32":
            op = str(self.rng.choice(["RELU", "RELU6", "LEAKY_RELU", "MAXIMUM", "MINIMUM", "ABS", "NEG", "SQUARE"]))
            limit = [Tensor.constant(np.float32([self.rng.normal()]))] if op in ("MAXIMUM", "MINIMUM") else []
            self.put(op, [self.value, *limit], **({"alpha": 0.2} if op == "LEAKY_RELU" else {}))
        else:
            y = Tensor(self.value.shape, self.kind, scale=1 / 256, zero_point=-128 if self.kind == "int8" else 0)
            self.main.op("LOGISTIC", [self.value], [y])
            self.value = y
            self.seen.append(y)

    def reshape(self):
        flat = [self.images * self.side[0] * self.side[1], self.channels]
        between = Tensor(flat, self.kind, scale=self.value.scale, zero_point=self.value.zero_point)
        self.main.op("RESHAPE", [self.value, Tensor.constant(np.int32(flat))], [between], new_shape=flat)
        y = Tensor(self.value.shape, self.kind, scale=self.value.scale, zero_point=self.value.zero_point)
        self.main.op("RESHAPE", [between, Tensor.constant(np.int32(y.shape))], [y], new_shape=list(y.shape))
        self.value = y
        self.seen.append(y)

    def pool(self):
        kernel = [int(v) for v in self.rng.integers(1, 4, 2)]
        stride = [int(self.rng.integers(1, v + 1)) for v in kernel]
        same = self.rng.random() < 0.5 or any(n < k for n, k in zip(self.side, kernel, strict=True))
        spans = zip(self.side, kernel, stride, strict=True)
        self.side = [-(-n // step) if same else (n - k) // step + 1 for n, k, step in spans]
        y = Tensor(
            [self.images, *self.side, self.channels],
            self.kind,
            scale=self.value.scale,
            zero_point=self.value.zero_point,
        )
        window = {"padding": "SAME" if same else "VALID", "stride_h": stride[0], "stride_w": stride[1]}
        op = "AVERAGE_POOL_2D" if self.rng.random() < 0.3 else "MAX_POOL_2D"
        self.main.op(op, [self.value], [y], filter_height=kernel[0], filter_width=kernel[1], **window)
        self.value = y
        self.seen.append(y)

    def pad(self):
        """PAD and a convolution without padding, which takes it over when nobody else reads it."""
        kernel = int(self.rng.choice([3, 5]))
        before = self.rng.integers(0, kernel, 2)
        border = np.int32([[0, 0], [before[0], kernel - 1 - before[0]], [before[1], kernel - 1 - before[1]], [0, 0]])
        shape = [self.images, self.side[0] + kernel - 1, self.side[1] + kernel - 1, self.channels]
        y = Tensor(shape, self.kind, scale=self.value.scale, zero_point=self.value.zero_point)
        self.main.op("PAD", [self.value, Tensor.constant(border)], [y])
        self.value = y
        if self.rng.random() < 0.2:
            self.seen.append(y)
        if self.rng.random() < 0.5:
            self.depthwise("VALID", kernel)
        else:
            before, self.channels = self.channels, int(self.rng.choice([4, 8, 17]))
            window = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
            self.put("CONV_2D", [self.value, *self.weights([self.channels, kernel, kernel, before], 0)], **window)

    def widen(self):
        """A convolution to more channels, and what it sees with as many."""
        narrow, before = self.value, self.channels
        first = self.rng.random() < 0.5
        wide = before + int(self.rng.choice([1, 4, 9, 16, 30]))
        if not first:
            self.pointwise(wide)
        made, self.channels = self.value, wide
        y = self.tensor()
        y.scale, y.zero_point = narrow.scale, narrow.zero_point
        self.main.op("PAD", [narrow, Tensor.constant(np.int32([[0, 0], [0, 0], [0, 0], [0, wide - before]]))], [y])
        if first:
            self.channels = before
            self.pointwise(wide)
            made = self.value
        if self.rng.random() < 0.2:
            self.seen.append(y)
        self.put("ADD", [made, y] if self.rng.random() < 0.5 else [y, made])

    def feed(self):
        if self.kind == "float32":
            x = self.rng.normal(size=self.shape).astype(np.float32)
            some = self.rng.integers(0, x.size, 4)
            x.ravel()[some] = np.uint32([0x7FC00001, 0xFFC00002, 0x7F800000, 0x80000000]).view(np.float32)
            return x
        return self.rng.integers(0, 100, self.shape).astype(self.kind)


def run(blob, x, **options):
    return [y.tobytes() for y in harness.run_model(blob, x, invokes=3, **options)]


def timed(blob, x, **options):
    """The outputs, and which nodes have a time of their own: the first of each group."""
    interpreter = Interpreter(model_content=blob, **options)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    with interpreter.profile() as profile:
        interpreter.invoke()
    begins, ends = profile.runs()[0].T
    values = [interpreter.get_tensor(d["index"]).tobytes() for d in interpreter.get_output_details()]
    return values, ((ends - begins) > 0).tolist()


@pytest.mark.parametrize("kind", ["float32", "int8", "uint8"])
@pytest.mark.parametrize("seed", range(40))
def test_networks(kind, seed):
    network = Network.random(seed, kind)
    blob, x = network.model.to_bytes(), network.feed()
    wanted = run(blob, x, fuse=False)
    assert run(blob, x) == wanted
    for threads in (2, 3, 4):
        assert run(blob, x, num_threads=threads) == wanted, f"{threads} threads"
        assert run(blob, x, num_threads=threads, fuse=False) == wanted, f"{threads} threads, not fused"
    assert run(blob, x, experimental_preserve_all_tensors=True) == wanted


def test_a_residual_that_the_first_node_reads_around_is_not_written_over():
    """conv3x3(a) + a, where a dies: the sum must not lie over rows that the convolution of the next range reads."""
    model = Model()
    main = model.subgraph("main")
    rng = np.random.default_rng(1)
    x, a, b, y, z = (Tensor([1, 30, 30, 4], "float32") for _ in range(5))
    w = [Tensor.constant(rng.normal(size=[4, 3, 3, 4]).astype(np.float32)), Tensor.constant(np.zeros(4, np.float32))]
    main.op("NEG", [x], [a])
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    main.op("CONV_2D", [a, *w], [b], **window)
    main.op("ADD", [a, b], [y])
    main.op("ABS", [y], [z])
    main.inputs, main.outputs = [x], [z]
    feed = rng.normal(size=[1, 30, 30, 4]).astype(np.float32)
    wanted = run(model.to_bytes(), feed, fuse=False)
    assert run(model.to_bytes(), feed) == wanted
    assert run(model.to_bytes(), feed, num_threads=4) == wanted


def chain(strides, side=40):
    """A chain of filters: the model, and what each makes."""
    model = Model()
    main = model.subgraph("main")
    rng = np.random.default_rng(3)
    x = Tensor([1, side, side, 8], "float32")
    values = [x]
    same = {"padding": "SAME", "dilation_h_factor": 1, "dilation_w_factor": 1}
    for stride in strides:
        before = values[-1]
        y = Tensor([1, -(-before.shape[1] // stride), -(-before.shape[2] // stride), 8], "float32")
        w = [Tensor.constant(rng.normal(size=[8, 3, 3, 8]).astype(np.float32)), Tensor.constant(np.ones(8, np.float32))]
        main.op("CONV_2D", [before, *w], [y], stride_h=stride, stride_w=stride, **same)
        values.append(y)
    main.inputs, main.outputs = [x], [values[-1]]
    return model, values, rng.normal(size=x.shape).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_windows_slide(threads):
    """A chain of filters is one group: its first node has the group's time, the others none, and the bytes are those of whole nodes."""
    model, _, feed = chain((1, 2, 1))
    values, alone = timed(model.to_bytes(), feed, num_threads=threads)
    assert values == run(model.to_bytes(), feed, fuse=False)
    assert alone == [True, False, False]


def test_bands_end_where_an_output_is_seen():
    """Rows near a border are written twice: who reads them elsewhere must not see that."""
    model, made, feed = chain((1, 1, 2, 1))
    model.subgraphs[0].outputs = [made[2], made[-1]]
    values, alone = timed(model.to_bytes(), feed, num_threads=2)
    assert values == run(model.to_bytes(), feed, fuse=False)
    assert alone == [True, False, True, False]


def test_a_short_image_has_no_bands():
    model, _, feed = chain((1, 1), side=7)
    values, alone = timed(model.to_bytes(), feed, num_threads=4)
    assert values == run(model.to_bytes(), feed, fuse=False)
    assert alone == [True, True]


def test_quantize_filter_pointwise_and_sum_are_one_group():
    model = Model()
    main = model.subgraph("main")
    rng = np.random.default_rng(5)
    x = Tensor([1, 64, 64, 3], "float32")
    image = Tensor([1, 64, 64, 3], "int8", scale=0.05, zero_point=3)
    a, b, total = (Tensor([1, 32, 32, 16], "int8", scale=0.1, zero_point=-3) for _ in range(3))
    window = {"padding": "SAME", "dilation_h_factor": 1, "dilation_w_factor": 1}

    def weights(*shape):
        w = rng.integers(-127, 127, shape).astype(np.int8)
        bias = rng.integers(-900, 900, shape[0]).astype(np.int32)
        return [Tensor.constant(w, scale=0.01, zero_point=0), Tensor.constant(bias, scale=0.0005, zero_point=0)]

    main.op("QUANTIZE", [x], [image])
    main.op("CONV_2D", [image, *weights(16, 3, 3, 3)], [a], stride_h=2, stride_w=2, **window)
    main.op("CONV_2D", [a, *weights(16, 1, 1, 16)], [b], stride_h=1, stride_w=1, **window)
    main.op("ADD", [a, b], [total])
    main.inputs, main.outputs = [x], [total]
    feed = rng.normal(size=x.shape).astype(np.float32)
    values, alone = timed(model.to_bytes(), feed)
    assert values == run(model.to_bytes(), feed, fuse=False)
    assert alone == [True, False, False, False]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["float32", "int8", "uint8"])
def test_what_only_a_group_sees_needs_memory_for_some_rows(kind, threads):
    """An image of 8 channels, widened to 64 and filtered: the wide tensors are never whole in memory."""
    network = Network(np.random.default_rng(0), kind, [64, 64], 8)
    network.pointwise(64)
    network.depthwise()
    network.pointwise(8)
    network.main.outputs = [network.value]
    blob = network.model.to_bytes()
    sizes = []
    for limits in ((0, 5000, 0), (1 << 40, 1, 1 << 40)):
        former = tiling.tune(**dict(zip(("cache_bytes", "tile_bytes", "far_bytes"), limits, strict=True)))
        interpreter = Interpreter(model_content=blob, num_threads=threads)
        interpreter.allocate_tensors()
        sizes.append(interpreter._interpreter.arena_used_bytes())
        tiling.tune(**former)
    wide = 64 * 64 * 64 * np.dtype(kind).itemsize
    assert sizes[1] - sizes[0] > 1.5 * wide
