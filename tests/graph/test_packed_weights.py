"""Weights that were packed for one shape and serve another: each run gives what a new interpreter gives."""

import ctypes

import numpy as np
import pytest
from tflm_cy.graph.packed_weights import check_packings

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

MODES = ["AUTO", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN_REF"]
SHAPES = [(1, 9, 11), (2, 9, 11), (1, 9, 11), (5, 9, 11), (1, 12, 8), (1, 3, 3), (7, 9, 11), (1, 9, 11)]
WINDOW = {"padding": "SAME", "stride_w": 1, "stride_h": 1}


def weights(rng, shape, kind, axis):
    """Of a kind: float32, float16 (through DEQUANTIZE), hybrid or int8."""
    values = rng.standard_normal(shape).astype(np.float32)
    if kind == "float32":
        return Tensor.constant(values)
    if kind == "float16":
        return Tensor.constant(values.astype(np.float16))
    channels = shape[axis]
    return Tensor.constant(
        rng.integers(-127, 128, shape).astype(np.int8), scale=[0.01] * channels, zero_point=[0] * channels, axis=axis
    )


def network(kind, seed=3):
    """A convolution, a depthwise one, a product of matrices."""
    rng = np.random.default_rng(seed)
    model = Model()
    main = model.subgraph("main")

    def value(channels, shape=(1, 9, 11)):
        if kind == "int8":
            return Tensor([*shape, channels], "int8", scale=[0.1], zero_point=[3])
        return Tensor([*shape, channels], "float32")

    def weighted(name, x, y, shape, axis, outputs, **options):
        w = weights(rng, shape, kind, axis)
        if kind == "float16":
            halves, w = w, Tensor(list(shape), "float32")
            main.op("DEQUANTIZE", [halves], [w])
        if kind == "int8":
            sums = {"scale": [0.1 * 0.01] * outputs, "zero_point": [0] * outputs}
            b = Tensor.constant(rng.integers(-500, 500, outputs).astype(np.int32), **sums)
        else:
            b = Tensor.constant(rng.standard_normal(outputs).astype(np.float32))
        main.op(name, [x, w, b], [y], **options)
        return y

    x = value(5)
    y = weighted("CONV_2D", x, value(20), (20, 3, 3, 5), 0, 20, **WINDOW)
    y = weighted("DEPTHWISE_CONV_2D", y, value(20), (1, 3, 3, 20), 3, 20, depth_multiplier=1, **WINDOW)
    y = weighted("CONV_2D", y, value(33), (33, 1, 1, 20), 0, 33, **WINDOW)
    y = weighted("FULLY_CONNECTED", y, value(17), (17, 33), 0, 17, keep_num_dims=True)
    main.inputs, main.outputs = [x], [y]
    return model.to_bytes()


def run(interpreter, shape, seed):
    detail = interpreter.get_input_details()[0]
    interpreter.resize_tensor_input(detail["index"], [*shape, 5])
    interpreter.allocate_tensors()
    values = np.random.default_rng(seed).standard_normal((*shape, 5)) * (30 if detail["dtype"] == np.int8 else 1)
    interpreter.set_tensor(detail["index"], values.astype(detail["dtype"]))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tobytes()


def new(blob, mode, threads=1):
    interpreter = Interpreter(
        model_content=blob, experimental_op_resolver_type=OpResolverType[mode], num_threads=threads
    )
    interpreter.allocate_tensors()
    return interpreter


@pytest.fixture(params=[False, True], ids=["found", "packed_again"])
def checks(request):
    former = check_packings(request.param)
    yield request.param
    check_packings(former)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["float32", "float16", "hybrid", "int8"])
def test_every_shape_gives_what_a_new_interpreter_gives(kind, mode, threads, checks):
    blob = network(kind)
    kept = new(blob, mode, threads)
    for seed, shape in enumerate(SHAPES):
        assert run(kept, shape, seed) == run(new(blob, mode, threads), shape, seed), shape


@pytest.mark.parametrize("mode", MODES)
def test_memory_does_not_grow_with_shapes(mode):
    kept = new(network("float32"), mode)
    sizes = []
    for turn in range(6):
        for shape in SHAPES:
            run(kept, shape, 1)
        sizes.append(kept._interpreter.arena_used_bytes())
        assert turn < 2 or sizes[-1] <= max(sizes[:2])


@pytest.mark.parametrize("first", ["set", "resize"])
def test_a_constant_that_is_set_is_packed_anew(first):
    """Also where it is set between a resize and the allocation."""
    blob = network("float32")
    kept = new(blob, "AUTO")
    before = run(kept, (2, 9, 11), 1)
    index = next(d["index"] for d in kept.get_tensor_details() if list(d["shape"]) == [17, 33])
    if first == "resize":
        kept.resize_tensor_input(kept.get_input_details()[0]["index"], [1, 9, 11, 5])
    kept.set_tensor(index, np.ones((17, 33), np.float32))
    after = run(kept, (2, 9, 11), 1)
    assert after != before
    other = new(blob, "AUTO")
    other.set_tensor(index, np.ones((17, 33), np.float32))
    assert after == run(other, (2, 9, 11), 1)


def test_a_wrong_layout_is_noticed():
    """`check_packings` compares bytes: weights that change behind its back are such a difference."""
    former = check_packings(True)
    try:
        blob = network("float32")
        kept = new(blob, "AUTO")
        place = blob.find(np.random.default_rng(3).standard_normal((20, 3, 3, 5)).astype(np.float32).tobytes())
        assert place > 0
        run(kept, (2, 9, 11), 1)
        ctypes.memset(np.frombuffer(blob, np.uint8)[place:].ctypes.data, blob[place] ^ 1, 1)
        run(kept, (3, 9, 11), 1)
        with pytest.raises(RuntimeError, match="taken for others"):
            run(kept, (4, 9, 11), 1)
    finally:
        check_packings(former)
