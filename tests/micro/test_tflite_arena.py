"""TensorFlow Lite's own arena for the same tensors."""

from compat.builder import Model, Tensor
from tests.micro.models import loaded
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.tflite_arena import tflite_arena


def relus(*sizes):
    model = Model()
    main = model.subgraph("main")
    main.inputs = [x] = [Tensor([1, sizes[0]], "int8", scale=1.0, zero_point=0)]
    for size in sizes[1:]:
        y = Tensor([1, size], "int8", scale=1.0, zero_point=0)
        main.op(
            "RELU" if size == x.shape[1] else "RESHAPE",
            [x],
            [y],
            **({} if size == x.shape[1] else {"new_shape": [1, size]}),
        )
        x = y
    main.outputs = [x]
    return view(loaded(model))


def test_inputs_and_outputs_are_kept_and_tensors_share():
    assert tflite_arena(relus(100, 100)).bytes == 128 + 100
    assert tflite_arena(relus(100, 100, 100, 100)).bytes == 128 + 128 + 100  # the output lies where the first lay


def test_a_variable_persists():
    model = Model()
    main = model.subgraph("main")
    x, state, y = (Tensor([1, 16], "float32") for _ in range(3))
    state.variable = True
    main.op("ADD", [x, state], [y])
    main.inputs, main.outputs = [x], [y]
    found = tflite_arena(view(loaded(model)))
    assert (found.bytes, found.persistent, found.alignment) == (128, 64, 64)
