"""Models whose unknown dimensions the file holds as 1: allocated as they are, resized, allocated, run. What does not fit is refused where
it runs, not before, in a branch that is not taken never."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests import harness
from tests.machine import delegated
from tflm_cy import Interpreter, OpResolverType

REFERENCE, PLAIN, AUTO = (
    OpResolverType.BUILTIN_REF,
    OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    OpResolverType.AUTO,
)
ALL = pytest.mark.parametrize("resolver", [REFERENCE, PLAIN, AUTO], ids=["reference", "plain", "auto"])


def integers(*values):
    return Tensor.constant(np.array(values, np.int32))


def ramp(*shape, dtype=np.float32):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def opened(model, resolver):
    """Allocated at the placeholders."""
    found = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=resolver)
    found.allocate_tensors()
    return found


def run(found, *arrays):
    """Resized to the arrays' shapes, allocated, run; the outputs."""
    for details, array in zip(found.get_input_details(), arrays, strict=True):
        found.resize_tensor_input(details["index"], array.shape)
    found.allocate_tensors()
    return harness.run(found, *arrays)


def mirror_pad():
    x, y = Tensor([1, 1], "float32"), Tensor([1, 5], "float32")
    return Model.single("MIRROR_PAD", [x, Tensor.constant(np.array([[0, 0], [2, 2]], np.int32))], [y], mode="REFLECT")


def slice_beyond():
    x, y = Tensor([1, 1], "int32"), Tensor([1, 2], "int32")
    return Model.single("SLICE", [x, integers(0, 2), integers(-1, 2)], [y])


def fifth_column():
    x, y = Tensor([1, 1], "float32"), Tensor([1], "float32")
    indices = [integers(0, 5), integers(0, 6), integers(1, 1)]
    return Model.single("STRIDED_SLICE", [x, *indices], [y], begin_mask=1, end_mask=1, shrink_axis_mask=2)


# model, what it is run on, what comes out
LATER = {
    "MIRROR_PAD": (mirror_pad, ramp(2, 4), [[2, 1, 0, 1, 2, 3, 2, 1], [6, 5, 4, 5, 6, 7, 6, 5]]),
    "SLICE": (slice_beyond, ramp(2, 4, dtype=np.int32), [[2, 3], [6, 7]]),
    "x[:, 5]": (fifth_column, ramp(2, 7), [5, 12]),
}


@ALL
@pytest.mark.parametrize("name", LATER)
def test_what_does_not_fit_the_placeholder_runs_when_it_is_resized(name, resolver):
    model, x, expected = LATER[name]
    found = opened(model(), resolver)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="failed to invoke"):
            found.invoke()
        [y] = run(found, x)
        assert y.tolist() == expected
        found.resize_tensor_input(0, [1, 1])
        found.allocate_tensors()


@ALL
@pytest.mark.parametrize("name", LATER)
def test_the_same_in_a_branch_that_is_not_taken(name, resolver):
    """The other branch gives the first column; taken, the node is refused."""
    model, x, expected = LATER[name]
    single = model().subgraphs[0]
    model = Model()
    main, ours = model.subgraph("main"), model.subgraph("ours")
    other = model.subgraph("other")
    choice, value = Tensor([], "bool"), Tensor([1, 1], single.tensors[0].dtype)
    result = Tensor([1], value.dtype)
    main.op("IF", [choice, value], [result], then_subgraph_index=2, else_subgraph_index=1)
    main.inputs, main.outputs = [choice, value], [result]
    node = single.operators[0]
    ours.tensors, ours.operators = single.tensors, [node]
    ours.inputs, ours.outputs = [node["inputs"][0]], node["outputs"]
    a, b = Tensor([1, 1], value.dtype), Tensor([1, 1], value.dtype)
    other.op("RELU" if value.dtype == "float32" else "ABS", [a], [b])
    other.inputs, other.outputs = [a], [b]
    found = opened(model, resolver)
    one = np.ones([1, 1], x.dtype)
    assert run(found, np.array(True), one)[0].tolist() == [[1]]
    with pytest.raises(RuntimeError, match="failed to invoke"):
        run(found, np.array(False), one)
    assert run(found, np.array(True), x)[0].tolist() == x.tolist()
    assert run(found, np.array(False), x)[0].tolist() == expected


