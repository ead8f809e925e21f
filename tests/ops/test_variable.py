"""Variables: which handles name the same one."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, run


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
