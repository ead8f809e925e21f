"""Profiles: every node counted and told, nothing changed by looking, nothing recorded when off. Nothing here depends on the clock."""

import json
from pathlib import Path

import numpy as np
import pytest

import tflm_cy.demo
from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType
from tflm_cy.cli import main
from tflm_cy.profile import Operand, multiply_adds

INT8 = Path(tflm_cy.demo.__file__).parent / "digits_int8.tflite"
MODES = list(OpResolverType)


def ready(mode=OpResolverType.AUTO, model=INT8):
    interpreter = Interpreter(str(model), experimental_op_resolver_type=mode)
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()[0]
    x = np.random.default_rng(0).integers(-128, 128, details["shape"]).astype(np.int8)
    interpreter.set_tensor(details["index"], x)
    return interpreter


def output(interpreter):
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_every_node_is_counted_and_the_bytes_stay(mode):
    interpreter = ready(mode)
    interpreter.invoke()
    expected = output(interpreter).tobytes()
    with interpreter.profile() as profile:
        for _ in range(4):
            interpreter.invoke()
    assert output(interpreter).tobytes() == expected
    interpreter.invoke()  # not recorded any more
    nodes = profile.nodes()
    assert {node.calls for node in nodes} == {4}
    plan = {node.part_of for node in nodes}
    assert plan == set(interpreter.execution_plan())
    names = {d["index"]: d["op_name"] for d in interpreter._get_ops_details()}
    assert all(node.op_name == names[node.node] for node in nodes if node.node in names)
    assert sum(node.share for node in nodes) == pytest.approx(1)
    arithmetic = {"BUILTIN_REF": "reference", "BUILTIN_WITHOUT_DEFAULT_DELEGATES": "optimized"}.get(mode.name)
    assert arithmetic is None or {node.arithmetic for node in nodes} == {arithmetic}


def test_times_are_in_order():
    interpreter = ready()
    with interpreter.profile() as profile:
        for _ in range(3):
            interpreter.invoke()
    runs = profile.runs()
    assert runs.shape == (3, len(profile.nodes()), 2)
    assert (np.diff(runs.reshape(-1)) >= 0).all()
    assert len(profile.seconds()) == 3


def test_a_profile_without_runs_is_empty():
    interpreter = ready()
    with interpreter.profile() as profile:
        pass
    assert profile.nodes() == [] and len(profile.seconds()) == 0
    interpreter.invoke()
    assert profile.nodes() == []


def test_a_run_that_fails_is_not_recorded():
    model = Model("gather")
    graph = model.subgraph("main")
    x = graph.tensor(Tensor([4], "float32"))
    i = graph.tensor(Tensor([1], "int32"))
    graph.op("GATHER", [x, i], [Tensor([1], "float32")], axis=0)
    graph.inputs = [x, i]
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    inputs = {d["dtype"]: d["index"] for d in interpreter.get_input_details()}
    with interpreter.profile() as profile:
        interpreter.set_tensor(inputs[np.int32], np.int32([9]))
        with pytest.raises(RuntimeError):
            interpreter.invoke()
        interpreter.set_tensor(inputs[np.int32], np.int32([1]))
        interpreter.invoke()
    assert [node.calls for node in profile.nodes()] == [1]


def operand(*shape, constant=False):
    return Operand(0, "", "FLOAT32", shape, 0, constant)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "macs"),
    [
        ("CONV_2D", [(1, 8, 8, 4), (16, 3, 3, 2)], [(1, 8, 8, 16)], 8 * 8 * 16 * 18),  # two groups
        ("DEPTHWISE_CONV_2D", [(1, 8, 8, 4), (1, 3, 3, 8)], [(1, 4, 4, 8)], 4 * 4 * 8 * 9),
        ("FULLY_CONNECTED", [(5, 7), (3, 7)], [(5, 3)], 105),
        ("BATCH_MATMUL", [(2, 5, 7), (2, 7, 3)], [(2, 5, 3)], 210),
        ("BATCH_MATMUL", [(2, 7, 5), (2, 7, 3)], [(2, 5, 3)], 210),  # adj_x
        ("TRANSPOSE_CONV", [(4,), (3, 2, 2, 5), (1, 4, 4, 5)], [(1, 8, 8, 3)], 16 * 60),
        ("SOFTMAX", [(1, 10)], [(1, 10)], 0),
        ("CONV_2D", [(1, 8, 8, 4)], [(1, 8, 8, 16)], 0),
    ],
)
def test_multiply_adds(name, inputs, outputs, macs):
    assert multiply_adds(name, [operand(*x) for x in inputs], [operand(*y) for y in outputs]) == macs


def bench(capsys, *arguments):
    code = main(["bench", str(INT8), "--seconds", "0.001", *map(str, arguments)])
    return code, capsys.readouterr()


def test_the_command(capsys):
    code, said = bench(capsys, "--per-op", "--mode", "BUILTIN_REF")
    assert code == 0 and said.err == ""
    assert said.out.startswith("digits_int8.tflite, BUILTIN_REF, 1 thread, kernels: ")
    for title in ("Latency", "Operators", "Nodes"):
        assert f"\n{title}\n" in said.out
    assert said.out.count("CONV_2D") >= 3
    assert "\nNodes\n" not in bench(capsys)[1].out


def test_the_files(tmp_path, capsys):
    table, trace, page = tmp_path / "t.csv", tmp_path / "t.json", tmp_path / "t.html"
    assert bench(capsys, "--csv", table, "--trace", trace, "--html", page)[0] == 0
    interpreter = ready()
    with interpreter.profile() as profile:
        interpreter.invoke()
    steps = profile.nodes()
    lines = table.read_text().splitlines()
    assert len(lines) == 1 + len(steps) and lines[0].startswith("subgraph,node,part_of,op_name,")
    events = json.loads(trace.read_text())["traceEvents"]
    runs = [event for event in events if event["name"] == "invoke"]
    assert 1 <= len(runs) <= 5
    nodes = [event for event in events if event["ph"] == "X" and event["cat"] not in ("run", "plan")]
    assert len(nodes) == len(runs) * len(steps)
    assert all(run["ts"] <= event["ts"] for run in runs[:1] for event in nodes)
    text = page.read_text()
    assert text.count("<g class='block'>") == 2 * len(steps) and "http-equiv" not in text and "src=" not in text


@pytest.mark.parametrize("arguments", [["--threads", "0"], ["--seconds", "0"]])
def test_wrong_usage(arguments, capsys):
    assert main(["bench", str(INT8), *arguments]) == 2
    assert "must be positive" in capsys.readouterr().err


def test_no_such_file(capsys):
    assert main(["bench", "nowhere.tflite"]) == 2
    assert capsys.readouterr().err == "tflm_cy: nowhere.tflite: no such file\n"