def pool_and_convolution():
    x, pooled, y = Tensor([1, 1, 1, 1], "float32"), Tensor([1, 1, 1, 1], "float32"), Tensor([1, 1, 1, 1], "float32")
    model = Model()
    main = model.subgraph("main")
    main.op("MAX_POOL_2D", [x], [pooled], padding="VALID", stride_w=2, stride_h=2, filter_width=2, filter_height=2)
    weights = [Tensor.constant(np.full([1, 1, 1, 1], 3, np.float32)), Tensor.constant(np.ones(1, np.float32))]
    main.op("CONV_2D", [pooled, *weights], [y], padding="SAME", stride_w=1, stride_h=1)
    return model


@ALL
def test_a_pool_of_no_windows_before_a_convolution(resolver):
    found = opened(pool_and_convolution(), resolver)
    if resolver is not AUTO:  # whose pools have one window at least
        assert found.get_output_details()[0]["shape"].tolist() == [1, 0, 0, 1]
        found.invoke()
        assert found.get_tensor(found.get_output_details()[0]["index"]).shape == (1, 0, 0, 1)
    [y] = run(found, ramp(1, 4, 4, 1))
    assert y.ravel().tolist() == [16, 22, 40, 46]


def valid(op, dtype):
    """A filter of two rows of ones, without padding."""
    x, y = Tensor([1, 1, 1, 1], dtype, scale=1 if dtype == "int8" else None, zero_point=0), Tensor([1, 1, 1, 1], dtype)
    y.scale, y.zero_point = x.scale, 0
    if dtype == "float32":
        weights = [Tensor.constant(np.ones([1, 2, 1, 1], np.float32)), Tensor.constant(np.zeros(1, np.float32))]
    else:
        weights = [
            Tensor.constant(np.ones([1, 2, 1, 1], np.int8), scale=1, zero_point=0),
            Tensor.constant(np.zeros(1, np.int32), scale=1, zero_point=0),
        ]
    more = {"depth_multiplier": 1} if op == "DEPTHWISE_CONV_2D" else {}
    return Model.single(op, [x, *weights], [y], padding="VALID", stride_w=1, stride_h=1, **more)


@delegated
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_a_filter_larger_than_the_placeholder(op, dtype):
    """The delegate has a window at least; the others have 0 of them with a stride of 2, less than 0 with one of 1, which is too few."""
    found = opened(valid(op, dtype), AUTO)
    with pytest.raises(RuntimeError, match="a 2x1 filter with dilations 1, 1 does not fit the 1x1 image"):
        found.invoke()
    image = ramp(1, 4, 1, 1, dtype=dtype)
    assert run(found, image)[0].ravel().tolist() == [1, 3, 5]
    found = opened(valid(op, dtype), PLAIN)  # (1 - 2 + 1) / 1
    assert found.get_output_details()[0]["shape"].tolist() == [1, 0, 1, 1]
    found.invoke()
    assert run(found, image)[0].ravel().tolist() == [1, 3, 5]


def square(filter_size, dtype):
    """A filter of ones over four channels, two outputs."""
    scale = None if dtype == "float32" else 1
    x, y = (Tensor([1, 3, 3, n], dtype, scale=scale, zero_point=0) for n in (4, 2))
    w = Tensor.constant(np.ones([2, filter_size, filter_size, 4], dtype), scale=scale, zero_point=0)
    b = Tensor.constant(np.zeros(2, dtype if dtype == "float32" else "int32"), scale=scale, zero_point=0)
    return Model.single("CONV_2D", [x, w, b], [y], padding="SAME", stride_w=1, stride_h=1)


@delegated
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_images_without_pixels_in_the_delegate(dtype):
    """A 1x1 convolution is a matrix product, which takes none; the others want a row and a column. Nobody looks at the channels."""
    found = opened(square(1, dtype), AUTO)
    for shape in ([1, 0, 0, 4], [1, 0, 3, 4], [2, 3, 0, 4], [1, 0, 0, 0]):
        assert run(found, np.zeros(shape, dtype))[0].shape == (*shape[:3], 2)
    assert run(found, ramp(1, 1, 2, 4, dtype=dtype))[0].ravel().tolist() == [6, 6, 22, 22]
    found = opened(square(3, dtype), AUTO)
    for shape in ([1, 0, 0, 4], [1, 0, 3, 4], [2, 3, 0, 4]):
        found.resize_tensor_input(0, shape)
        with pytest.raises(RuntimeError, match=r"empty image .*failed to prepare"):
            found.allocate_tensors()
    found.resize_tensor_input(0, [1, 3, 3, 0])
    found.allocate_tensors()
    assert found.get_output_details()[0]["shape"].tolist() == [1, 3, 3, 2]
    with pytest.raises(RuntimeError, match=r"CONV_2D: 0 .*failed to invoke"):
        found.invoke()


