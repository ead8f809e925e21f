"""Outputs that lie over inputs: the same bytes in less memory, and only where nobody looks."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests import harness
from tests.machine import delegated
from tflm_cy import Interpreter, OpResolverType

pytestmark = delegated
RNG = np.random.default_rng(8)
SHAPE = [1, 9, 11, 7]
X = RNG.standard_normal(SHAPE).astype(np.float32)


def chain():
    """ADD -> LOGISTIC -> RESHAPE -> PRELU -> MUL by an input of the graph -> MUL with a value that is read again."""
    model = Model()
    main = model.subgraph("main")
    flat = [99, 7]
    x, a, b = (Tensor(SHAPE, "float32") for _ in range(3))
    c, d, e, y = (Tensor(flat, "float32") for _ in range(4))
    slope = Tensor.constant(RNG.standard_normal(7).astype(np.float32))
    main.op("ADD", [x, Tensor.constant(np.float32([0.5]))], [a])
    main.op("LOGISTIC", [a], [b])
    main.op("RESHAPE", [b, Tensor.constant(np.int32(flat))], [c], new_shape=flat)
    main.op("PRELU", [c, slope], [d])
    main.op("MUL", [d, slope], [e])
    main.op("SUB", [d, e], [y])
    main.inputs, main.outputs = [x], [y]
    return model.to_bytes()


BLOB = chain()


def run(blob, **options):
    interpreter = harness.allocated(blob, **options)
    return interpreter, harness.run(interpreter, X, invokes=2)[0]


@pytest.mark.parametrize("threads", [1, 4])
def test_bytes_are_the_same(threads):
    _, merged = run(BLOB, num_threads=threads)
    _, apart = run(BLOB, num_threads=threads, fuse=False)
    _, kept = run(BLOB, num_threads=threads, experimental_preserve_all_tensors=True)
    assert merged.tobytes() == apart.tobytes() == kept.tobytes()


def test_an_input_of_the_graph_is_kept():
    interpreter, _ = run(BLOB)
    assert interpreter.get_tensor(interpreter.get_input_details()[0]["index"]).tobytes() == X.tobytes()


@pytest.mark.parametrize("resolver", [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
def test_intermediates_can_be_read_where_tensorflow_shows_them(resolver):
    values = []
    for fuse in (True, False):
        interpreter, _ = run(BLOB, experimental_op_resolver_type=resolver, fuse=fuse)
        values.append([])
        for detail in interpreter.get_tensor_details():
            try:
                values[-1].append(interpreter.get_tensor(detail["index"]).tobytes())
            except ValueError:
                values[-1].append(None)
    assert values[0] == values[1]


def test_a_value_that_is_read_again_is_kept():
    """x * 2 is read by LOGISTIC and afterwards by ADD: neither may write over it too early."""
    model = Model()
    main = model.subgraph("main")
    x, a, b, y = (Tensor(SHAPE, "float32") for _ in range(4))
    main.op("MUL", [x, Tensor.constant(np.float32([2]))], [a])
    main.op("LOGISTIC", [a], [b])
    main.op("SUB", [a, b], [y])
    main.inputs, main.outputs = [x], [y]
    _, got = run(model.to_bytes())
    _, want = run(model.to_bytes(), fuse=False)
    assert got.tobytes() == want.tobytes()


def test_a_constant_fuse_argument_survives_pickling():
    import pickle

    interpreter = Interpreter(model_content=BLOB, fuse=False)
    assert pickle.loads(pickle.dumps(interpreter))._arguments["fuse"] is False


def addresses(interpreter, *indices):
    return [interpreter.tensor(index)().ctypes.data for index in indices]


def test_what_has_the_bytes_of_an_input_lies_there():
    """RESHAPE, EXPAND_DIMS, SQUEEZE and a TRANSPOSE that moves dimensions of one step, one behind the other; the input is kept."""
    model = Model()
    main = model.subgraph("main")
    x, a, b = Tensor(SHAPE, "float32"), Tensor([99, 7], "float32"), Tensor([99, 1, 7], "float32")
    c, d, y = Tensor([99, 7, 1], "float32"), Tensor([99, 7], "float32"), Tensor([99, 7], "float32")
    main.op("RESHAPE", [x, Tensor.constant(np.int32([99, 7]))], [a], new_shape=[99, 7])
    main.op("EXPAND_DIMS", [a, Tensor.constant(np.int32(1))], [b])
    main.op("TRANSPOSE", [b, Tensor.constant(np.int32([0, 2, 1]))], [c])
    main.op("SQUEEZE", [c], [d], squeeze_dims=[2])
    main.op("ADD", [d, Tensor.constant(np.float32([1]))], [y])
    main.inputs, main.outputs = [x], [y]
    for resolver in (OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.BUILTIN_REF):
        interpreter, got = run(model.to_bytes(), experimental_op_resolver_type=resolver)
        moved = [t["index"] for t in interpreter.get_tensor_details() if t["shape"].prod() == X.size]
        assert len(set(addresses(interpreter, *moved))) == 2  # the input's and the output's
        np.testing.assert_array_equal(got, X.reshape(99, 7) + 1)
    _, got = run(model.to_bytes())
    np.testing.assert_array_equal(got, X.reshape(99, 7) + 1)


def turning(shape, middle, last=(0, 1, 3, 2), reader=None):
    """ADD -> TRANSPOSE -> RESHAPE -> EXPAND_DIMS -> TRANSPOSE -> MUL; `reader`: who else sees what the first TRANSPOSE makes."""
    model = Model()
    main = model.subgraph("main")
    turned, back = [shape[0], shape[2], shape[1]], np.empty([1, *middle]).transpose(last).shape
    x, a, b, again, c, d, e, y = (
        Tensor(dims, "float32") for dims in (shape, shape, turned, turned, middle, [1, *middle], back, back)
    )
    main.op("ADD", [x, Tensor.constant(np.float32([0.5]))], [a])
    main.op("TRANSPOSE", [a, Tensor.constant(np.int32([0, 2, 1]))], [b])
    main.op("RESHAPE", [b, Tensor.constant(np.int32(middle))], [c], new_shape=middle)
    main.op("EXPAND_DIMS", [c, Tensor.constant(np.int32(0))], [d])
    main.op("TRANSPOSE", [d, Tensor.constant(np.int32(last))], [e])
    main.op("MUL", [e, e], [y])
    main.inputs, main.outputs = [x], [y]
    if reader == "output":
        main.outputs.append(b)
    elif reader == "node":
        main.op("ADD", [b, b], [again])
        main.outputs.append(again)
    return model.to_bytes()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("case", "moves"),
    [
        ({"shape": [1, 5, 21], "middle": [1, 21, 5]}, False),
        ({"shape": [1, 16, 16], "middle": [1, 16, 16]}, False),
        ({"shape": [1, 6, 8], "middle": [2, 4, 6], "last": (0, 3, 1, 2)}, False),
        ({"shape": [1, 5, 21], "middle": [1, 5, 21]}, True),
        ({"shape": [2, 5, 21], "middle": [2, 21, 5]}, True),
        ({"shape": [1, 5, 21], "middle": [1, 21, 5], "last": (0, 1, 2, 3)}, True),
        ({"shape": [1, 5, 21], "middle": [1, 21, 5], "reader": "output"}, True),
        ({"shape": [1, 5, 21], "middle": [1, 21, 5], "reader": "node"}, True),
    ],
)
def test_transposes_that_undo_each_other_are_cancelled(case, moves, threads):
    blob = turning(**case)
    values, expanded = [], []
    for options in ({}, {"fuse": False}, {"experimental_preserve_all_tensors": True}):
        interpreter = Interpreter(model_content=blob, num_threads=threads, **options)
        interpreter.allocate_tensors()
        [given] = interpreter.get_input_details()
        interpreter.set_tensor(
            given["index"], np.random.default_rng(3).standard_normal(case["shape"]).astype(np.float32)
        )
        for _ in range(2):
            interpreter.invoke()
        values.append([interpreter.get_tensor(d["index"]).tobytes() for d in interpreter.get_output_details()])
        assert len({row["effect"] for row in interpreter.explain() if row["pass"] == "cancel_transposes"}) == (
            not options and not moves
        )
        for details in interpreter._get_ops_details() if not moves else ():
            if details["op_name"] == "EXPAND_DIMS":
                expanded.append(interpreter.get_tensor(details["outputs"][0]).tobytes())
    assert values[0] == values[1] == values[2]
    assert len(set(expanded)) == (0 if moves else 1)


def test_large_tensors_do_not_collide():
    """What a filter reads and what it writes lie apart by more than whole pages, whose low bits of addresses are the same."""
    model = Model()
    main = model.subgraph("main")
    x, y = Tensor([1, 32, 32, 64], "float32"), Tensor([1, 32, 32, 64], "float32")
    w, b = RNG.standard_normal([1, 3, 3, 64]).astype(np.float32), np.zeros(64, np.float32)
    window = {
        "padding": "SAME",
        "stride_h": 1,
        "stride_w": 1,
        "dilation_h_factor": 1,
        "dilation_w_factor": 1,
        "depth_multiplier": 1,
    }
    main.op("DEPTHWISE_CONV_2D", [x, Tensor.constant(w), Tensor.constant(b)], [y], **window)
    main.inputs, main.outputs = [x], [y]
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    details = interpreter.get_input_details() + interpreter.get_output_details()
    start, end = addresses(interpreter, *(d["index"] for d in details))
    assert 64 <= (end - start) % 4096 <= 4096 - 64


@pytest.mark.parametrize("fuse", [True, False])
def test_outputs_share_nothing_with_what_is_alive(fuse):
    model = Model()
    main = model.subgraph("main")
    x, y, z = Tensor(SHAPE, "float32"), Tensor([99, 7], "float32"), Tensor([7, 99], "float32")
    main.op("RESHAPE", [x, Tensor.constant(np.int32([99, 7]))], [y], new_shape=[99, 7])
    main.op("RESHAPE", [y, Tensor.constant(np.int32([7, 99]))], [z], new_shape=[7, 99])
    main.inputs, main.outputs = [x], [y, z]
    interpreter, _ = run(model.to_bytes(), fuse=fuse)
    outputs = [interpreter.tensor(d["index"]) for d in interpreter.get_output_details()]
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.zeros_like(X))
    assert outputs[0]().tobytes() == X.tobytes()
    outputs[0]()[:] = 0
    assert outputs[1]().tobytes() == X.tobytes()


def random_graph(rng):
    """Nodes that move nothing among nodes that may lie over what they read."""
    model = Model()
    main = model.subgraph("main")
    inputs = [Tensor([1, 6, 1, 8], "float32") for _ in range(2)]
    values = [*inputs, Tensor([1, 6, 1, 8], "float32")]
    main.op("SUB", inputs, values[2:])
    for _ in range(12):
        x = values[rng.integers(max(len(values) - 4, 0), len(values))]
        kind = rng.choice(["RESHAPE", "EXPAND_DIMS", "SQUEEZE", "TRANSPOSE", "LOGISTIC", "ADD", "MUL", "RELU"])
        y = Tensor(list(x.shape), "float32")
        if kind == "RESHAPE":
            y = Tensor([[1, 6, 1, 8], [48], [6, 8], [2, 24]][rng.integers(4)], "float32")
            main.op(kind, [x, Tensor.constant(np.int32(y.shape))], [y], new_shape=y.shape)
        elif kind == "EXPAND_DIMS":
            if len(x.shape) == 5:
                continue
            y = Tensor([1, *x.shape], "float32")
            main.op(kind, [x, Tensor.constant(np.int32(0))], [y])
        elif kind == "SQUEEZE":
            y = Tensor([d for d in x.shape if d != 1], "float32")
            main.op(kind, [x], [y])
        elif kind == "TRANSPOSE":
            order = rng.permutation(len(x.shape))
            y = Tensor([x.shape[i] for i in order], "float32")
            main.op(kind, [x, Tensor.constant(order.astype(np.int32))], [y])
        elif kind in ("ADD", "MUL"):
            same = [v for v in values if list(v.shape) == list(x.shape)]
            main.op(kind, [x, same[rng.integers(len(same))]], [y])
        else:
            main.op(kind, [x], [y])
        values.append(y)
    main.inputs = inputs
    main.outputs = [values[-1], *(v for v in values[3:-1] if rng.random() < 0.2)]
    return model.to_bytes()


@pytest.mark.parametrize(
    "mode", [OpResolverType.AUTO, OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]
)
def test_random_graphs(mode):
    for seed in range(150):
        blob = random_graph(np.random.default_rng(seed))
        seen = []
        for fuse in (True, False):
            interpreter = Interpreter(model_content=blob, experimental_op_resolver_type=mode, fuse=fuse)
            interpreter.allocate_tensors()
            given = interpreter.get_input_details()
            for i, detail in enumerate(given):
                interpreter.set_tensor(
                    detail["index"], np.random.default_rng(i).standard_normal(detail["shape"]).astype(np.float32)
                )
            for _ in range(2):
                interpreter.invoke()
            seen.append(
                [interpreter.get_tensor(d["index"]).tobytes() for d in given + interpreter.get_output_details()]
            )
        assert seen[0] == seen[1], seed
