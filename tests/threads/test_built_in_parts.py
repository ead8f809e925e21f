"""Nodes of the built-in kernels that threads share have the bytes of nodes that run by themselves, on every instruction set.

Dynamic-range images that the threads quantize together, integer convolutions, products of a single matrix or of few rows, the batches of a
basic LSTM; large enough to wake them for.
"""

from functools import partial

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated
from tests.simd.instruction_sets import ISAS, run
from tflm_cy.experimental import OpResolverType
from tflm_cy.simd import table
from tflm_cy.threads import pool

WITHOUT = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def convolution(op, x_type, w_type, channels, outputs, nans=0, lowest=-127, inside=False):
    """Of one image whose values are many blocks; `nans` of them are NaN. lowest: of int8 weights.

    inside: every second window, without padding."""
    rng = np.random.default_rng(channels)
    shape, taps = (
        [1, 123, 119, channels],
        (1, 3, 3, outputs) if op == "DEPTHWISE_CONV_2D" else (outputs, 3, 3, channels),
    )
    scales = [0.01 + 0.001 * c for c in range(outputs)] if w_type == "int8" else [0.02]
    quantized = x_type != "float32"
    zero = 0 if x_type in ("int16", "float32") else 3
    low, high = (0, 256) if w_type == "uint8" else (lowest, 128)
    at = {"scale": 0.05, "zero_point": zero} if quantized else {}
    x, y = (
        Tensor(shape, x_type, **at),
        Tensor(
            [1, 61, 59, outputs] if inside else [1, 123, 119, outputs],
            x_type,
            **({**at, "scale": 2.0} if quantized else {}),
        ),
    )
    values = rng.integers(low, high, taps).astype(w_type)
    zeros = [7 if w_type == "uint8" else 0] * len(scales)
    w = Tensor(taps, w_type, data=values, scale=scales, zero_point=zeros, axis=3 if op == "DEPTHWISE_CONV_2D" else 0)
    kind = {"int16": np.int64, "float32": np.float32}.get(x_type, np.int32)
    terms = {"scale": [0.05 * s for s in scales], "zero_point": [0] * len(scales)} if quantized else {}
    bias = Tensor([outputs], np.dtype(kind).name, data=rng.integers(-99, 99, outputs).astype(kind), **terms)
    options = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1, "padding": "SAME"}
    if inside:
        options |= {"stride_h": 2, "stride_w": 2, "padding": "VALID"}
    if op == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = outputs // channels
    if quantized:
        limits = np.iinfo(x_type)
        feed = rng.integers(limits.min, limits.max + 1, shape).astype(x_type)
    else:
        feed = rng.normal(0, 3, shape).astype(np.float32)
        feed.ravel()[rng.integers(0, feed.size, nans)] = np.nan
    return Model.single(op, [x, w, bias], [y], **options).to_bytes(), [feed]


def product():
    """A single matrix on either side, neither of which is constant, and rows that do not divide evenly."""
    rng = np.random.default_rng(0)
    feeds = [rng.normal(size=shape).astype(np.float32) for shape in ((1, 97, 203), (1, 203, 61))]
    model = Model.single("BATCH_MATMUL", [Tensor(f.shape, "float32") for f in feeds], [Tensor([1, 97, 61], "float32")])
    return model.to_bytes(), feeds


def rows(n, x_type, w_type):
    """Few rows, whose threads share the columns of many weights."""
    rng = np.random.default_rng(n)
    depth, outputs = 1030, 1203
    quantized = x_type != "float32"
    lowest = int(n == 2)  # the lowest byte makes TensorFlow's sums of pairs overflow on aarch64: a kernel of its own
    low, high = (1 - lowest, 256) if w_type == "uint8" else (-127 - lowest, 128)
    x, y = (
        Tensor(shape, x_type, **({"scale": scale, "zero_point": 3} if quantized else {}))
        for shape, scale in (([n, depth], 0.05), ([n, outputs], 2.0))
    )
    w = Tensor(
        [outputs, depth],
        w_type,
        data=rng.integers(low, high, [outputs, depth]).astype(w_type),
        scale=0.02,
        zero_point=7 if w_type == "uint8" else 0,
    )
    kind, terms = (np.int32, {"scale": 0.001, "zero_point": 0}) if quantized else (np.float32, {})
    bias = Tensor([outputs], np.dtype(kind).name, data=rng.integers(-99, 99, outputs).astype(kind), **terms)
    if quantized:
        limits = np.iinfo(x_type)
        feed = rng.integers(limits.min, limits.max + 1, [n, depth]).astype(x_type)
    else:
        feed = rng.normal(0, 3, [n, depth]).astype(np.float32)
    return Model.single("FULLY_CONNECTED", [x, w, bias], [y]).to_bytes(), [feed]


def transposed(x_type, w_type, lowest, constant=True):
    """Upsampled by two; sizes that threads do not divide evenly. lowest: whether weights have the lowest byte, as in `rows`."""
    rng = np.random.default_rng(lowest)
    shape, taps = [1, 31, 33, 16], (12, 3, 3, 16)
    low, high = (1 - lowest, 256) if w_type == "uint8" else (-127 - lowest, 128)
    zero = 0 if x_type == "int16" else 3
    x, y = (Tensor(at, x_type, scale=s, zero_point=zero) for at, s in ((shape, 0.05), ([1, 62, 66, 12], 2.0)))
    values = rng.integers(low, high, taps).astype(w_type)
    w = Tensor(taps, w_type, data=values if constant else None, scale=0.02, zero_point=7 if w_type == "uint8" else 0)
    options = {"stride_h": 2, "stride_w": 2, "padding": "SAME"}
    limits = np.iinfo(x_type)
    feeds = ([] if constant else [values]) + [rng.integers(limits.min, limits.max + 1, shape).astype(x_type)]
    size = Tensor.constant(np.array(y.shape, np.int32))
    return Model.single("TRANSPOSE_CONV", [size, w, x], [y], **options).to_bytes(), feeds