@pytest.mark.parametrize("resolver", [REFERENCE, PLAIN])
def test_bytes_below_0_are_counted(resolver):
    """One column of one channel of bytes with -1 rows has 2**64 - 1 bytes, which is a number; four times as many is none."""
    for dtype, channels, fits in (("uint8", 1, True), ("uint8", 2, False), ("float32", 1, False)):
        x, y = (Tensor([1, n, 1, channels], dtype, scale=None if dtype == "float32" else 1) for n in (4, 2))
        options = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": 3, "filter_width": 1}
        found = opened(Model.single("MAX_POOL_2D", [x], [y], 2, **options), resolver)
        found.resize_tensor_input(0, [1, 1, 1, channels])
        if fits:
            found.allocate_tensors()
        else:
            with pytest.raises(RuntimeError, match="does not fit an image of 1x1"):
                found.allocate_tensors()
        assert run(found, ramp(1, 4, 1, channels, dtype=dtype))[0].shape == (1, 2, 1, channels)


@pytest.mark.parametrize("resolver", [REFERENCE, PLAIN])
@pytest.mark.parametrize("op", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_fewer_than_no_windows_are_refused_and_then_resized(op, resolver):
    x, y = Tensor([1, 1, 1, 1], "float32"), Tensor([1, 1, 1, 1], "float32")
    options = {"stride_w": 1, "stride_h": 1, "filter_width": 1, "filter_height": 3}
    model = Model.single(op, [x], [y], padding="VALID", **options)
    found = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=resolver)
    with pytest.raises(RuntimeError, match="a window of 3x1 with strides 1, 1 does not fit an image of 1x1"):
        found.allocate_tensors()
    [out] = run(found, ramp(1, 4, 1, 1))
    assert out.ravel().tolist() == ([2, 3] if op == "MAX_POOL_2D" else [1, 2])


@pytest.mark.parametrize("resolver", [REFERENCE, PLAIN])
def test_another_batch_than_the_constant_output_shape(resolver):
    x, y = Tensor([1, 1, 1, 1], "float32"), Tensor([1, 2, 1, 1], "float32")
    w = Tensor.constant(np.ones([1, 2, 1, 1], np.float32))
    model = Model.single("TRANSPOSE_CONV", [integers(1, 2, 1, 1), w, x], [y], padding="VALID", stride_w=1, stride_h=1)
    found = opened(model, resolver)
    with pytest.raises(RuntimeError, match=r"output shape \[1, 2, 1, 1\] does not fit 3 images.*failed to invoke"):
        run(found, ramp(3, 1, 1, 1))
    assert run(found, np.full([1, 1, 1, 1], 5, np.float32))[0].ravel().tolist() == [5, 5]


def topk(signature):
    x = Tensor([1, 1], "float32", shape_signature=signature)
    y, at = Tensor([1, 2], "float32"), Tensor([1, 2], "int32")
    model = Model()
    main = model.subgraph("main")
    main.op("TOPK_V2", [x, integers(2)], [y, at])
    narrow = Tensor([1, 1], "float32")
    main.op("SPLIT", [Tensor.constant(np.array(1, np.int32)), y], [Tensor([1, 1], "float32"), narrow], num_splits=2)
    return model


@pytest.mark.parametrize("resolver", [REFERENCE, PLAIN])
def test_more_values_than_the_placeholder_has(resolver):
    """Only the file's signature tells that the row is longer; without it TensorFlow refuses at once."""
    found = opened(topk([-1, -1]), resolver)
    with pytest.raises(RuntimeError, match=r"TopK k is higher.*failed to invoke"):
        found.invoke()
    outputs = run(found, np.array([[3, 9, 5]], np.float32))
    assert sorted(y.ravel().tolist() for y in outputs) == [[1, 2], [5], [9]]
    fixed = Interpreter(model_content=topk(None).to_bytes(), experimental_op_resolver_type=resolver)
    with pytest.raises(RuntimeError, match=r"TopK k is higher.*failed to prepare"):
        fixed.allocate_tensors()
    assert sorted(y.ravel().tolist() for y in run(fixed, np.array([[3, 9, 5]], np.float32))) == [[1, 2], [5], [9]]


