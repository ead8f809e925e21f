"""Integers that should be quantized and are not: TensorFlow takes their scale for 0, which leaves zeros of most functions."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

MODES = [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.AUTO]
REFUSED = (ValueError, RuntimeError)
X = np.array([[-7, 3], [5, -1]])


def invoke(op, dtypes, resolver, version=1, scales=(None, None), **options):
    """The output of x and, with two types, of x and x."""
    given = {} if scales[0] is None else {"scale": np.float32(scales[0]), "zero_point": 0}
    wanted = {} if scales[1] is None else {"scale": np.float32(scales[1]), "zero_point": 0}
    inputs = [Tensor(X.shape, dtype, **given) for dtype in dtypes]
    model = Model.single(op, inputs, [Tensor(X.shape, dtypes[0], **wanted)], version, **options)
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], X.astype(detail["dtype"]))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("resolver", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("op", "dtypes"),
    [
        ("RELU", ("int8", "uint8", "int16")),
        ("RELU6", ("int8", "uint8", "int16")),
        ("RELU_0_TO_1", ("int8", "uint8")),
        ("RELU_N1_TO_1", ("int8", "uint8")),
        ("LEAKY_RELU", ("int8", "uint8", "int16")),
        ("HARD_SWISH", ("int8", "uint8")),
        ("TANH", ("int8", "uint8")),
        ("GELU", ("int8", "uint8", "int16")),
        ("EXP", ("int16",)),
    ],
)
def test_functions_give_zeros(op, dtypes, resolver):
    for dtype in dtypes:
        got = invoke(op, [dtype], resolver)
        assert got.dtype == dtype
        assert not got.any()


@pytest.mark.parametrize("resolver", MODES, ids=lambda m: m.name)
def test_exponentials_of_bytes_are_infinite(resolver):
    assert (invoke("EXP", ["int8"], resolver) == 127).all()


@pytest.mark.parametrize("resolver", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("op", "dtype"),
    [("PRELU", "int8"), ("DIV", "uint8"), ("DIV", "int16"), ("BATCH_MATMUL", "int8"), ("BATCH_MATMUL", "int16")],
)
def test_products_and_quotients_give_zeros(op, dtype, resolver):
    assert not invoke(op, [dtype, dtype], resolver).any()


def test_a_scale_of_one_of_the_two_is_not_enough_where_both_are_asked_for():
    for scales in ((0.5, None), (None, 0.5)):
        with pytest.raises(REFUSED):
            invoke("EXP", ["int8"], MODES[0], scales=scales)


def test_what_tensorflow_refuses_without_a_scale():
    for op, dtype in (("LOGISTIC", "int8"), ("TANH", "int16"), ("RELU_N1_TO_1", "int16"), ("SQRT", "int8")):
        with pytest.raises(REFUSED):
            invoke(op, [dtype], MODES[0])
