"""`python -m tflm_cy run`: what it shows and stores is what the interpreter computes; one line for each mistake."""

import json
from pathlib import Path

import numpy as np
import pytest

import tflm_cy.demo
from compat.builder import Model, Tensor
from tflm_cy import Interpreter
from tflm_cy.cli import main
from tflm_cy.micro import MicroInterpreter

FOLDER = Path(tflm_cy.demo.__file__).parent
FLOAT, INT8 = (str(FOLDER / f"digits_{name}.tflite") for name in ("float", "int8"))


def saved(folder, name, array):
    path = folder / name
    np.save(path, array)
    return str(path)


def computed(model, array):
    return Interpreter(model).get_signature_runner()(image=array)["probabilities"]


def test_outputs_of_a_file_are_shown_and_stored(tmp_path, capsys):
    x = np.random.default_rng(1).random((1, 8, 8, 1), np.float32)
    stored = tmp_path / "y.npz"
    assert main(["run", FLOAT, "--input", saved(tmp_path, "x.npy", x), "--output", str(stored)]) == 0
    expected = computed(FLOAT, x)
    with np.load(stored) as data:
        assert list(data) == ["probabilities"]
        np.testing.assert_array_equal(data["probabilities"], expected)
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["output", "type", "shape", "values"]
    shown = " ".join(f"{v:.6g}" for v in expected[0, :6])
    assert row.split(None, 2)[:2] == ["probabilities", "float32"]
    assert row.endswith(f"1 x 10  {shown} ...")


def test_an_open_dimension_takes_the_shape_of_the_file(tmp_path, capsys):
    x = np.random.default_rng(2).integers(-128, 128, (3, 8, 8, 1)).astype(np.int8)
    stored = tmp_path / "y.npz"
    assert main(["run", INT8, "--input", saved(tmp_path, "x.npy", x), "--output", str(stored)]) == 0
    np.testing.assert_array_equal(np.load(stored)["probabilities"], computed(INT8, x))
    assert "3 x 10" in capsys.readouterr().out


