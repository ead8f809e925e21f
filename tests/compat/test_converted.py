"""compat.converted: what can be told without TensorFlow."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.converted import Input, Program, ProgramDraw, families, integers
from compat.converted.__main__ import main
from compat.converted.conversion import operators_of, values_of


class WithoutTensorFlow:
    keras = None


def test_each_module_has_families():
    modules = {function.__module__.rpartition(".")[2] for function in families().values()}
    assert len(families()) > 40 and len(modules) == 8


def test_free_dimensions_of_one_name_have_one_size():
    d = ProgramDraw(WithoutTensorFlow, 3)
    ties = {(0, 1): "time", (1, 0): "time"}
    program = Program(None, [Input([2, None]), Input([None], "int32", integers(4, 9), (1, 6)), Input([None])], ties)
    sizes = set()
    for _ in range(40):
        x, y, z = values_of(d, program)
        assert x.shape == (2, y.shape[0]) and y.min() >= 4 and y.max() <= 9 and x.dtype == np.float32
        sizes.add((y.shape, z.shape))
    assert len(sizes) > 5


def test_sums_of_int16_are_told_apart():
    for dtype, name in (("int16", "SUM of int16"), ("float32", "SUM")):
        scale = {"scale": 1.0, "zero_point": 0} if dtype == "int16" else {}
        x, y = Tensor([2, 3], dtype, **scale), Tensor([2], dtype, **scale)
        axes = Tensor.constant(np.int32([1]))
        assert operators_of(Model.single("SUM", [x, axes], [y]).to_bytes()) == {name}


def test_wrong_usage(tmp_path, capsys):
    assert main(["--into", str(tmp_path), "--family", "nothing"]) == 2
    assert "no family ['nothing']" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([])
