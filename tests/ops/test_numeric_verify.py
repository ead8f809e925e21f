"""NumericVerify: differences, a tolerance that is kept or not, what is refused."""

import numpy as np
import pytest
from flatbuffers import flexbuffers

from compat.builder import Tensor

from .one_operator import interpret, run, same

SCALE, ZERO = np.float32(0.5), 3
REFUSED = (ValueError, RuntimeError)


def options(**values):
    return {"custom_options": bytes(flexbuffers.Dumps(values))}


def operands(values, reference, constant=False):
    kind = Tensor(values.shape, values.dtype.name, scale=SCALE, zero_point=ZERO)
    kind.data = values if constant else None
    return [kind if constant else (values, kind), (reference.astype(np.float32), "float32")]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_differences(dtype):
    values, reference = np.arange(10, dtype=dtype), np.linspace(-2, 2, 10).astype(np.float32)
    want = ((values.astype(np.float64) - ZERO) * 0.5).astype(np.float32) - reference
    for tolerance, checks in ((0.05, True), (5.0, False)):
        inputs = operands(values, reference)
        [y] = run(
            "NumericVerify", inputs, [Tensor([1], "float32")], **options(tolerance=tolerance, log_if_failed=checks)
        )
        same(y, want)


def test_halves():
    values = np.array([1, -2, 0.25], np.float16)
    inputs = [(values, "float16"), (np.ones(3, np.float32), "float32")]
    [y] = run("NumericVerify", inputs, [Tensor([1], "float32")], **options(tolerance=0.0, log_if_failed=False))
    same(y, np.array([0, -3, -0.75], np.float32))


def test_a_tolerance():
    values = np.arange(10, dtype=np.int8)
    reference = (values.astype(np.float32) - ZERO) * SCALE
    near, far = reference + np.float32(0.4), reference + np.float32(0.6)
    wanted = options(tolerance=1.0, log_if_failed=True)
    run("NumericVerify", operands(values, near), [Tensor([1], "float32")], **wanted)
    with pytest.raises(RuntimeError, match="Mismatch"):
        run("NumericVerify", operands(values, far), [Tensor([1], "float32")], **wanted)


def test_what_a_constant_gives_is_computed_once():
    values, first = np.arange(4, dtype=np.int8), np.zeros(4, np.float32)
    interpreter = interpret("NumericVerify", operands(values, first, True), [Tensor([1], "float32")],
                            **options(tolerance=5.0, log_if_failed=False))  # fmt: skip
    [x], [y] = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for reference in (first, first + 1):
        interpreter.set_tensor(x["index"], reference)
        interpreter.invoke()
        found.append(interpreter.get_tensor(y["index"]))
    same(found[0], (values.astype(np.float32) - ZERO) * SCALE)
    same(found[1], found[0])


def test_refusals():
    values, reference = np.arange(4, dtype=np.int8), np.zeros(4, np.float32)
    right = options(tolerance=5.0, log_if_failed=False)
    for inputs, given in [
        ([(np.zeros(4, np.int32), "int32"), (reference, "float32")], right),
        ([operands(values, reference)[0], (reference.astype(np.float64), "float64")], right),
        (operands(values, reference[:3]), right),
        (operands(values, reference), {"custom_options": b""}),
    ]:
        with pytest.raises(REFUSED):
            run("NumericVerify", inputs, [Tensor([1], "float32")], **given)
