"""float16 functions of the default mode, over all 65,536 values: checksums of TensorFlow's own results, and corners that can be read."""

import zlib

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import AARCH64
from tflm_cy import Interpreter

from .delegated import invoke, only_where_supported

pytestmark = only_where_supported

# CRC-32 of the outputs of TensorFlow 2.21 for the patterns 0 .. 65535, by what TFLM_CY_XNNPACK is. x86-64's square roots are the CPU
# vendor's tables: not here.
EXACT = {"ABS": 0x2CC758DB, "NEG": 0xC8BA7682}
OF_X86_64 = {
    "CEIL": 0x68C6CA80,
    "COS": 0x29BE2069,
    "EXP": 0xD91C99BF,
    "FLOOR": 0xBC3F20FA,
    "GELU": 0x53C8208E,
    "GELU approximate": 0x6D3E454E,
    "HARD_SWISH": 0x06E5B95F,
    "RELU": 0xDC204AF6,
    "RELU6": 0xA3EC3E7B,
    "RELU_N1_TO_1": 0x47125E14,
    "ROUND": 0xF0FBA1D8,
    "SIN": 0x29A80B3F,
    "SQUARE": 0xD855D82C,
}
WITHOUT_FLOAT16 = {
    "CEIL": 0xC421F9EE,
    "COS": 0xA8221D07,
    "EXP": 0xC8F04CED,
    "FLOOR": 0x10D81394,
    "GELU": 0x9B79F12B,
    "GELU approximate": 0x02815F85,
    "HARD_SWISH": 0x37F1C914,
    "RELU": 0x9DBC235F,
    "RELU6": 0xE27057D2,
    "RELU_N1_TO_1": 0xEC0CA093,
    "ROUND": 0x5C1C92B6,
    "RSQRT": 0x3C8AC2B0,
    "SIN": 0xAAAEC152,
    "SQRT": 0xA9215F08,
    "SQUARE": 0x74B2EB42,
}
WITH_FLOAT16 = {
    "CEIL": 0xBA2BF0F6,
    "COS": 0x35DB7BAD,
    "EXP": 0xA8FE0CD3,
    "FLOOR": 0x879ADB72,
    "GELU": 0x8103374F,
    "GELU approximate": 0xF7EF506D,
    "HARD_SWISH": 0xCE3F7685,
    "RELU": 0x9ECE4B9D,
    "RELU6": 0xE1023F10,
    "RELU_N1_TO_1": 0xF7052B79,
    "ROUND": 0xF0FBA1D8,
    "RSQRT": 0xB883915D,
    "SIN": 0x6B00A3C5,
    "SQRT": 0x02107985,
    "SQUARE": 0x81EDD375,
}
CHECKSUMS = {"neon": WITHOUT_FLOAT16, "dotprod": WITH_FLOAT16, "i8mm": WITH_FLOAT16} if AARCH64 else {"": OF_X86_64}
EVERY = np.arange(65536).astype(np.uint16).view(np.float16)
NAN, INF = np.nan, np.inf


def run(op, x, **options):
    x = np.asarray(x, np.float16)
    blob = Model.single(op, [Tensor(x.shape, "float16")], [Tensor(x.shape, "float16")], **options).to_bytes()
    return invoke(blob, [x])[0]


@pytest.mark.parametrize(
    ("cpu", "kind", "checksum"),
    [(cpu, kind, checksum) for cpu, table in CHECKSUMS.items() for kind, checksum in (EXACT | table).items()],
)
def test_every_value(cpu, kind, checksum, monkeypatch):
    monkeypatch.setenv("TFLM_CY_XNNPACK", cpu)
    op, _, approximate = kind.partition(" ")
    got = run(op, EVERY, **({"approximate": True} if approximate else {}))
    assert zlib.crc32(got.tobytes()) == checksum


@pytest.mark.parametrize(
    ("op", "special"),
    [("SQRT", [0, -0.0, NAN, INF, NAN] if AARCH64 else [0, NAN, -0.0, NAN, NAN]), ("RSQRT", [INF, -INF, NAN, 0, NAN])],
)
def test_roots(op, special):
    x = np.linspace(0.01, 60000, 1001).astype(np.float16)
    want = np.sqrt(x.astype(np.float64)) ** (1 if op == "SQRT" else -1)
    np.testing.assert_allclose(run(op, x), want, rtol=2**-10)
    np.testing.assert_array_equal(run(op, [0, -0.0, -4, INF, NAN]), np.array(special, np.float16))


@pytest.mark.parametrize(("op", "lowest"), [("RELU", 0), ("RELU6", 0), ("RELU_N1_TO_1", -1)])
def test_a_clamp_turns_nan_into_its_lower_limit(op, lowest, monkeypatch):
    """On aarch64 NaN stays."""
    monkeypatch.setenv("TFLM_CY_XNNPACK", "dotprod" if AARCH64 else "")
    got = run(op, [NAN, -0.0])
    assert np.isnan(got[0]) if AARCH64 else got[0] == lowest
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
    np.testing.assert_array_equal(
        interpreter.get_tensor(2), np.array([6, 2.5, 0, 0, NAN if AARCH64 else 0], np.float16)
    )
