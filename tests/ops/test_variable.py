"""Variables: which handles name the same one."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, run
from tests.machine import delegated


def model(first, second):
    """Assign to the variable of one name, read the one of the other."""
    built = Model()
    main = built.subgraph("main")
    handles, x, y = [Tensor([], "resource") for _ in range(2)], Tensor([3], "float32"), Tensor([3], "float32")
    for handle, name in zip(handles, (first, second), strict=True):
        main.op("VAR_HANDLE", [], [handle], container="", shared_name=name)
    main.op("ASSIGN_VARIABLE", [handles[0], x], [])
    main.op("READ_VARIABLE", [handles[1]], [y])
    main.inputs, main.outputs = [x], [y]
    return built.to_bytes()


def test_names_end_at_their_first_zero_byte():
    x = np.float32([1, 2, 3])
    [y] = run(allocated(model("a\0b", "a\0c")), x)
    assert y.tolist() == x.tolist()


def test_other_names_are_other_variables():
    with pytest.raises(RuntimeError, match="read before a value is assigned"):
        run(allocated(model("a", "b")), np.float32([1, 2, 3]))


@delegated
def test_a_smaller_value_overwrites_the_beginning():
    interpreter = allocated(model("a", "a"))
    run(interpreter, np.float32([1, 2, 3]))
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], [2])
    interpreter.allocate_tensors()
    [y] = run(interpreter, np.float32([8, 9]))
    assert y.tolist() == [8, 9, 3]


@delegated
def test_a_read_in_front_of_the_assignment_has_the_shape_of_the_allocation_before():
    built = Model()
    main = built.subgraph("main")
    handle, x = Tensor([], "resource"), Tensor([3], "float32")
    before, behind = Tensor([3], "float32"), Tensor([3], "float32")
    main.op("VAR_HANDLE", [], [handle], container="", shared_name="a")
    main.op("READ_VARIABLE", [handle], [before])
    main.op("ASSIGN_VARIABLE", [handle, x], [])
    main.op("READ_VARIABLE", [handle], [behind])
    main.inputs, main.outputs = [x], [before, behind]
    interpreter = allocated(built)
    index, shapes = interpreter.get_input_details()[0]["index"], []
    for size in (2, 1, 1):
        interpreter.resize_tensor_input(index, [size])
        interpreter.allocate_tensors()
        shapes.append([detail["shape"].tolist() for detail in interpreter.get_output_details()])
    assert shapes == [[[3], [2]], [[2], [1]], [[2], [1]]]