def basic_lstm():
    """Of bytes, with many batches."""
    rng = np.random.default_rng(1)
    batches, inputs, cells = 13, 70, 90
    values, states = {"scale": 1 / 128, "zero_point": 128}, {"scale": 2.0**-11, "zero_point": 0}
    x, h, new_h, operands = (Tensor([batches, n], "uint8", **values) for n in (inputs, cells, cells, inputs + cells))
    c, new_c, gates = (Tensor([batches, n], "int16", **states) for n in (cells, cells, 4 * cells))
    h.variable = c.variable = True
    w = rng.integers(0, 256, (4 * cells, inputs + cells)).astype(np.uint8)
    bias = Tensor.constant(rng.integers(-9999, 9999, 4 * cells).astype(np.int32), scale=1 / 8192, zero_point=0)
    operator = [x, h, Tensor.constant(w, scale=1 / 64, zero_point=100), bias, c], [new_h, new_c, operands, gates]
    feeds = [rng.integers(0, 256, x.shape).astype(np.uint8)]
    return Model.single("LSTM", *operator, 2, kernel_type="BASIC").to_bytes(), feeds


CASES = {
    "hybrid": (lambda: convolution("CONV_2D", "float32", "int8", 32, 17), WITHOUT),
    "hybrid, NaN": (lambda: convolution("CONV_2D", "float32", "int8", 32, 17, nans=3), WITHOUT),
    "hybrid depthwise": (lambda: convolution("DEPTHWISE_CONV_2D", "float32", "int8", 21, 63), WITHOUT),
    "hybrid depthwise, NaN": (lambda: convolution("DEPTHWISE_CONV_2D", "float32", "int8", 21, 21, nans=1), WITHOUT),
    "hybrid, inside": (lambda: convolution("CONV_2D", "float32", "int8", 32, 48, inside=True), WITHOUT),
    "hybrid depthwise, inside": (
        lambda: convolution("DEPTHWISE_CONV_2D", "float32", "int8", 63, 63, inside=True),
        WITHOUT,
    ),
    "int8, inside": (lambda: convolution("CONV_2D", "int8", "int8", 32, 48, inside=True), WITHOUT),
    "uint8, inside": (lambda: convolution("CONV_2D", "uint8", "uint8", 32, 48, inside=True), WITHOUT),
    "int8": (lambda: convolution("CONV_2D", "int8", "int8", 16, 24), WITHOUT),
    "int8, lowest bytes": (lambda: convolution("CONV_2D", "int8", "int8", 16, 24, lowest=-128), WITHOUT),
    "uint8 depthwise": (lambda: convolution("DEPTHWISE_CONV_2D", "uint8", "uint8", 21, 63), WITHOUT),
    "int8 depthwise, one channel": (lambda: convolution("DEPTHWISE_CONV_2D", "int8", "int8", 1, 160), WITHOUT),
    "int16 depthwise": (lambda: convolution("DEPTHWISE_CONV_2D", "int16", "int8", 21, 42), WITHOUT),
    "int16 depthwise, one channel": (lambda: convolution("DEPTHWISE_CONV_2D", "int16", "int8", 1, 160), WITHOUT),
    "product": (product, OpResolverType.AUTO),
    "basic LSTM": (basic_lstm, WITHOUT),
    **{
        f"transposed, {x_type}, {'lowest bytes' if lowest else 'other bytes'}": (
            partial(transposed, x_type, w_type, lowest),
            WITHOUT,
        )
        for x_type, w_type in (("int8", "int8"), ("uint8", "uint8"), ("int16", "int8"))
        for lowest in (0, 1)
    },
    "transposed, filter at run time": (partial(transposed, "int8", "int8", 1, constant=False), WITHOUT),
    **{
        f"{n} rows, {x_type}, {mode.name}": (partial(rows, n, x_type, w_type), mode)
        for n in (1, 2, 7)
        for x_type, w_type in (("int8", "int8"), ("uint8", "uint8"), ("float32", "int8"))
        for mode in (OpResolverType.AUTO, WITHOUT, OpResolverType.BUILTIN_REF)
    },
}


@pytest.fixture(autouse=True)
def processors():
    """Four, whatever the machine has and however busy it is."""
    former = pool.tune(processors=4)
    yield
    pool.tune(**former)


def is_shared(isa, blob, mode):
    before = table.name()
    table.choose(isa)
    try:
        interpreter = allocated(blob, num_threads=4, experimental_op_resolver_type=mode)
    finally:
        table.choose(before)
    return any(row["pass"] == "tile" for row in interpreter.explain())


@pytest.mark.parametrize("name", CASES)
def test_built_in_parts(name):
    draw, mode = CASES[name]
    blob, feeds = draw()
    for isa in ISAS:
        wanted = [y.tobytes() for y in run(isa, blob, feeds, experimental_op_resolver_type=mode)]
        for threads in (2, 3, 4):
            got = run(isa, blob, feeds, num_threads=threads, experimental_op_resolver_type=mode)
            assert [y.tobytes() for y in got] == wanted, (isa, threads)
        assert isa == "portable" or is_shared(isa, blob, mode), isa
