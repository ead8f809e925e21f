"""MEAN, SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL over constant and fed axes."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

from .successive import REFUSED, constant, outputs, same

AXES = [
    ([0], (4, 3, 5)),
    ([-1], (2, 3, 4)),
    ([1, 2], (3, 4, 2)),
    ([0, 2, 0], (4, 3, 2, 2)),
    ([0, 1], (6, 7)),
    ([], (2, 3)),
]


def reduce(op, x, axes, y, version=2, fed=False, keep_dims=False, **quantization):
    """The output of one reduction; `y` is its tensor."""
    source = Tensor(x.shape, x.dtype, **quantization)
    axis = Tensor([len(axes)], "int32") if fed else constant(axes, "int32")
    feed = [x, np.array(axes, np.int32)] if fed else [x]
    return outputs(op, [source, axis], [y], [feed, feed], version, keep_dims=keep_dims)[1]


def out_shape(shape, axes, keep_dims):
    gone = {a % len(shape) for a in axes}
    return [1 if d in gone else n for d, n in enumerate(shape) if keep_dims or d not in gone]


def columns(x, axes):
    """[outputs, values of each] in the order of memory."""
    gone = sorted({a % x.ndim for a in axes})
    kept = [d for d in range(x.ndim) if d not in gone]
    moved = x.transpose(kept + gone)
    return moved.reshape(int(np.prod(moved.shape[: len(kept)])), -1)


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize(("axes", "shape"), AXES)
def test_whole_numbers(axes, shape, fed, keep_dims):
    x = np.random.default_rng(1).integers(-4, 5, shape).astype(np.int32)
    result = out_shape(shape, axes, keep_dims)
    cells = columns(x, axes).astype(np.int64)
    wanted = {
        "SUM": cells.sum(1),
        "REDUCE_PROD": cells.prod(1),
        "REDUCE_MAX": cells.max(1),
        "REDUCE_MIN": cells.min(1),
        "MEAN": np.trunc(cells.sum(1) / cells.shape[1]),
    }
    for dtype in ("int32", "int64"):
        for op, want in wanted.items():
            got = reduce(op, x.astype(dtype), axes, Tensor(result, dtype), fed=fed, keep_dims=keep_dims)
            same(got, want.reshape(result), dtype)


@pytest.mark.parametrize(("axes", "shape"), AXES)
def test_float_sums_are_sequential(axes, shape):
    x = (np.random.default_rng(2).standard_normal(shape) * 100).astype(np.float32)
    cells = columns(x, axes)
    total = np.zeros(len(cells), np.float32)
    for k in range(cells.shape[1]):
        total = total + cells[:, k]
    result = out_shape(shape, axes, False)
    same(reduce("SUM", x, axes, Tensor(result, "float32")), total.reshape(result))
    same(reduce("MEAN", x, axes, Tensor(result, "float32")), (total / np.float32(cells.shape[1])).reshape(result))


def test_a_reduction_of_everything_starts_with_its_first_element():
    """Minus zero and a leading NaN survive only there."""
    zeros = np.array([[-0.0]], np.float32)
    assert np.signbit(reduce("SUM", zeros, [0, 1], Tensor([], "float32")))
    assert not np.signbit(reduce("SUM", zeros, [0], Tensor([1], "float32")))[0]
    leading = np.array([[np.nan, 1.0]], np.float32)
    assert np.isnan(reduce("REDUCE_MAX", leading, [0, 1], Tensor([], "float32")))
    same(reduce("REDUCE_MAX", leading, [1], Tensor([1], "float32")), [1], np.float32)


@pytest.mark.parametrize("fed", [False, True])
def test_any_and_all(fed):
    x = np.array([[True, False, True], [True, True, True], [False, False, False]])
    same(reduce("REDUCE_ANY", x, [1], Tensor([3], "bool"), 1, fed), x.any(1))
    same(reduce("REDUCE_ALL", x, [1], Tensor([3], "bool"), 1, fed), x.all(1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_quantized_mean_is_near_the_real_one(dtype):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(limits.min, limits.max + 1, (2, 5, 6, 3)).astype(dtype)
    zero_point = 0 if dtype == "int16" else 5
    y = Tensor([2, 3], dtype, scale=0.02, zero_point=zero_point)
    got = reduce("MEAN", x, [1, 2], y, scale=0.03, zero_point=zero_point)
    want = ((x.astype(float) - zero_point) * 0.03).mean((1, 2)) / 0.02 + zero_point
    assert np.abs(got - np.clip(want, limits.min, limits.max)).max() <= 0.6


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_quantized_maximum_and_minimum_are_raw(dtype):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(4).integers(limits.min, limits.max + 1, (3, 40)).astype(dtype)
    for op, want in (("REDUCE_MAX", x.max(1)), ("REDUCE_MIN", x.min(1))):
        same(reduce(op, x, [1], Tensor([3], dtype, scale=0.5), scale=0.5), want)


def test_the_sum_of_int8_takes_bytes_for_unsigned():
    x = np.array([[1, 2, 3], [-1, 0, 0], [-1, -1, -1]], np.int8)
    same(reduce("SUM", x, [1], Tensor([3], "int8", scale=1.0), scale=1.0), [6, -1, -1], np.int8)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_quantized_product_is_near_the_real_one(dtype):
    x = np.array([[20, 30], [-20, 7], [0, 9]], dtype)
    got = reduce("REDUCE_PROD", x, [1], Tensor([3], dtype, scale=0.1), scale=0.1)
    want = (x.astype(float) * 0.1).prod(1) / 0.1
    assert np.abs(got - want).max() <= 1


def test_nothing_to_reduce():
    x = np.zeros((2, 0), np.float32)
    assert np.isnan(reduce("MEAN", x, [1], Tensor([2], "float32"))).all()
    same(reduce("SUM", x, [1], Tensor([2], "float32")), [0, 0], np.float32)
    same(reduce("REDUCE_MAX", x, [1], Tensor([2], "float32")), [np.finfo(np.float32).min] * 2, np.float32)


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("axes", [[2], [-3], [2**31 - 1]])
def test_an_axis_out_of_range_is_refused(axes, fed):
    with pytest.raises(REFUSED, match="axis"):
        reduce("SUM", np.zeros((2, 2), np.float32), axes, Tensor([2], "float32"), fed=fed)


@pytest.mark.parametrize(
    ("op", "dtype", "x", "y"),
    [
        ("REDUCE_MAX", "int8", {"scale": 0.5}, {"scale": 0.25}),
        ("REDUCE_MIN", "int16", {"scale": 0.5, "zero_point": 1}, {"scale": 0.5, "zero_point": 1}),
        ("REDUCE_PROD", "uint8", {"scale": 0.5}, {"scale": 0.5}),
        ("REDUCE_ANY", "float32", {}, {}),
        ("MEAN", "bool", {}, {}),
        ("SUM", "float64", {}, {}),
    ],
)
def test_refusals(op, dtype, x, y):
    with pytest.raises(REFUSED):
        reduce(op, np.zeros((2, 2), dtype), [1], Tensor([2], dtype, **y), 1, **x)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("op", ["SUM", "REDUCE_MAX"])
def test_the_reference_folds_many_values_thread_by_thread(op, threads):
    x = np.random.default_rng(threads).standard_normal(7205).astype(np.float32)
    x[0] = np.nan if op == "REDUCE_MAX" else -0.0
    model = Model.single(op, [Tensor(x.shape, "float32"), constant([0], "int32")], [Tensor([], "float32")], 2)
    interpreter = Interpreter(
        model_content=model.to_bytes(), num_threads=threads, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    stretches, first = [], 0
    for thread in range(threads):
        end = first + (len(x) - first) // (threads - thread)
        stretches.append(x[first:end])
        first = end
    if op == "REDUCE_MAX":  # one thread begins with the first value, which stays; the others with the lowest number
        wanted = np.float32(np.nan) if threads == 1 else np.nanmax(x)
    else:
        wanted = np.float32(0)
        for stretch in stretches:
            wanted = wanted + np.cumsum(stretch, dtype=np.float32)[-1]
    assert found.tobytes() == np.float32(wanted).tobytes()
