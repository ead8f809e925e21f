"""Dynamic outputs: stages, shapes that change from one invoke to the next, what is readable before and after."""

import numpy as np

from compat.builder import Model, Tensor
from tflm_cy import Interpreter


def where_then_add():
    """WHERE(c) -> rows; rows + 1; both are outputs, the second lies behind a dynamic tensor."""
    model = Model()
    main = model.subgraph("main")
    c, rows, y = Tensor([6], "bool"), Tensor([0, 1], "int64"), Tensor([0, 1], "int64")
    main.op("WHERE", [c], [rows])
    main.op("ADD", [rows, Tensor.constant(np.array([1], np.int64))], [y])
    main.inputs, main.outputs = [c], [rows, y]
    return Interpreter(model_content=model.to_bytes())


def test_shapes_follow_the_values():
    interpreter = where_then_add()
    interpreter.allocate_tensors()
    rows, y = (d["index"] for d in interpreter.get_output_details())
    for pattern in ([1, 0, 1, 1, 0, 0], [0] * 6, [1] * 6, [0, 0, 0, 0, 0, 1]):
        interpreter.set_tensor(0, np.array(pattern, bool))
        interpreter.invoke()
        wanted = np.argwhere(pattern)
        assert interpreter.get_tensor(rows).tolist() == wanted.tolist()
        assert interpreter.get_tensor(y).tolist() == (wanted + 1).tolist()
        assert interpreter.get_output_details()[1]["shape"].tolist() == [len(wanted), 1]


def test_a_static_part_before_is_untouched():
    model = Model()
    main = model.subgraph("main")
    x, doubled, flags, rows = (
        Tensor([5], "float32"),
        Tensor([5], "float32"),
        Tensor([5], "bool"),
        Tensor([0, 1], "int64"),
    )
    main.op("ADD", [x, x], [doubled])
    main.op("GREATER", [doubled, Tensor.constant(np.array([4], np.float32))], [flags])
    main.op("WHERE", [flags], [rows])
    count = Tensor([], "int32")
    main.op("SHAPE", [rows], [count], out_type="INT32")
    main.inputs, main.outputs = [x], [doubled, count]
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.arange(5, dtype=np.float32))
    for _ in range(3):
        interpreter.invoke()
        doubled_index, count_index = (d["index"] for d in interpreter.get_output_details())
        assert interpreter.get_tensor(doubled_index).tolist() == [0, 2, 4, 6, 8]
        assert interpreter.get_tensor(count_index).tolist() == [2, 1]
