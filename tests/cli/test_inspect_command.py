"""`python -m tflm_cy inspect`: the tables say what the model holds; and what the command line does as a whole."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tflm_cy.demo
from compat.builder import Model, Tensor
from tests.machine import delegated
from tflm_cy.cli import main
from tflm_cy.schema.model import Model as Loaded
from tflm_cy.schema.writer import rewritten

FOLDER = Path(tflm_cy.demo.__file__).parent
INT8 = str(FOLDER / "digits_int8.tflite")


def sections(capsys, path):
    """Title -> rows of cells of each table."""
    assert main(["inspect", str(path)]) == 0
    summary, *tables = capsys.readouterr().out.rstrip("\n").split("\n\n")
    return summary, {table.split("\n")[0]: table.split("\n")[1:] for table in tables}


def column(table, title):
    """The cells of a column, cut where the dashes of its header are."""
    start = table[0].index(title)
    end = start + len(table[1][start:].split(" ")[0])
    return [row[start:end].strip() for row in table[2:]]


def test_the_tables_of_the_digits(capsys):
    summary, tables = sections(capsys, INT8)
    assert summary.startswith("digits_int8.tflite: 13.5 KiB, 8 operators, 20 tensors")
    tensors = tables["Tensors"]
    names, roles = column(tensors, "name"), column(tensors, "role")
    assert names[roles.index("input")] == "image" and names[roles.index("output")] == "probabilities"
    assert roles.count("constant") == 11
    shapes, scales, types = (column(tensors, title) for title in ("shape", "scale", "type"))
    assert shapes[names.index("image")] == "? x 8 x 8 x 1"
    assert scales[names.index("image")] == "0.00392157, -128"
    assert scales[names.index("3/weights")] == "16 scales, axis 3"
    assert types[names.index("flat_shape")] == "int32" and scales[names.index("flat_shape")] == ""
    assert column(tables["Operators"], "operator") == [
        *("CONV_2D", "CONV_2D", "MAX_POOL_2D", "DEPTHWISE_CONV_2D"),
        *("CONV_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX"),
    ]
    assert column(tables["Operators"], "inputs")[:2] == ["0 1 2", "3 4 5"]
    assert column(tables["Signatures"], "key") == ["serving_default"] * 2
    assert column(tables["Signatures"], "role") == ["input", "output"]


def test_omitted_inputs_custom_operators_and_hostile_names(tmp_path, capsys):
    x = Tensor([1, 4], "float32", name="x\x1b[31m\nred")
    w = Tensor.constant(np.ones((2, 4), np.float32), name="w")
    y, z = Tensor([1, 2], "float32", name="y"), Tensor([], "float32", name="z")
    model = Model()
    graph = model.subgraph("main")
    graph.op("FULLY_CONNECTED", [x, w, None], [y])
    graph.op("NobodyKnowsThis", [y], [z])
    path = tmp_path / "m.tflite"
    path.write_bytes(model.to_bytes())
    _, tables = sections(capsys, path)
    assert column(tables["Operators"], "inputs") == ["0 1 -", "2"]
    assert column(tables["Operators"], "operator")[1] == "NobodyKnowsThis"
    assert column(tables["Tensors"], "name")[0] == r"x\x1b[31m\nred"
    assert column(tables["Tensors"], "shape")[3] == "scalar"
    assert "Signatures" not in tables


def test_several_subgraphs_each_have_their_tensors(tmp_path, capsys):
    model = Model()
    for name in ("main", "second"):
        x, y = Tensor([3], "float32", name=f"{name}_x"), Tensor([3], "float32", name=f"{name}_y")
        model.subgraph(name).op("NEG", [x], [y])
    path = tmp_path / "m.tflite"
    path.write_bytes(model.to_bytes())
    summary, tables = sections(capsys, path)
    assert "2 subgraphs, the main one of 1 operator, 2 tensors" in summary
    assert column(tables["Tensors of subgraph 1"], "name") == ["second_x", "second_y"]
    assert column(tables["Tensors of subgraph 0"], "role") == ["input", "output"]


def test_options_of_all_subgraphs_are_shown(tmp_path, capsys):
    model = Model()
    main_graph, second = model.subgraph("main"), model.subgraph("second")
    x, w = Tensor([1, 8, 8, 3], "float32"), Tensor.constant(np.zeros((4, 3, 3, 3), np.float32))
    main_graph.op("CONV_2D", [x, w], [Tensor([1, 8, 8, 4], "float32")], stride_w=2, stride_h=1, dilation_h_factor=2)
    y = Tensor([1, 8, 8, 3], "float32")
    second.op(
        "MIRROR_PAD",
        [y, Tensor.constant(np.zeros((4, 2), np.int32))],
        [Tensor([1, 8, 8, 3], "float32")],
        mode="SYMMETRIC",
    )
    second.op("RESHAPE", [y], [Tensor([192], "float32")], new_shape=[192])
    path = tmp_path / "m.tflite"
    path.write_bytes(model.to_bytes())
    _, tables = sections(capsys, path)
    assert column(tables["Operators of subgraph 0"], "options") == [
        "padding=SAME stride_w=2 stride_h=1 dilation_h_factor=2"
    ]
    title = next(title for title in tables if title.startswith("Operators of subgraph 1"))
    assert title == "Operators of subgraph 1 'second'"
    assert column(tables[title], "options") == ["mode=SYMMETRIC", "new_shape=[192]"]


def test_long_names_lose_their_middle(tmp_path, capsys):
    name = "head/" + "middle/" * 40 + "tail"
    x, y = Tensor([1], "float32", name=name), Tensor([1], "float32")
    path = tmp_path / "m.tflite"
    path.write_bytes(Model.single("NEG", [x], [y]).to_bytes())
    shown = column(sections(capsys, path)[1]["Tensors"], "name")[0]
    assert shown.startswith("head/middle/") and shown.endswith("/tail") and "..." in shown and len(shown) == 64
    assert main(["inspect", str(path), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["subgraphs"][0]["tensors"][0]["name"] == name


def test_metadata_and_associated_files(tmp_path, capsys):
    path = tmp_path / "m.tflite"
    files = io.BytesIO()
    with zipfile.ZipFile(files, "w") as archive:
        archive.writestr("labels.txt", "one\ntwo\n")
        archive.writestr("vocabulary.txt", "x" * 1000)
    path.write_bytes(rewritten(Loaded.from_path(INT8), {"TFLITE_METADATA": bytes(100)}) + files.getvalue())
    tables = sections(capsys, path)[1]
    assert column(tables["Metadata"], "name") == ["TFLITE_METADATA"] and column(tables["Metadata"], "bytes") == ["100"]
    assert column(tables["Associated files"], "name") == ["labels.txt", "vocabulary.txt"]
    assert column(tables["Associated files"], "bytes") == ["8", "1000"]
    damaged = path.read_bytes()[:-40] + b"PK\x05\x06" + bytes(18)
    path.write_bytes(damaged)
    assert "Associated files" not in sections(capsys, path)[1]


def test_the_keys_of_json(capsys):
    assert main(["inspect", INT8, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    keys = "model bytes version description metadata associated_files signatures subgraphs"
    assert list(document) == keys.split()
    assert list(document["signatures"][0]) == ["key", "subgraph", "inputs", "outputs"]
    (graph,) = document["subgraphs"]
    assert list(graph) == ["index", "name", "inputs", "outputs", "tensors", "operators"]
    tensor = "index name type shape shape_signature role bytes sparse quantization"
    assert list(graph["tensors"][0]) == tensor.split()
    assert list(graph["tensors"][1]["quantization"]) == ["scales", "zero_points", "axis", "details"]
    operator = "index op custom version inputs outputs intermediates options custom_options options_table"
    assert list(graph["operators"][0]) == operator.split()
    assert graph["operators"][0]["options"]["fused_activation_function"] == "RELU"


def test_custom_options_are_told_as_far_as_they_are_a_map(tmp_path, capsys):
    x, y, z = (Tensor([4], "float32") for _ in range(3))
    model = Model()
    graph = model.subgraph("main")
    graph.op("Mine", [x], [y], custom_options=bytes.fromhex("6e0001030101010304022401"))
    graph.op("Other", [y], [z], custom_options=b"\xff" * 9)
    path = tmp_path / "m.tflite"
    path.write_bytes(model.to_bytes())
    assert column(sections(capsys, path)[1]["Operators"], "options") == ["n=3", "custom_options=9 bytes"]


def test_a_damaged_model_is_one_line(tmp_path, capsys):
    path = tmp_path / "cut.tflite"
    path.write_bytes(Path(INT8).read_bytes()[:3000])
    assert main(["inspect", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and str(path) in captured.err


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 2
    help_text = capsys.readouterr().err
    assert all(command in help_text for command in ("demo", "run", "inspect", "examples:"))


@pytest.mark.parametrize("command", ["demo", "run", "inspect"])
def test_each_command_explains_itself(capsys, command):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m tflm_cy {command}")


def test_a_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "tflm_cy", "inspect", INT8]
    process = subprocess.Popen(command, cwd=FOLDER.parents[1], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 0


@delegated
def test_passes_say_what_they_did(capsys):
    assert main(["inspect", INT8, "--passes", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["passes"]
    assert {row["pass"] for row in rows} >= {"partition", "bind"}
    assert main(["inspect", INT8, "--passes", "--mode", "BUILTIN_REF"]) == 0
    shown = capsys.readouterr().out.split("Passes\n")[1]
    assert "bind" in shown and "partition" not in shown