def test_random_inputs_follow_the_seed(capsys):
    shown = []
    for arguments in (["--random", "5"], ["--random", "5"], ["--random", "6"], [], ["--random", "0"]):
        assert main(["run", INT8, *arguments]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and shown[3] == shown[4]
    assert len({shown[0], shown[2], shown[3]}) == 3


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16", "int32", "int64", "bool"])
def test_every_plain_type_has_random_values(tmp_path, capsys, dtype):
    x, y = Tensor([2, 3], dtype, name="x"), Tensor([3, 2], dtype, name="y")
    model = tmp_path / "reshape.tflite"
    model.write_bytes(Model.single("RESHAPE", [x, Tensor.constant(np.array([3, 2], np.int32))], [y]).to_bytes())
    assert main(["run", str(model)]) == 0
    row = capsys.readouterr().out.splitlines()[2]
    assert row.split()[:5] == ["y", dtype, "3", "x", "2"]
    assert len(row.split()[5:]) == 6


def test_outputs_without_or_with_the_same_names_are_all_stored(tmp_path, capsys):
    x = Tensor([2], "float32", name="x")
    model = Model()
    graph = model.subgraph("main")
    for name in ("", "y", "y"):
        graph.op("RESHAPE", [x, Tensor.constant(np.array([2], np.int32))], [Tensor([2], "float32", name=name)])
    path, stored = tmp_path / "m.tflite", tmp_path / "y.npz"
    path.write_bytes(model.to_bytes())
    x_path = saved(tmp_path, "x.npy", np.array([1, 2], np.float32))
    assert main(["run", str(path), "--input", x_path, "--output", str(stored)]) == 0
    with np.load(stored) as data:
        assert list(data) == ["output_0", "y", "y_2"]
        assert all(data[name].tolist() == [1, 2] for name in data)


def test_tflm_s_rules_are_a_mode(tmp_path, capsys):
    x = np.random.default_rng(3).integers(-128, 128, (1, 8, 8, 1)).astype(np.int8)
    stored = tmp_path / "y.npz"
    arguments = ["run", INT8, "--mode", "MICRO", "--input", saved(tmp_path, "x.npy", x), "--output", str(stored)]
    assert main(arguments) == 0
    micro = MicroInterpreter(INT8)
    micro.set_input(0, x)
    micro.invoke()
    np.testing.assert_array_equal(np.load(stored)["probabilities"], micro.output(0))
    capsys.readouterr()
    wide = saved(tmp_path, "wide.npy", np.zeros((3, 8, 8, 1), np.int8))
    assert "with TensorFlow Lite Micro shapes stay" in refusal(capsys, "run", INT8, "--mode", "MICRO", "--input", wide)


def test_the_keys_of_json(tmp_path, capsys):
    x = np.random.default_rng(4).random((1, 8, 8, 1), np.float32)
    path = saved(tmp_path, "x.npy", x)
    assert main(["run", FLOAT, "--input", path, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["model", "mode", "stopped", "inputs", "outputs"]
    assert document["inputs"] == [
        {"name": "image", "index": 0, "type": "float32", "shape": [1, 8, 8, 1], "source": path}
    ]
    (output,) = document["outputs"]
    assert list(output) == ["name", "index", "type", "shape", "values"]
    np.testing.assert_array_equal(np.float32(output["values"]), computed(FLOAT, x))


def test_values_that_json_has_no_numbers_for(tmp_path, capsys):
    x, y = Tensor([3], "float32", name="x"), Tensor([3], "float32", name="y")
    path = tmp_path / "m.tflite"
    path.write_bytes(Model.single("NEG", [x], [y]).to_bytes())
    values = saved(tmp_path, "x.npy", np.float32([np.nan, np.inf, -np.inf]))
    assert main(["run", str(path), "--input", values, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"][0]["values"] == ["NaN", "-Infinity", "Infinity"]


def refusal(capsys, *arguments):
    """The one line on stderr of a command that must end with 2."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    line, end = captured.err[:-1], captured.err[-1]
    assert end == "\n" and "\n" not in line and line.startswith("tflm_cy: ")
    return line


def test_models_that_cannot_be_used(tmp_path, capsys):
    junk, empty = tmp_path / "junk.tflite", tmp_path / "empty.tflite"
    junk.write_bytes(b"\x08\x00\x00\x00TFL3" + b"\xff" * 100)
    empty.write_bytes(b"")
    for path in (junk, empty):
        assert str(path) in refusal(capsys, "run", str(path))
    assert "no such file" in refusal(capsys, "run", str(tmp_path / "none.tflite"))
    assert "a folder" in refusal(capsys, "run", str(tmp_path))


def test_inputs_that_do_not_fit(tmp_path, capsys):
    narrow = saved(tmp_path, "narrow.npy", np.zeros((1, 8, 7, 1), np.float32))
    flat = saved(tmp_path, "flat.npy", np.zeros(64, np.float32))
    double = saved(tmp_path, "double.npy", np.zeros((1, 8, 8, 1)))
    assert "input image has the shape ? x 8 x 8 x 1, not 1 x 8 x 7 x 1" in refusal(
        capsys, "run", FLOAT, "--input", narrow
    )
    assert "not 64" in refusal(capsys, "run", FLOAT, "--input", flat)
    assert "FLOAT64" in refusal(capsys, "run", FLOAT, "--input", double)
    assert "got 2 for a model of 1 inputs: image" in refusal(capsys, "run", FLOAT, "--input", flat, flat)


def test_files_that_are_no_array(tmp_path, capsys):
    text, archive, objects = (tmp_path / name for name in ("a.npy", "b.npz", "c.npy"))
    text.write_text("1 2 3")
    np.savez(archive, x=np.zeros(3))
    np.save(objects, np.array([{}], object), allow_pickle=True)
    for path in (text, objects):
        assert "not an array as numpy.save writes it" in refusal(capsys, "run", FLOAT, "--input", str(path))
    assert "an archive" in refusal(capsys, "run", FLOAT, "--input", str(archive))
    assert "no such file" in refusal(capsys, "run", FLOAT, "--input", str(tmp_path / "none.npy"))


def test_an_output_that_cannot_be_written(tmp_path, capsys):
    assert main(["run", FLOAT, "--output", str(tmp_path / "none" / "y.npz")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", FLOAT, "--mode", "FAST"], "invalid choice: 'FAST'"),
        (["run", FLOAT, "--random", "-1"], "-1 is negative"),
        (["run", FLOAT, "--random", "x"], "invalid"),
        (["run", FLOAT, "--random", "1", "--input", "x.npy"], "not allowed with"),
        (["run"], "required: MODEL"),
        (["fly"], "invalid choice: 'fly'"),
    ],
)
def test_wrong_usage(capsys, arguments, message):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err
