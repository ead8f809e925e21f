"""Values that are known in prepare and written later, and weights that the first invoke packs."""

from itertools import pairwise

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from compat.cases.sparsity import compress_rows
from tflm_cy import Interpreter, OpResolverType

RNG = np.random.default_rng(11)
X = RNG.standard_normal((1, 6, 6, 3)).astype(np.float32)
HALVES = RNG.standard_normal((4, 3, 3, 3)).astype(np.float16)
BIAS = RNG.standard_normal(4).astype(np.float16)
OPTIONS = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
EVERY_MODE = pytest.mark.parametrize(
    "mode", ["AUTO", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN_REF"], ids=["auto", "optimized", "reference"]
)


def convolutions(halves, filters, more=False):
    """Two convolutions with the same weights, which are float16 or not; `more`: they are an output, too."""
    model = Model()
    main = model.subgraph("main")
    x, y, z = Tensor(list(X.shape), "float32"), Tensor([1, 6, 6, 4], "float32"), Tensor([1, 3, 3, 4], "float32")
    w, b = Tensor.constant(filters.astype(np.float32)), Tensor.constant(BIAS.astype(np.float32))
    if halves:
        w, b = Tensor(list(filters.shape), "float32"), Tensor([4], "float32")
        main.op("DEQUANTIZE", [Tensor.constant(filters)], [w], 3)
        main.op("DEQUANTIZE", [Tensor.constant(BIAS)], [b], 3)
    main.op("CONV_2D", [x, w, b], [y], **OPTIONS)
    main.op("CONV_2D", [x, w, b], [z], **{**OPTIONS, "stride_w": 2, "stride_h": 2})
    main.inputs = [x]
    main.outputs = [y, z, w] if more else [y, z]
    return model.to_bytes()


def outputs(blob, mode, runs=2, **options):
    interpreter = Interpreter(model_content=blob, experimental_op_resolver_type=OpResolverType[mode], **options)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
    for _ in range(runs):
        interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


@EVERY_MODE
@pytest.mark.parametrize("runs", [1, 3])
def test_float16_weights_are_as_their_floats(mode, runs):
    expected = outputs(convolutions(False, HALVES), mode, runs)
    for a, b in zip(outputs(convolutions(True, HALVES), mode, runs), expected, strict=True):
        assert a.tobytes() == b.tobytes()


@EVERY_MODE
@pytest.mark.parametrize("more", [False, True])
def test_weights_that_the_vector_kernel_refuses(mode, more):
    """The reference leaves out taps outside of the image, so that an infinite weight shows in some outputs only."""
    filters = HALVES.copy()
    filters[1, 0, 0, 0] = np.inf
    whole = outputs(convolutions(False, filters), mode)
    for a, b in zip(outputs(convolutions(True, filters, more), mode), whole, strict=False):
        assert a.tobytes() == b.tobytes()
    reached = ~(np.abs(whole[0]) < 1e30)  # infinite sums are clamped
    assert reached.any()
    assert not reached.all()


@pytest.mark.parametrize("mode", ["BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN_REF"])
@pytest.mark.parametrize("look", ["get_tensor", "tensor"])
def test_a_user_who_looks_before_the_first_invoke_sees_the_value(mode, look):
    blob = convolutions(True, HALVES, more=True)
    interpreter = Interpreter(model_content=blob, experimental_op_resolver_type=OpResolverType[mode])
    interpreter.allocate_tensors()
    index = interpreter.get_output_details()[2]["index"]
    value = interpreter.get_tensor(index) if look == "get_tensor" else interpreter.tensor(index)().copy()
    assert value.tobytes() == HALVES.astype(np.float32).tobytes()


def test_a_single_node_has_its_weights():
    blob = convolutions(True, HALVES)
    mode = OpResolverType.BUILTIN_REF
    options = {"experimental_op_resolver_type": mode, "experimental_preserve_all_tensors": True}
    interpreter = Interpreter(model_content=blob, **options)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
    interpreter._interpreter.run_node(2)
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert y.tobytes() == outputs(blob, "BUILTIN_REF")[0].tobytes()


def test_a_replaced_constant_is_what_is_packed():
    blob = convolutions(False, HALVES)
    other = RNG.standard_normal(HALVES.shape).astype(np.float32)
    mode = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    results = []
    for invoked_before in (False, True):
        interpreter = Interpreter(model_content=blob, experimental_op_resolver_type=mode)
        interpreter.allocate_tensors()
        if invoked_before:
            interpreter.invoke()
        [w] = [d["index"] for d in interpreter.get_tensor_details() if tuple(d["shape"]) == HALVES.shape]
        interpreter.set_tensor(w, other)
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
        interpreter.invoke()
        results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tobytes())
    assert results[0] == results[1] == outputs(convolutions(False, other), mode.name)[0].tobytes()


