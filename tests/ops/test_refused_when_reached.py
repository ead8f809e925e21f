"""Shapes that do not go together, where TensorFlow's prepare does not look at them: allocate goes well, and the node refuses when it runs.

In the default mode images of another rank have the four dimensions that XNNPACK sees: allocate refuses where it does.
"""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, feed, outputs_of
from tests.ops.delegated import only_where_supported
from tflm_cy import Interpreter, OpResolverType

F32, I32, I64 = "float32", "int32", "int64"
WINDOW = [Tensor.constant(np.ones(2, I64)) for _ in range(3)]
GATHER = {"offset_dims": [1], "collapsed_slice_dims": [0], "start_index_map": [0], "slice_sizes": [1, 4]}


def const(values, dtype=I32):
    return Tensor.constant(np.array(values, dtype))


@pytest.mark.parametrize(
    "op, inputs, output, options",
    [
        ("ATAN2", [Tensor([3, 4], F32), Tensor([3, 2], F32)], Tensor([3, 2], F32), {}),
        ("DILATE", [Tensor([1, 2, 3], F32), const([2, 2]), const(0, F32)], Tensor([3, 5], F32), {}),
        ("DILATE", [Tensor([0], "int8"), const([2]), const(0, "int8")], Tensor([3], "int8"), {}),
        ("REVERSE_V2", [Tensor([2, 3], F32), const([3])], Tensor([2, 3], F32), {}),
        ("RESHAPE", [Tensor([2, 3], F32), Tensor([1, 2], I32)], Tensor([2, 3], F32), {"new_shape": [7]}),
        (
            "REDUCE_WINDOW",
            [Tensor([2, 3, 4], F32), const(0, F32), *WINDOW],
            Tensor([2, 3], F32),
            {"reduce_function": 1},
        ),
        ("MULTINOMIAL", [Tensor([6], F32), const(3)], Tensor([2, 3], I64), {"seed": 1, "seed2": 2}),
        (
            "CONV_2D",
            [Tensor([1, 4, 4, 2], F32), const(np.ones([5, 2, 2, 1]), F32), const(np.zeros(5), F32)],
            Tensor([1, 3, 3, 5], F32),
            {"padding": 1, "stride_h": 1, "stride_w": 1},
        ),
        (
            "STABLEHLO_GATHER",
            [Tensor([3, 4], F32), Tensor([1, 2, 1], I32)],
            Tensor([2, 4], F32),
            {**GATHER, "index_vector_dim": 1},
        ),
        (
            "STABLEHLO_GATHER",
            [Tensor([1, 3, 4], F32), Tensor([2, 1], I32)],
            Tensor([2, 4], F32),
            {**GATHER, "index_vector_dim": 1},
        ),
    ],
)
@pytest.mark.parametrize("mode", ["BUILTIN_REF", "AUTO"])
def test_an_operator(op, inputs, output, options, mode):
    blob = Model.single(op, inputs, [output], **options).to_bytes()
    interpreter = allocated(blob, experimental_op_resolver_type=OpResolverType[mode])
    with pytest.raises(RuntimeError, match="failed to invoke"):
        interpreter.invoke()


@pytest.mark.parametrize("updates", [[1, 2, 4], [2]])
def test_updates_of_another_rank(updates):
    model = Model()
    main, _ = model.subgraph("main"), model.subgraph("body")
    operands = [Tensor([3, 4], F32), Tensor([2, 1], I32), Tensor(updates, F32)]
    options = {"update_window_dims": [1], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0]}
    main.op(
        "STABLEHLO_SCATTER",
        operands,
        [Tensor([3, 4], F32)],
        index_vector_dim=1,
        update_computation_subgraph_index=1,
        **options,
    )
    interpreter = allocated(model)
    with pytest.raises(RuntimeError, match="failed to invoke"):
        interpreter.invoke()


@only_where_supported
@pytest.mark.parametrize(
    "op, shape, options, resized, runs",
    [
        ("SPACE_TO_DEPTH", [1, 2, 2, 2], {"block_size": 2}, [1, 1, 2, 2, 2], False),
        ("SPACE_TO_DEPTH", [1, 2, 2, 2], {"block_size": 2}, [2, 2, 4, 4, 3], True),
        ("DEPTH_TO_SPACE", [2, 1, 1, 16], {"block_size": 2}, [1, 2, 1, 1, 16], False),
        ("DEPTH_TO_SPACE", [2, 1, 1, 16], {"block_size": 2}, [2, 2, 2, 4, 2], True),
        (
            "MAX_POOL_2D",
            [1, 4, 4, 3],
            {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1},
            [4, 4, 3],
            False,
        ),
        (
            "MAX_POOL_2D",
            [1, 4, 4, 3],
            {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1},
            [1, 1, 4, 4, 3],
            True,
        ),
    ],
)
def test_an_image_of_another_rank(op, shape, options, resized, runs):
    """runs: allocate goes well, and the node refuses when it is reached."""
    outputs = {"SPACE_TO_DEPTH": [1, 1, 1, 8], "DEPTH_TO_SPACE": [2, 2, 2, 4], "MAX_POOL_2D": [1, 4, 4, 3]}
    interpreter = allocated(Model.single(op, [Tensor(shape, F32)], [Tensor(outputs[op], F32)], **options))
    interpreter.resize_tensor_input(0, resized)
    with pytest.raises(RuntimeError, match="failed to invoke" if runs else "failed to prepare"):
        interpreter.allocate_tensors()
        interpreter.invoke()


