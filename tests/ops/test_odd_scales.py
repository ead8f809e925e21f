"""Scales that no converter should write and that run all the same: 0, NaN, infinite, and quotients beyond the ends of a multiplier.

A multiplier is 0 for a quotient that is NaN, infinite, or below 2^-31. Its left shift goes by mod 32, as x86 does it; in whole blocks (16
values of int8, 8 of uint8, 4 of SUB and of comparisons) it is a vector instruction's, which leaves 0, or the sign.
"""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import AARCH64
from tflm_cy import Interpreter, OpResolverType

REFERENCE, OPTIMIZED = OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
INFINITY, NAN = float("inf"), float("nan")
SOME = [1, 2, 3, 5, -1, -7, 100, -128]


def computed(op, dtype, values, scales, out, scale, resolver, **options):
    """The output, of zero points 0."""

    def quantization(scale):
        return {} if scale is None else {"scale": np.float32(scale), "zero_point": 0}

    inputs = [Tensor([len(v)], dtype, **quantization(s)) for v, s in zip(values, scales, strict=True)]
    model = Model.single(op, inputs, [Tensor([len(values[0])], out, **quantization(scale))], **options)
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), values, strict=True):
        interpreter.set_tensor(detail["index"], np.array(value, dtype))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("resolver", [REFERENCE, OPTIMIZED], ids=["reference", "optimized"])
@pytest.mark.parametrize(
    ("op", "dtype", "values", "scales", "out", "scale", "want"),
    [
        ("MUL", "int16", [SOME, SOME], [0, 1e-4], "int16", 1e-3, [0] * 8),
        ("MUL", "int16", [SOME, SOME], [1e-30, 3.6e-13], "int16", 1e-30, [0] * 8),
        ("SUB", "int8", [SOME[:6], [0] * 6], [2.0**32, 1], "int8", 0.5, [1, 1, 1, 1, -2, -14]),
        ("SUB", "uint8", [[9, 8, 7, 6, 250, 4], [3] * 6], [2.0**32, 1], "uint8", 0.5, [1, 1, 1, 1, 255, 9]),
        (
            "EQUAL",
            "int16",
            [[300, 20, -7, 12345, -999], [301, 7, 7, 45, -99]],
            [5e3, 5e3],
            "bool",
            None,
            [1, 1, 0, 1, 1],
        ),
        ("GREATER", "int8", [SOME[:6], [0] * 6], [2.0**33, 3], "bool", None, [0] * 6),
        ("RELU6", "int8", [SOME], [1], "int8", 2.0**-33, [0] * 8),
        ("RELU_0_TO_1", "int8", [SOME], [1], "int8", 0, [0] * 8),
        ("TANH", "int8", [[1, -1, 127, 0]], [0.1], "int8", 0, [127, -128, 127, 0]),
        ("TANH", "uint8", [[0, 1, 2, 255]], [0.1], "uint8", 0, [0, 255, 255, 255] if AARCH64 else [0] * 4),
        ("GELU", "int8", [SOME], [NAN], "int8", 0.1, [0] * 8),
        ("QUANTIZE", "int16", [[5, -5, 32767]], [None], "int16", 1e-3, [0] * 3),
        ("DIV", "uint8", [[9, 8, 7, 200], [1, 2, 3, 4]], [2.0**40, 1], "uint8", 1, [255] * 4),
    ],
)
def test_both_arithmetics(op, dtype, values, scales, out, scale, want, resolver):
    got = computed(op, dtype, values, scales, out, scale, resolver)
    assert got.tolist() == want


@pytest.mark.parametrize("resolver", [REFERENCE, OPTIMIZED], ids=["reference", "optimized"])
def test_a_left_shift_is_by_mod_32(resolver):
    got = computed("LEAKY_RELU", "int8", [SOME], [1e30], "int8", 1, resolver, alpha=0.5)
    assert got.tolist() == [13, 25, 38, 63, -6, -44, 127, -128]


