"""What can be read after an allocation that was refused: TensorFlow's answer, in docs/migration.md as a table."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, feed
from tests.machine import delegated
from tflm_cy import OpResolverType


def adding(shapes=((2, 3), (2, 3)), **options):
    """y = NEG(x), z = x + w, v = NEG(w): three outputs, of which the second may be refused."""
    built = Model()
    main = built.subgraph("main")
    x, w = (Tensor(list(shape), "float32") for shape in shapes)
    y, z, v = (Tensor([2, 3], "float32") for _ in range(3))
    main.op("NEG", [x], [y])
    main.op("ADD", [x, w], [z], fused_activation_function="NONE")
    main.op("NEG", [w], [v])
    main.inputs, main.outputs = [x, w], [y, z, v]
    interpreter = allocated(built, **{"experimental_op_resolver_type": OpResolverType.BUILTIN_REF, **options})
    feed(interpreter, *(np.full(shape, k + 1, np.float32) for k, shape in enumerate(shapes)))
    interpreter.invoke()
    return interpreter, [d["index"] for d in interpreter.get_input_details() + interpreter.get_output_details()]


def test_what_was_shaped_before_the_refusal_has_no_memory_and_what_was_not_keeps_its_value():
    interpreter, (x, w, y, z, v) = adding()
    interpreter.resize_tensor_input(x, [5, 3])
    with pytest.raises(RuntimeError, match="ADD"):
        interpreter.allocate_tensors()
    for tensor in (x, y):
        with pytest.raises(ValueError, match="Tensor data is null"):
            interpreter.get_tensor(tensor)
    assert interpreter.get_output_details()[0]["shape"].tolist() == [5, 3]
    assert interpreter.get_tensor(w).tolist() == [[2] * 3] * 2
    assert interpreter.get_tensor(z).tolist() == [[3] * 3] * 2
    assert interpreter.get_tensor(v).tolist() == [[-2] * 3] * 2


def test_an_output_that_keeps_its_shape_keeps_its_value():
    interpreter, (_, w, y, _, v) = adding()
    interpreter.resize_tensor_input(w, [5, 3])
    with pytest.raises(RuntimeError, match="ADD"):
        interpreter.allocate_tensors()
    assert interpreter.get_tensor(y).tolist() == [[-1] * 3] * 2
    assert interpreter.get_tensor(v).tolist() == [[-2] * 3] * 2


@delegated
def test_what_the_refused_partition_gives_keeps_its_value():
    interpreter, (x, _, *outputs) = adding(experimental_op_resolver_type=OpResolverType.AUTO)
    before = [interpreter.get_tensor(t).tolist() for t in outputs]
    interpreter.resize_tensor_input(x, [5, 3])
    with pytest.raises(RuntimeError, match="ADD"):
        interpreter.allocate_tensors()
    assert [interpreter.get_tensor(t).tolist() for t in outputs] == before
    assert [d["shape"].tolist() for d in interpreter.get_output_details()] == [[2, 3]] * 3


def between(keep):
    """y = SIN(NEG(x)), z = x + w behind it."""
    built = Model()
    main = built.subgraph("main")
    x, w, q, y, z = (Tensor([2, 3], "float32") for _ in range(5))
    main.op("NEG", [w], [q])
    main.op("SIN", [q], [y])
    main.op("ADD", [x, w], [z], fused_activation_function="NONE")
    main.inputs, main.outputs = [x, w], [y, z]
    mode = OpResolverType.BUILTIN_REF
    interpreter = allocated(built, experimental_op_resolver_type=mode, experimental_preserve_all_tensors=keep)
    feed(interpreter, *[np.ones([2, 3], np.float32)] * 2)
    interpreter.invoke()
    [q] = interpreter._get_ops_details()[0]["outputs"]
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [5, 3])
    with pytest.raises(RuntimeError, match="ADD"):
        interpreter.allocate_tensors()
    return interpreter, q


def test_an_intermediate_tensor_that_is_kept_keeps_its_value():
    interpreter, q = between(keep=True)
    assert interpreter.get_tensor(q).tolist() == [[-1] * 3] * 2


def test_another_one_is_not_read():
    interpreter, q = between(keep=False)
    with pytest.raises(ValueError):
        interpreter.get_tensor(q)


def test_inputs_that_were_resized_take_nothing_and_others_do():
    interpreter, (x, w, *_) = adding()
    interpreter.resize_tensor_input(x, [5, 3])
    with pytest.raises(RuntimeError, match="ADD"):
        interpreter.allocate_tensors()
    with pytest.raises(ValueError):
        interpreter.set_tensor(x, np.ones([5, 3], np.float32))
    interpreter.set_tensor(w, np.full([2, 3], 7, np.float32))
    interpreter.resize_tensor_input(x, [2, 3])
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(w).tolist() == [[7] * 3] * 2
