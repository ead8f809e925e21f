"""Models whose structure is hostile: wrong indices, order, targets. They raise, at the call where TensorFlow raises."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType
from tflm_cy.ops import generation

ONE = np.ones(4, np.float32)


def graph(*ops, inputs=None, outputs=None, tensors=4):
    """A model over `tensors` float tensors of 4, the last one constant; ops are (inputs, outputs) of ADD."""
    model = Model()
    main = model.subgraph("main")
    for _ in range(tensors - 1):
        main.tensor(Tensor([4], "float32"))
    main.tensor(Tensor.constant(ONE))
    for ins, outs in ops:
        main.op("ADD", ins, outs)
    main.inputs = [0] if inputs is None else inputs
    main.outputs = [1] if outputs is None else outputs
    return Interpreter(model_content=model.to_bytes())


@pytest.mark.parametrize(
    ("ops", "options", "text"),
    [
        ([([0, 77], [1])], {}, "Invalid tensor index 77"),
        ([([0, 3], [-9])], {}, "Invalid tensor index -9"),
        ([([0, 3], [1])], {"outputs": [9]}, "Invalid tensor index 9"),
        ([([0, 3], [3])], {"outputs": [3]}, "constant"),
        ([([0, 3], [0])], {"outputs": [0]}, "writes to tensor 0"),
    ],
)
def test_refused_when_allocated(ops, options, text):
    interpreter = graph(*ops, **options)
    with pytest.raises(RuntimeError, match=text):
        interpreter.allocate_tensors()


@pytest.mark.parametrize("ops", [[([0, 2], [1])], [([2, 3], [1]), ([0, 3], [2])]])
def test_reading_before_writing_is_refused_when_invoked(ops):
    interpreter = graph(*ops)
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match="Input tensor 2 lacks data"):
        interpreter.invoke()


def test_bad_outputs_read_as_none():
    assert graph(([0, 3], [1]), outputs=[9]).get_output_details() == []


def test_an_error_names_node_and_shapes():
    x, y = Tensor([2, 3], "float32"), Tensor([2, 3], "float32")
    blob = Model.single("ADD", [x, Tensor.constant(ONE)], [y]).to_bytes()
    with pytest.raises(RuntimeError, match=r"Node number 0 \(ADD\) failed to prepare.*FLOAT32 \[2, 3\], FLOAT32 \[4\]"):
        Interpreter(model_content=blob, experimental_op_resolver_type=OpResolverType.BUILTIN_REF).allocate_tensors()
    interpreter = Interpreter(model_content=blob)
    who = (
        r"Delegate\) failed to prepare. It runs ADD \(node 0\)" if generation.supported() else r"Node number 0 \(ADD\)"
    )
    with pytest.raises(RuntimeError, match=who + r".*FLOAT32 \[2, 3\], FLOAT32 \[4\]"):
        interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match="not ready"):
        interpreter.invoke()
    interpreter.resize_tensor_input(0, [2, 4])
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.zeros((2, 4), np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [[1] * 4] * 2


def test_unknown_operators():
    x, y = Tensor([4], "float32"), Tensor([4], "float32")
    custom = Interpreter(model_content=Model.single("MyOp", [x], [y]).to_bytes())
    assert custom.get_input_details()[0]["shape"].tolist() == [4]
    with pytest.raises(RuntimeError, match="Encountered unresolved custom op: MyOp"):
        custom.allocate_tensors()
    with pytest.raises(ValueError, match="Didn't find op for builtin opcode 'ADD' version '99'"):
        Interpreter(model_content=Model.single("ADD", [x, x], [y], version=99).to_bytes())


def test_a_rank_beyond_the_limit_is_refused():
    x, y = Tensor([1] * 17, "float32"), Tensor([1] * 17, "float32")
    with pytest.raises(ValueError, match="rank 17"):
        Interpreter(model_content=Model.single("NEG", [x], [y]).to_bytes())