@pytest.mark.parametrize(
    ("op", "dtype", "values", "scales", "out", "scale", "reference", "optimized"),
    [
        (
            *("HARD_SWISH", "int8", [SOME], [1e30], "int8", 1e30, [1, 1, 2, 3, -1, -4, 50, -64]),
            [1, 2, 3, 5, 0, 0, 100, 0] if AARCH64 else [1, 1, 2, 3, -1, -4, 50, -64],
        ),
        (
            *("HARD_SWISH", "int8", [[100] * 9], [1e30], "int8", 1e30, [50] * 8 + [100]),
            [100] * 9 if AARCH64 else [50] * 8 + [100],
        ),
        (
            *("MUL", "int8", [SOME * 2 + [1, 2], [1] * 18], [1, 1], "int8", 2.0**-36),
            *([16, 32, 48, 80, -16, -112, 127, -128] * 2 + [16, 32], [0] * 16 + [16, 32]),
        ),
        (
            *("MUL", "uint8", [[1, 2, 3, 250, 9, 7, 8, 1, 100, 2], [1] * 10], [1, 1], "uint8", 3.3e-31),
            *([38, 76, 115, 255, 255, 255, 255, 38, 255, 76], [0] * 8 + [255, 76]),
        ),
        (
            *("QUANTIZE", "int8", [SOME * 2 + [1, 2]], [1], "uint8", 2.0**-34),
            *([4, 8, 12, 20, 0, 0, 255, 0] * 2 + [4, 8], [0] * 16 + [4, 8]),
        ),
        *(
            (
                *("LOGISTIC", "int16", [[0, 1, 2, -1, -2, 32767, -32768]], [scale], "int16", 2.0**-15),
                *([16384, 1, 16384, 1, 16384, 1, 16384], [16384, 16384, 16388, 16383, 16379, 32756, 11]),
            )
            for scale in (1e-30, 1e30)
        ),
        (
            *("TANH", "int16", [[0, 1, 2, -1, -2, 32767, -32768]], [NAN], "int16", 2.0**-15),
            *([0, -32767, 0, -32767, 0, -32767, 0], [0, 8, 24, -8, -24, 32767, -32767]),
        ),
    ],
)
def test_each_arithmetic(op, dtype, values, scales, out, scale, reference, optimized):
    assert computed(op, dtype, values, scales, out, scale, REFERENCE).tolist() == reference
    assert computed(op, dtype, values, scales, out, scale, OPTIMIZED).tolist() == optimized


def test_sub_of_int16_shifts_by_a_negative_count():
    values = [[300, -300, 20000, -7, 12345, -999], [1] * 6]
    for resolver in (REFERENCE, OPTIMIZED):
        got = computed("SUB", "int16", values, [2.0**31, 1], "int16", 0.75, resolver, pot_scale_int16=False)
        assert got.tolist() == [1, -1, 1, -1, 8231, -666]


def test_blocks_of_dequantize_add_their_zero_point():
    values = [[5, -5, 0, 7, -7, 1, -1, 2, 3, -3]]
    zeros = computed("DEQUANTIZE", "int16", values, [0], "float32", None, OPTIMIZED)
    assert np.signbit(zeros).tolist() == [False] * 9 + [True]
    infinite = computed("DEQUANTIZE", "int16", values, [INFINITY], "float32", None, OPTIMIZED)
    assert np.isnan(infinite[:8]).all() and infinite[8:].tolist() == [INFINITY, -INFINITY]
    reference = computed("DEQUANTIZE", "int16", values, [0], "float32", None, REFERENCE)
    assert np.signbit(reference).tolist() == [v < 0 for v in values[0]]


@pytest.mark.parametrize("op", ["ADD", "SUB"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_what_ends_tensorflows_process_is_refused(op, dtype):
    for scales, scale in (([0, 0], 1), ([NAN, 1], 1), ([1, 1], NAN), ([INFINITY, 1], 1)):
        with pytest.raises((ValueError, RuntimeError), match=r"the scales' quotient .* is out of range"):
            computed(op, dtype, [[1, 2], [3, 4]], scales, dtype, scale, REFERENCE, pot_scale_int16=False)


def test_sub_to_a_scale_of_0_gives_the_zero_point():
    assert computed("SUB", "int8", [[1, 2], [3, 4]], [1, 1], "int8", 0, REFERENCE).tolist() == [0, 0]
    with pytest.raises((ValueError, RuntimeError), match="quotient inf is out of range"):
        computed("ADD", "int8", [[1, 2], [3, 4]], [1, 1], "int8", 0, REFERENCE)


@pytest.mark.parametrize("scale", [INFINITY, NAN])
def test_sqrt_of_no_number_is_refused(scale):
    with pytest.raises((ValueError, RuntimeError), match="Sqrt is only defined for non-negative values"):
        computed("SQRT", "int8", [[0, 1]], [scale], "int8", 1, REFERENCE)