@pytest.mark.parametrize("asymmetric", [False, True])
def test_the_smallest_int8_weight_leaves_the_other_rows_as_they_are(asymmetric):
    """Weights of -128 are not for the vector kernel of hybrid products, which the first invoke finds out."""
    x = RNG.standard_normal((3, 40)).astype(np.float32)
    w = RNG.integers(-127, 128, (9, 40)).astype(np.int8)
    results = []
    for least in (-127, -128):
        w[8, 7] = least
        model = Model.single(
            "FULLY_CONNECTED",
            [Tensor(list(x.shape), "float32"), Tensor.constant(w, scale=0.02), Tensor.constant(np.float32(range(9)))],
            [Tensor([3, 9], "float32")],
            9,
            asymmetric_quantize_inputs=asymmetric,
        )
        interpreter = Interpreter(
            model_content=model.to_bytes(),
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        )
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, x)
        for _ in range(2):
            interpreter.invoke()
        results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    assert results[0][:, :8].tobytes() == results[1][:, :8].tobytes()
    assert (results[0][:, 8] != results[1][:, 8]).all()


LARGE = RNG.standard_normal((64, 3, 3, 32)).astype(np.float16)  # 72 KiB of float32
WITHOUT_DELEGATE = pytest.mark.parametrize("mode", ["BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN_REF"])


def large_layer(operator, sparse=False, halves=True):
    """One operator whose weights are written by DEQUANTIZE, of DENSIFY's halves (a matrix's) or of a constant's, or are a constant."""
    model = Model()
    main = model.subgraph("main")
    depthwise, matrix = operator == "DEPTHWISE_CONV_2D", operator == "FULLY_CONNECTED"
    values = LARGE.reshape(64, 288) if matrix else LARGE.reshape(1, 3, 3, 2048) if depthwise else LARGE
    channels = 2048 if depthwise else 64
    x = Tensor([4, 288] if matrix else [1, 5, 5, 2048 if depthwise else 32], "float32")
    y = Tensor([4, 64] if matrix else [1, 5, 5, channels], "float32")
    w = Tensor.constant(values.astype(np.float32))
    if halves:
        constant = Tensor.constant(values)
        if sparse:
            stored, rows = compress_rows(values.reshape(values.shape[0], -1))
            levels = [("dense", values.shape[0]), *[("dense", 1)] * (values.ndim - 2), rows[1]]
            order = Sparsity(list(range(values.ndim)), levels)
            flat = [values.shape[0], *[1] * (values.ndim - 2), values[0].size]
            constant = Tensor(flat, "float16")
            main.op("DENSIFY", [Tensor.constant(stored, shape=flat, sparsity=order)], [constant], 1)
        w = Tensor(list(values.shape), "float32")
        main.op("DEQUANTIZE", [constant], [w], 3)
    options = {} if matrix else {**OPTIONS, "depth_multiplier": 1} if depthwise else OPTIONS
    main.op(operator, [x, w, Tensor.constant(np.zeros(channels, np.float32))], [y], 1, **options)
    main.inputs, main.outputs = [x], [y]
    return model.to_bytes()


class Layer:
    def __init__(self, blob, mode, **options):
        self.interpreter = Interpreter(
            model_content=blob, experimental_op_resolver_type=OpResolverType[mode], **options
        )
        self.interpreter.allocate_tensors()
        self.x = self.interpreter.get_input_details()[0]
        self.y = self.interpreter.get_output_details()[0]["index"]

    def run(self, x):
        self.interpreter.set_tensor(self.x["index"], x)
        self.interpreter.invoke()
        return self.interpreter.get_tensor(self.y)

    def weights(self):
        """The float32 weights that a node writes."""
        return next(
            detail["index"]
            for detail in self.interpreter.get_tensor_details()
            if np.prod(detail["shape"]) == LARGE.size and detail["dtype"] == np.float32
        )


