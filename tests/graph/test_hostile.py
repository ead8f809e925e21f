"""Models that try to lead the engine outside of its memory or into endless work. Each was found by compat.fuzz or by looking for it."""

import signal

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from tests.machine import wide_sizes
from tflm_cy import Interpreter


def interpret(model, **options):
    return Interpreter(model_content=model.to_bytes(), **options)


def identity():
    """A model that copies float32 values of any shape."""
    x, y = Tensor([2], "float32"), Tensor([2], "float32")
    return Model.single("ABS", [x], [y])


@pytest.mark.parametrize("shape", [[1 << 23, 1 << 23, 1 << 18], [1 << 30, 1 << 30], [0, 1 << 30, 1 << 30, 1 << 30]])
def test_a_product_of_dimensions_beyond_64_bits_is_refused(shape):
    interpreter = interpret(identity())
    with pytest.raises(RuntimeError, match="overflow"):
        interpreter.resize_tensor_input(0, shape)


def test_a_shape_in_the_file_that_no_memory_holds_is_refused_when_allocated():
    x, y = Tensor([1 << 30, 1 << 30], "uint8"), Tensor([1 << 30, 1 << 30], "uint8")
    interpreter = interpret(Model.single("RELU", [x], [y]))
    with pytest.raises(RuntimeError, match="overflow"):
        interpreter.allocate_tensors()


@wide_sizes
def test_sizes_that_overflow_together_are_refused():
    model = Model()
    main = model.subgraph("main")
    for _ in range(8200):  # of 2^50 bytes each
        main.tensor(Tensor([(1 << 31) - 1, 1 << 15], "complex128"))
    main.inputs, main.outputs = list(range(8200)), []
    with pytest.raises(MemoryError):
        interpret(model).allocate_tensors()


def test_a_subgraph_that_prepares_itself_while_it_runs_is_refused():
    """The call lies behind a dynamic output: it is prepared when allocating is long over."""
    model = Model()
    main = model.subgraph("main")
    condition, x, shape = Tensor([1], "bool"), Tensor([2], "float32"), Tensor([1], "int32")
    dynamic, y = Tensor([2], "float32"), Tensor([2], "float32")
    main.op("RESHAPE", [x, shape], [dynamic])
    main.op("IF", [condition, condition, dynamic, shape], [y], then_subgraph_index=0, else_subgraph_index=0)
    main.inputs, main.outputs = [condition, x, shape], [y]
    interpreter = interpret(model)
    interpreter.allocate_tensors()
    for details, value in zip(interpreter.get_input_details(), ([True], [1.0, 2.0], [1]), strict=True):
        interpreter.set_tensor(details["index"], np.array(value, details["dtype"]))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"calls itself|could not|num_input_elements"):
            interpreter.invoke()


def chain(length):
    """Subgraphs that call each other, the last one negates."""
    model = Model()
    graphs = [model.subgraph(f"g{i}") for i in range(length)]
    for i, graph in enumerate(graphs):
        condition, x, y = Tensor([1], "bool"), Tensor([2], "float32"), Tensor([2], "float32")
        graph.tensor(condition)
        if i + 1 < length:
            graph.op("IF", [condition, condition, x], [y], then_subgraph_index=i + 1, else_subgraph_index=i + 1)
        else:
            graph.op("NEG", [x], [y])
        graph.inputs, graph.outputs = [condition, x], [y]
    return interpret(model)


def test_subgraphs_may_call_each_other_some_levels_deep():
    interpreter = chain(20)
    interpreter.allocate_tensors()
    interpreter.set_tensor(1, np.array([1, -2], np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [-1, 2]


def test_deep_calls_are_refused_before_the_stack_ends():
    with pytest.raises(RuntimeError, match="subgraphs deep"):
        chain(3000).allocate_tensors()


def test_a_loop_whose_condition_nobody_computes_is_refused():
    model = Model()
    main, condition, body = (model.subgraph(name) for name in ("main", "condition", "body"))
    x, y = Tensor([2], "float32"), Tensor([2], "float32")
    main.op("WHILE", [x], [y], cond_subgraph_index=1, body_subgraph_index=2)
    asked, answer = condition.tensor(Tensor([2], "float32")), condition.tensor(Tensor([1], "bool"))
    condition.inputs, condition.outputs = [asked], [answer]
    before, after = Tensor([2], "float32"), Tensor([2], "float32")
    body.op("NEG", [before], [after])
    interpreter = interpret(model)
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match="condition"):
        interpreter.invoke()


def test_a_branch_that_returns_strings_nobody_wrote_is_refused():
    model = Model()
    main, then, otherwise = (model.subgraph(name) for name in ("main", "then", "otherwise"))
    condition, y = Tensor([1], "bool"), Tensor([1], "string")
    main.op("IF", [condition], [y], then_subgraph_index=1, else_subgraph_index=2)
    for branch in (then, otherwise):
        branch.inputs, branch.outputs = [], [branch.tensor(Tensor([1], "string"))]
    interpreter = interpret(model)
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match="no value"):
        interpreter.invoke()
    interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize(
    ("op", "inputs", "output", "options"),
    [
        (
            "ARG_MAX",
            [Tensor([4, 8], "float32"), Tensor.constant(np.int32(1))],
            Tensor([4], "int8", variable=True),
            {"output_type": "INT64"},
        ),
        (
            "RESIZE_BILINEAR",
            [Tensor([1, 2, 2, 1], "float32"), Tensor.constant(np.array([2, 2], np.int32))],
            Tensor([1, 2, 2, 1], "int8", variable=True),
            {},
        ),
        (
            "RESIZE_NEAREST_NEIGHBOR",
            [Tensor([1, 2, 2, 1], "float32"), Tensor.constant(np.array([2, 2], np.int32))],
            Tensor([1, 2, 2, 1], "string"),
            {},
        ),
    ],
)
def test_an_output_that_cannot_take_the_type_is_refused(op, inputs, output, options):
    """A variable's memory is as large as the file says; a string has none before it is written."""
    interpreter = interpret(Model.single(op, inputs, [output], 2, **options))
    with pytest.raises(RuntimeError, match=rf"{op}.*failed to prepare"):
        interpreter.allocate_tensors()


