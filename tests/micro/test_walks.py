"""Kernels' prepare, walked: who is refused and where, what fails when it runs, and the smallest arena.

The arenas' sizes are the tflite_micro package's, found by trying; with 16 bytes less it gives up.
"""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.micro.models import activation, branches, chain, convolution, loaded
from tflm_cy.micro import MicroInterpreter
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.figures import figures
from tflm_cy.micro.survey import Survey


def single(op, inputs, outputs, **options):
    return loaded(Model.single(op, inputs, outputs, **options))


def joined(count):
    return Model.single("CONCATENATION", [activation(1, 8) for _ in range(count)], [activation(1, 8 * count)], axis=1)


def softmax_of_16_bits():
    x = Tensor([1, 8], "int16", scale=0.1, zero_point=0)
    return Model.single("SOFTMAX", [x], [Tensor([1, 8], "int16", scale=1 / 32768, zero_point=0)], beta=1.0)


def product_per_channel():
    values = np.random.default_rng(0).integers(-9, 9, (16, 8)).astype(np.int8)
    weights = Tensor.constant(values, scale=[0.01] * 16, zero_point=[0] * 16, axis=0)
    return Model.single("FULLY_CONNECTED", [activation(1, 8), weights], [activation(1, 16)])


def mean():
    axis = Tensor.constant(np.array([1], np.int32))
    return Model.single("MEAN", [activation(1, 8), axis], [activation(1, 1)], keep_dims=True)


@pytest.mark.parametrize(
    "model, size",
    [
        (chain, 2416),
        (branches, 2464),
        (convolution, 1712),
        (lambda: joined(1), 1168),
        (lambda: joined(3), 1408),
        (lambda: joined(10), 2304),
        (softmax_of_16_bits, 3136),
        (product_per_channel, 1392),
        (mean, 1376),
    ],
)
def test_the_smallest_arena(model, size):
    found = figures(loaded(model())).smallest_arena
    assert size - 16 < found <= size
    assert figures(loaded(model()), arena_size=size).fits
    assert not figures(loaded(model()), arena_size=size - 16).fits


def expanded(shape):
    """A net whose second node's output has not the shape that it makes."""
    model = Model()
    main = model.subgraph("main")
    x = Tensor([1, 4], "float32")
    [y] = main.op("ABS", [x], [Tensor([1, 4], "float32")])
    main.op("EXPAND_DIMS", [y, Tensor.constant(np.array([1], np.int32))], [Tensor(shape, "float32")])
    return model


def test_the_node_that_tflm_blames():
    survey = Survey(loaded(expanded([1, 2, 4])))
    [refusal] = survey.objections
    assert (refusal.stage, refusal.node.index, refusal.node.op) == ("prepare", 1, "EXPAND_DIMS")
    assert "the output's shape is (1, 2, 4), TFLM finds (1, 1, 4)" in refusal.reason
    assert not survey.allocates and not survey.runs and survey.advice
    with pytest.raises(ValueError, match="node 1 EXPAND_DIMS: the output's shape"):
        MicroInterpreter(loaded(expanded([1, 2, 4])))
    assert Survey(loaded(expanded([1, 1, 4]))).runs