@WITHOUT_DELEGATE
@pytest.mark.parametrize(
    ("operator", "sparse"),
    [("CONV_2D", False), ("DEPTHWISE_CONV_2D", False), ("FULLY_CONNECTED", False), ("FULLY_CONNECTED", True)],
)
def test_weights_that_were_given_back_are_there_for_who_needs_them(operator, sparse, mode):
    """NaN sends a kernel back to the weights that it has packed; a user may ask for them at any time."""
    layer, whole = (Layer(large_layer(operator, sparse, halves), mode) for halves in (True, False))
    shape = layer.x["shape"]
    plain = RNG.standard_normal(shape).astype(np.float32)
    broken = plain.copy()
    broken[0, 0] = np.float32("nan")
    for x in (plain, plain, broken, plain, broken):
        assert layer.run(x).tobytes() == whole.run(x).tobytes()
    fresh = Layer(large_layer(operator, sparse), mode)
    fresh.run(plain)
    value = fresh.interpreter.get_tensor(fresh.weights())
    assert value.ravel().tobytes() == LARGE.astype(np.float32).tobytes()
    assert fresh.run(broken).tobytes() == whole.run(broken).tobytes()


@WITHOUT_DELEGATE
def test_who_has_looked_at_weights_sees_them_again(mode):
    layer = Layer(large_layer("CONV_2D"), mode)
    view = layer.interpreter.tensor(layer.weights())
    for _ in range(3):
        assert view().tobytes() == LARGE.astype(np.float32).tobytes()
        layer.interpreter.invoke()


@WITHOUT_DELEGATE
def test_weights_that_another_node_reads_stay(mode):
    model = Model()
    main = model.subgraph("main")
    x, y, z = Tensor([1, 5, 5, 32], "float32"), Tensor([1, 5, 5, 64], "float32"), Tensor([64, 3, 3, 32], "float32")
    w, half = Tensor(list(LARGE.shape), "float32"), Tensor([1], "float32")
    main.op("DEQUANTIZE", [Tensor.constant(LARGE)], [w], 3)
    main.op("CONV_2D", [x, w, Tensor.constant(np.zeros(64, np.float32))], [y], **OPTIONS)
    main.op("MUL", [w, half], [z])
    main.inputs, main.outputs = [x, half], [y, z]
    layer = Layer(model.to_bytes(), mode)
    for factor in (2, 3, 4):
        layer.interpreter.set_tensor(layer.interpreter.get_input_details()[1]["index"], np.float32([factor]))
        layer.interpreter.invoke()
        z = layer.interpreter.get_tensor(layer.interpreter.get_output_details()[1]["index"])
        assert z.tobytes() == (LARGE.astype(np.float32) * factor).tobytes()


@WITHOUT_DELEGATE
def test_another_size_packs_them_again(mode):
    layer, whole = (Layer(large_layer("CONV_2D", halves=halves), mode) for halves in (True, False))
    for size in (5, 9, 3):
        x = RNG.standard_normal((1, size, size, 32)).astype(np.float32)
        for one in (layer, whole):
            one.interpreter.resize_tensor_input(one.x["index"], x.shape)
            one.interpreter.allocate_tensors()
        assert layer.run(x).tobytes() == whole.run(x).tobytes()


@pytest.mark.parametrize("mode", ["BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN_REF"])
def test_values_that_share_pages_are_given_back_together(mode):
    """Weights of 1 to 12 KiB side by side, every fifth also an output: each is there for who looks, and so is the result."""
    widths = [8, 33, 48, 64, 40, 16, 24, 56, 12, 24, 44, 64, 32, 20, 8, 60, 17, 24]
    values = [RNG.standard_normal((o, 1, 1, i)).astype(np.float16) for i, o in pairwise(widths)]
    results = []
    for halves in (True, False):
        model = Model()
        main = model.subgraph("main")
        x = y = Tensor([1, 4, 4, widths[0]], "float32")
        main.inputs = [x]
        seen = []
        for k, value in enumerate(values):
            w = Tensor.constant(value.astype(np.float32))
            if halves:
                w = Tensor(list(value.shape), "float32")
                main.op("DEQUANTIZE", [Tensor.constant(value)], [w], 3)
            if k % 5 == 0:
                seen.append(w)
            before, y = y, Tensor([1, 4, 4, value.shape[0]], "float32")
            main.op("CONV_2D", [before, w, Tensor.constant(np.zeros(value.shape[0], np.float32))], [y], **OPTIONS)
        main.outputs = [y, *seen]
        layer = Layer(model.to_bytes(), mode)
        feed = np.random.default_rng(5).standard_normal(x.shape).astype(np.float32)
        results += [layer.run(feed).tobytes(), layer.run(feed).tobytes()]
        found = {
            tuple(d["shape"]): d["index"] for d in layer.interpreter.get_tensor_details() if d["dtype"] == np.float32
        }
        for k in RNG.permutation(len(values)):
            if tuple(values[k].shape) in found:
                got = layer.interpreter.get_tensor(found[tuple(values[k].shape)])
                assert got.tobytes() == values[k].astype(np.float32).tobytes()
        results.append(layer.run(feed).tobytes())
    assert len(set(results)) == 1