def test_the_mean_of_nothing_over_an_axis_that_arrives_late():
    """More results than elements: their accumulators would not fit what the input's size asks for."""
    x, axis, y = Tensor([0, 1000], "int32"), Tensor([1], "int32"), Tensor([1000], "int32")
    interpreter = interpret(Model.single("MEAN", [x, axis], [y], keep_dims=False))
    interpreter.allocate_tensors()
    interpreter.set_tensor(1, np.array([0], np.int32))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [0] * 1000


def test_a_failure_behind_a_dynamic_output_leaves_nothing_to_stumble_over():
    """The second stage asks for scratch memory and is refused before it gets any."""
    x, shape = Tensor([1, 4, 4, 2], "float32"), Tensor([4], "int32")
    dynamic, y, z = Tensor([1, 4, 4, 2], "float32"), Tensor([1, 4, 4, 2], "float32"), Tensor([3], "float32")
    weights, bias = Tensor.constant(np.ones([2, 1, 1, 2], np.float32)), Tensor.constant(np.ones(2, np.float32))
    model = Model()
    main = model.subgraph("main")
    main.op("RESHAPE", [x, shape], [dynamic])
    main.op("CONV_2D", [dynamic, weights, bias], [y], stride_w=1, stride_h=1, padding="SAME")
    main.op("CONCATENATION", [y, bias], [z])
    main.inputs, main.outputs = [x, shape], [z]
    interpreter = interpret(model)
    interpreter.allocate_tensors()
    for _ in range(3):
        interpreter.set_tensor(0, np.ones([1, 4, 4, 2], np.float32))
        interpreter.set_tensor(1, np.array([1, 4, 4, 2], np.int32))
        with pytest.raises(RuntimeError, match="CONCATENATION"):
            interpreter.invoke()
        for details in interpreter.get_tensor_details():
            try:
                interpreter.get_tensor(details["index"])
            except ValueError as error:
                assert "null" in str(error) or "memory" in str(error)


@pytest.mark.parametrize("index", [7, 1 << 31, (1 << 32) - 1])
def test_a_signature_that_names_no_tensor_raises_when_used(index):
    model = identity()
    model.signature("serve", inputs={"x": index}, outputs={"y": index})
    interpreter = interpret(model)
    runner = interpreter.get_signature_runner("serve")
    with pytest.raises(ValueError, match="Invalid tensor index"):
        runner.get_input_details()
    with pytest.raises((ValueError, RuntimeError), match="Invalid tensor index"):
        runner(x=np.ones(2, np.float32))


@pytest.mark.parametrize("value", [0, 4, 200])
def test_every_byte_of_a_sparse_model_may_be_wrong(value):
    """Among them the type of a union: what a table of an unknown kind holds has not been verified and is not read."""
    sparsity = Sparsity([0, 1], [("dense", 2), ("csr", [0, 1, 2], [0, 3])])
    x = Tensor.constant(np.ones(2, np.float32), shape=[2, 4], sparsity=sparsity)
    content = Model.single("DENSIFY", [x], [Tensor([2, 4], "float32")]).to_bytes()
    refused = 0
    for position in range(len(content)):
        damaged = content[:position] + bytes([value]) + content[position + 1 :]
        try:
            interpreter = Interpreter(model_content=damaged)
            interpreter.get_tensor_details()
            interpreter.allocate_tensors()
            interpreter.invoke()
        except (ValueError, RuntimeError, MemoryError):
            refused += 1
    assert 0 < refused < len(content)


def test_a_sparse_constant_is_not_read_as_a_dense_one():
    sparsity = Sparsity([0, 1], [("dense", 64), ("csr", [0] + [1] * 64, [3])])
    x = Tensor.constant(np.ones(1, np.float32), shape=[64, 64], sparsity=sparsity)
    interpreter = interpret(Model.single("ABS", [x], [Tensor([64, 64], "float32")]))
    with pytest.raises(RuntimeError, match="sparse"):
        interpreter.allocate_tensors()


def test_an_endless_loop_can_be_interrupted():
    model = Model()
    main, condition, body = (model.subgraph(name) for name in ("main", "condition", "body"))
    x, y = Tensor([1], "float32"), Tensor([1], "float32")
    main.op("WHILE", [x], [y], cond_subgraph_index=1, body_subgraph_index=2)
    asked, answer = Tensor([1], "float32"), Tensor([1], "bool")
    condition.op("EQUAL", [asked, asked], [answer])
    old, new = Tensor([1], "float32"), Tensor([1], "float32")
    body.op("NEG", [old], [new])
    interpreter = interpret(model)
    interpreter.allocate_tensors()

    def interrupt(*_):  # as Ctrl-C does where SIGINT is not ignored, which it is in background jobs
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            interpreter.invoke()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    interpreter.reset_all_variables()