@only_where_supported
@pytest.mark.parametrize(
    "sides, taps, runs", [([1, 5, 5, 2], 3, False), ([1, 5, 5, 2], 1, True), ([5, 5, 2], 3, False)]
)
@pytest.mark.parametrize("dtype", [F32, "int8"])
def test_a_border_that_becomes_the_convolutions_own(sides, taps, runs, dtype):
    """XNNPACK's convolution reads what the PAD reads, in which there is no fourth dimension; a product does not, and keeps the PAD's."""
    scale = {} if dtype == F32 else {"scale": 0.1}
    x, padded, y = (
        Tensor(shape, dtype, **scale) for shape in ([1, 5, 5, 2], [1, 9, 9, 2], [1, 10 - taps, 10 - taps, 4])
    )
    w = Tensor.constant(np.ones([4, taps, taps, 2], dtype), **scale)
    b = Tensor.constant(np.zeros(4, F32 if dtype == F32 else I32), **({} if dtype == F32 else {"scale": 0.01}))
    model = Model()
    main = model.subgraph("main")
    main.op("PAD", [x, const([[0, 0], [2, 2], [2, 2], [0, 0]])], [padded])
    main.op("CONV_2D", [padded, w, b], [y], padding="VALID", stride_h=1, stride_w=1)
    interpreter = allocated(model)
    interpreter.resize_tensor_input(0, [int(np.prod(sides))])
    with pytest.raises(RuntimeError, match="failed to invoke" if runs else "failed to prepare"):
        interpreter.allocate_tensors()
        interpreter.invoke()


@only_where_supported
@pytest.mark.parametrize("dtype", [F32, "int8"])
def test_a_product_of_pixels_of_another_rank(dtype):
    """A convolution of one tap is a matrix product for XNNPACK, whose output has the input's rank."""
    scale = {} if dtype == F32 else {"scale": 0.1}
    x, y = Tensor([1, 5, 2, 6], dtype, **scale), Tensor([1, 5, 2, 8], dtype, **scale)
    b = Tensor.constant(np.zeros(8, F32 if dtype == F32 else I32), **({} if dtype == F32 else {"scale": 0.01}))
    model = Model.single(
        "CONV_2D",
        [x, Tensor.constant(np.ones([8, 1, 1, 6], dtype), **scale), b],
        [y],
        padding="VALID",
        stride_h=1,
        stride_w=1,
    )
    interpreter = allocated(model)
    for shape in ([60], [10, 6], [1, 1, 5, 2, 6]):
        interpreter.resize_tensor_input(0, shape)
        interpreter.allocate_tensors()
        assert interpreter.get_output_details()[0]["shape"].tolist() == [*shape[:-1], 8]
        with pytest.raises(RuntimeError, match="wants 4 dimensions"):
            interpreter.invoke()


@only_where_supported
@pytest.mark.parametrize("resized, runs", [([1, 8, 8, 6], True), ([1, 2, 8, 6], False), ([8, 6], False)])
def test_a_product_of_a_transposed_operand_of_another_rank(resized, runs):
    """XNNPACK transposes by three dimensions, as it did at first: [1, 8, 8, 6] counts as [1, 8, 8]."""
    operands = [Tensor([2, 8, 6], F32), const(np.ones([2, 8, 6]), F32)]
    interpreter = allocated(Model.single("BATCH_MATMUL", operands, [Tensor([2, 6, 6], F32)], adj_x=True))
    interpreter.resize_tensor_input(0, resized)
    with pytest.raises(RuntimeError, match="failed to invoke" if runs else "failed to prepare"):
        interpreter.allocate_tensors()
        assert interpreter.get_output_details()[0]["shape"].tolist() == [2, 8, 6]
        interpreter.invoke()


def test_what_was_shaped_before_its_node_was_refused_has_no_value():
    """PRELU's slopes are broadcast to [3, 12] before it is refused; the output of the node behind keeps the last run's value."""
    x, y, z = Tensor([3, 4], F32), Tensor([3, 4], F32), Tensor([3, 4], F32)
    model = Model()
    main = model.subgraph("main")
    main.op("PRELU", [x, const(np.ones([3, 1]), F32)], [y])
    main.op("ABS", [x], [z])
    main.outputs = [y, z]
    interpreter = allocated(model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    feed(interpreter, -np.ones([3, 4], np.float32))
    interpreter.invoke()
    with pytest.raises(RuntimeError, match="HaveSameShapes"):
        interpreter.resize_tensor_input(0, [12])
        interpreter.allocate_tensors()
    with pytest.raises(ValueError):
        interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert interpreter.get_tensor(interpreter.get_output_details()[1]["index"]).tolist() == np.ones([3, 4]).tolist()


def test_the_contrary_of_a_sum_of_truths():
    """REDUCE_WINDOW's sum of two truths is 2; LOGICAL_NOT turns the lowest bit."""
    x, total, contrary = Tensor([2], "bool"), Tensor([1], "bool"), Tensor([1], "bool")
    window = [const([n], I64) for n in (2, 1, 1)]
    model = Model()
    main = model.subgraph("main")
    main.op("REDUCE_WINDOW", [x, const(False, "bool"), *window], [total], reduce_function=1)
    main.op("LOGICAL_NOT", [total], [contrary])
    main.outputs = [total, contrary]
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    feed(interpreter, np.array([True, True]))
    interpreter.invoke()
    assert [value.view(np.uint8).tolist() for value in outputs_of(interpreter)] == [[2], [3]]