def lstm(*given, state=2):
    """Float weights of all four gates; `given` are further inputs that are there."""
    inputs = [None] * 24
    inputs[0] = Tensor([1, 3, 2], "float32")
    for i in range(1, 9):
        inputs[i] = Tensor.constant(np.zeros((2, 2), np.float32))
    for i in (*range(12, 16), *given):
        inputs[i] = Tensor.constant(np.zeros(2, np.float32))
    inputs[18], inputs[19] = (Tensor([1, size], "float32", variable=True) for size in (2, state))
    return single("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [Tensor([1, 3, 2], "float32")], fused_activation_function=4)


@pytest.mark.parametrize(
    "model, reason",
    [
        (lambda: lstm(9), "peepholes"),
        (lambda: lstm(20), "layer normalization"),
        (lambda: lstm(state=3), "the size of input 19"),
        (lambda: loaded(joined(11)), "at most 10"),
        (
            lambda: single("ADD", [Tensor([2], "int8")] * 2, [Tensor([2], "int8")]),
            "no scales and zero points; TFLM stops the program",
        ),
        (
            lambda: single("EQUAL", [Tensor([2], "int8", scale=2.0, zero_point=0)] * 2, [Tensor([2], "bool")]),
            "TFLM stops the program unless it lies between 0 and 1",
        ),
        (
            lambda: single(
                "RELU", [Tensor([2], "int16", scale=0.1, zero_point=1)], [Tensor([2], "int16", scale=0.1, zero_point=0)]
            ),
            "the zero point of input 0 is 1, TFLM wants 0",
        ),
        (
            lambda: single("FLOOR_DIV", [Tensor([2], "float32"), Tensor([2], "int32")], [Tensor([2], "float32")]),
            "TFLM wants one type",
        ),
    ],
)
def test_what_prepare_refuses(model, reason):
    model = model()
    [refusal] = demand(model, refuse=False).objections
    assert refusal.stage == "prepare" and reason in refusal.reason
    with pytest.raises(ValueError, match="node 0 "):
        MicroInterpreter(model)


def test_an_lstm_that_tflm_takes():
    assert Survey(lstm()).allocates


def svdf(output, state=(1, 12)):
    features, times = (Tensor.constant(np.zeros(shape, np.float32)) for shape in ((4, 3), (4, 3)))
    inputs = [Tensor([1, 3], "float32"), features, times, None, Tensor(list(state), "float32", variable=True)]
    return single("SVDF", inputs, [Tensor(output, "float32")], rank=2)


def test_the_state_of_svdf():
    assert (
        "the shape of input 4 is (1, 11), TFLM wants (1, 12)" in demand(svdf([1, 2], (1, 11)), refuse=False).refusals[0]
    )
    assert "the shape of output 0 is (1, 4), TFLM wants (1, 2)" in demand(svdf([1, 4]), refuse=False).refusals[0]
    assert "reads a bias" in str(Survey(svdf([1, 2])).faults[0])


def test_all_operators_that_are_missing_also_those_in_the_bodies_of_loops():
    model = Model()
    main, condition, body = (model.subgraph(name) for name in ("main", "condition", "body"))
    x, y = Tensor([1], "int32"), Tensor([1], "int32")
    for graph in (condition, body):
        graph.inputs = [Tensor([1], "int32")]
    less = Tensor([1], "bool")
    condition.op("LESS", [condition.inputs[0], Tensor.constant(np.array([3], np.int32))], [less])
    condition.outputs = [less]
    [read] = body.op("FlexTensorListGetItem", [body.inputs[0]], [Tensor([1], "variant")], custom_options=b"\0")
    body.outputs = body.op("TILE", [read, Tensor.constant(np.array([1], np.int32))], [Tensor([1], "int32")])
    main.op("WHILE", [x], [y], cond_subgraph_index=1, body_subgraph_index=2)
    main.inputs, main.outputs = [x], [y]
    survey = Survey(loaded(model))
    missing = [(r.node.subgraph, r.node.index, r.node.op) for r in survey.objections if r.lacks_operator]
    assert missing == [(2, 0, "FlexTensorListGetItem"), (2, 1, "TILE")]
    assert any("of subgraph 2 is VARIANT" in r.reason for r in survey.objections), survey.refusals
    assert "loop over lists of tensors" in survey.advice[0] and "Replace TILE" in survey.advice[1]
    with pytest.raises(ValueError, match=r"node 0 FlexTensorListGetItem of subgraph 2.*and [0-9]+ more"):
        MicroInterpreter(loaded(model))


def test_what_tflm_allocates_and_does_not_compute():
    """TFLM does not ask whether shapes broadcast: it would read beyond them."""
    model = single("ADD", [Tensor([4], "float32"), Tensor([3], "float32")], [Tensor([4], "float32")])
    survey = Survey(model)
    assert survey.allocates and not survey.runs and "not broadcastable" in survey.faults[0].reason
    interpreter = MicroInterpreter(model)
    with pytest.raises(RuntimeError, match=r"not broadcastable.*ADD"):
        interpreter.invoke()


def test_a_node_may_write_over_its_own_input():
    model = Model()
    main = model.subgraph("main")
    x, y = Tensor([4], "float32"), Tensor([4], "float32")
    main.op("ADD", [x, x], [x])
    main.op("ADD", [x, x], [y])
    main.inputs, main.outputs = [x], [y]
    for planner in ("greedy", "optimal", "overlap", "linear"):
        interpreter = MicroInterpreter(loaded(model), planner=planner)
        interpreter.set_input(0, np.array([1, -2, 0.5, 8], np.float32))
        interpreter.invoke()
        assert interpreter.output(0).tolist() == [4, -8, 2, 32]


def test_what_nobody_writes_reads_as_zeros():
    model = Model()
    main = model.subgraph("main")
    x, nobody, y = (Tensor([4], "float32") for _ in range(3))
    main.op("ADD", [x, nobody], [y])
    main.inputs, main.outputs = [x], [y]
    interpreter = MicroInterpreter(loaded(model))
    interpreter.set_input(0, np.array([1, -2, 0.5, 8], np.float32))
    interpreter.invoke()
    assert interpreter.output(0).tolist() == [1, -2, 0.5, 8]


def test_transposed_convolutions_have_the_shape_in_the_file():
    """TFLM does not look at the shape that is an input."""
    weights = Tensor.constant(np.ones((1, 1, 1, 1), np.float32))
    inputs = [Tensor([4], "int32"), weights, Tensor([1, 2, 2, 1], "float32")]
    model = single("TRANSPOSE_CONV", inputs, [Tensor([1, 2, 2, 1], "float32")], stride_h=1, stride_w=1, padding="VALID")
    interpreter = MicroInterpreter(model)
    interpreter.set_input(1, np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1))
    interpreter.invoke()
    assert interpreter.output(0).ravel().tolist() == [0, 1, 2, 3]


def test_sums_of_8_bits():
    """ADD_N and CUMSUM of int8, which TensorFlow Lite has not; the values are those of the tflite_micro package."""
    given = [activation(4), activation(4), activation(4)]
    interpreter = MicroInterpreter(single("ADD_N", given, [Tensor([4], "int8", scale=0.1, zero_point=-1)]))
    for i, values in enumerate(([3, 13, -128, 127], [3, 3, -128, 127], [5, 4, 3, 127])):
        interpreter.set_input(i, np.array(values, np.int8))
    interpreter.invoke()
    assert interpreter.output(0).tolist() == [-2, 3, -128, 127]  # 0.05 (-1, 8, ..) / 0.1 - 1: TFLM begins at 0 - 3
    axis = Tensor.constant(np.array([0], np.int32))
    for exclusive, reverse, wanted in (
        (0, 0, [1, 4, -1]),
        (1, 0, [0, 1, 4]),
        (0, 1, [-1, -2, -5]),
        (1, 1, [-2, -5, 0]),
    ):
        options = {"exclusive": bool(exclusive), "reverse": bool(reverse)}
        interpreter = MicroInterpreter(single("CUMSUM", [activation(3), axis], [activation(3)], **options))
        interpreter.set_input(0, np.array([4, 6, -2], np.int8))
        interpreter.invoke()
        assert interpreter.output(0).tolist() == wanted
