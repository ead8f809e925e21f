"""float16 functions of the default mode, over all 65,536 values: checksums of TensorFlow's own results, and corners that can be read."""

import zlib

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter

from .delegated import invoke, only_where_supported

pytestmark = only_where_supported

# CRC-32 of the outputs of TensorFlow 2.21 for the patterns 0 .. 65535. The square roots are the CPU vendor's tables: not here.
CHECKSUMS = {
    "ABS": 0x2CC758DB,
    "CEIL": 0x68C6CA80,
    "COS": 0x29BE2069,
    "EXP": 0xD91C99BF,
    "FLOOR": 0xBC3F20FA,
    "GELU": 0x53C8208E,
    "HARD_SWISH": 0x06E5B95F,
    "NEG": 0xC8BA7682,
    "RELU": 0xDC204AF6,
    "RELU6": 0xA3EC3E7B,
    "RELU_N1_TO_1": 0x47125E14,
    "ROUND": 0xF0FBA1D8,
    "SIN": 0x29A80B3F,
    "SQUARE": 0xD855D82C,
}
EVERY = np.arange(65536).astype(np.uint16).view(np.float16)
NAN, INF = np.nan, np.inf


def run(op, x, **options):
    x = np.asarray(x, np.float16)
    blob = Model.single(op, [Tensor(x.shape, "float16")], [Tensor(x.shape, "float16")], **options).to_bytes()
    return invoke(blob, [x])[0]


@pytest.mark.parametrize("op", CHECKSUMS)
def test_every_value(op):
    assert zlib.crc32(run(op, EVERY).tobytes()) == CHECKSUMS[op]


def test_every_value_of_the_approximate_gelu():
    assert zlib.crc32(run("GELU", EVERY, approximate=True).tobytes()) == 0x6D3E454E


@pytest.mark.parametrize(("op", "special"), [("SQRT", [0, NAN, -0.0, NAN, NAN]), ("RSQRT", [INF, -INF, NAN, 0, NAN])])
def test_roots(op, special):
    x = np.linspace(0.01, 60000, 1001).astype(np.float16)
    want = np.sqrt(x.astype(np.float64)) ** (1 if op == "SQRT" else -1)
    np.testing.assert_allclose(run(op, x), want, rtol=2**-10)
    np.testing.assert_array_equal(run(op, [0, -0.0, -4, INF, NAN]), np.array(special, np.float16))


@pytest.mark.parametrize(("op", "lowest"), [("RELU", 0), ("RELU6", 0), ("RELU_N1_TO_1", -1)])
def test_a_clamp_turns_nan_into_its_lower_limit(op, lowest):
    got = run(op, [NAN, -0.0])
    assert got[0] == lowest
    assert not np.signbit(got[1]) or lowest


def test_a_chain_of_float16_operators_is_one_partition():
    x, y, z = (Tensor([5], "float16") for _ in range(3))
    model = Model()
    main = model.subgraph("main")
    main.op("NEG", [x], [y])
    main.op("RELU6", [y], [z])
    values = np.array([-7, -2.5, 0, 1, NAN], np.float16)
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    assert next(iter(interpreter.delegate_nodes().values()))[0] == [0, 1]
    interpreter.set_tensor(0, values)
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(2), np.array([6, 2.5, 0, 0, 0], np.float16))