@pytest.mark.parametrize("resolver", [REFERENCE, PLAIN])
def test_nodes_behind_an_open_shape_are_refused_when_they_are_reached(resolver):
    """A SLICE whose shape is open fits the placeholder, the uneven SPLIT behind it does not."""
    x = Tensor([1, 1], "int32", shape_signature=[-1, -1])
    part = Tensor([1, 1], "int32", shape_signature=[-1, -1])
    halves = [Tensor([1, 1], "int32") for _ in range(2)]
    model = Model()
    main = model.subgraph("main")
    main.op("SLICE", [x, integers(0, 0), integers(-1, -1)], [part])
    main.op("SPLIT", [Tensor.constant(np.array(1, np.int32)), part], halves, num_splits=2)
    found = opened(model, resolver)
    with pytest.raises(RuntimeError, match=r"Not an even split.*SPLIT.*failed to prepare"):
        found.invoke()
    for _ in range(2):
        left, right = run(found, ramp(2, 4, dtype=np.int32))
        assert (left.tolist(), right.tolist()) == ([[0, 1], [4, 5]], [[2, 3], [6, 7]])
        found.set_tensor(0, ramp(2, 4, dtype=np.int32) + 1)
        found.invoke()
        assert found.get_tensor(found.get_output_details()[0]["index"]).tolist() == [[1, 2], [5, 6]]


def uneven_split():
    parts = [Tensor([1, 1], "float32") for _ in range(2)]
    return Model.single(
        "SPLIT", [Tensor.constant(np.array(1, np.int32)), Tensor([1, 1], "float32")], parts, num_splits=2
    )


@delegated
def test_an_uneven_split_is_the_delegates_business_when_it_runs():
    found = opened(uneven_split(), AUTO)
    with pytest.raises(RuntimeError, match=r"Not an even split.*failed to invoke"):
        found.invoke()
    assert [y.tolist() for y in run(found, ramp(1, 4))] == [[[0, 1]], [[2, 3]]]
    with pytest.raises(RuntimeError, match=r"Not an even split.*failed to prepare"):
        opened(uneven_split(), PLAIN)


@pytest.mark.parametrize("op", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_a_batch_of_none_of_quantized_weights_is_refused_when_it_runs(op):
    x, y = Tensor([1, 1, 1, 1], "float32"), Tensor([1, 1, 1, 1], "float32")
    w = Tensor.constant(np.full([1, 1, 1, 1], 100, np.int8), scale=0.01, zero_point=0)
    more = {"depth_multiplier": 1} if op == "DEPTHWISE_CONV_2D" else {}
    model = Model.single(
        op, [x, w, Tensor.constant(np.zeros(1, np.float32))], [y], padding="SAME", stride_w=1, stride_h=1, **more
    )
    found = opened(model, PLAIN)
    found.resize_tensor_input(0, [0, 1, 1, 1])
    found.allocate_tensors()
    with pytest.raises(RuntimeError, match=r"batch_size != 0 was not true.*failed to invoke"):
        found.invoke()
    assert run(found, np.full([1, 1, 1, 1], 2, np.float32))[0].ravel().tolist() == pytest.approx([2], rel=0.02)


def test_reshape_tells_both_counts():
    x, y = Tensor([1, 6], "float32"), Tensor([2, 3], "float32")
    found = opened(Model.single("RESHAPE", [x, integers(2, 3)], [y], new_shape=[2, 3]), PLAIN)
    found.resize_tensor_input(0, [3, 6])
    with pytest.raises(RuntimeError, match=r"num_output_elements \(18 != 6\): \[3, 6\] cannot become \[2, 3\]"):
        found.allocate_tensors()
    found.resize_tensor_input(0, [6])
    found.allocate_tensors()
    assert found.get_output_details()[0]["shape"].tolist() == [2, 3]
