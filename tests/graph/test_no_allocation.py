"""Nothing is allocated while a static graph runs: a preloaded library counts the calls of malloc and its relatives."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import compiler_for
from tflm_cy.ops import generation

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

# PYTHONMALLOC=malloc sends Python's own objects through malloc as well, so nothing can hide in its pools.
PROGRAM = """
import ctypes, sys
from tflm_cy import Interpreter
from tflm_cy.graph.passes import tiling
from tflm_cy.threads import pool
pool.tune(processors=4)
tiling.tune(least_time=0)
count = ctypes.CDLL(None).allocation_count
count.restype = ctypes.c_ulong
threads = int(sys.argv[2])
interpreter = Interpreter(sys.argv[1], num_threads=threads)
interpreter.allocate_tensors()
core = interpreter._interpreter
invoke, again = core.invoke, [None] * 50
invoke()
invoke()
def loop():
    before = count()
    for _ in again:
        pass
    empty = count() - before
    before = count()
    for _ in again:
        invoke()
    return count() - before - empty
loop()
print(loop())
assert (pool.state()["jobs"] > 0) == (threads > 1)
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    compiler = compiler_for("the library that counts allocations")
    library = tmp_path_factory.mktemp("count") / "count.so"
    subprocess.run(
        [compiler, "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", library, HERE / "count_allocations.c"], check=True
    )
    return library


def allocations(counter, model, threads=1, program=PROGRAM):
    environment = {**os.environ, "LD_PRELOAD": str(counter), "PYTHONPATH": str(ROOT), "PYTHONMALLOC": "malloc"}
    environment.pop("TFLM_CY_DEBUG", None)  # checks of invariants take memory
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        del environment["PYTHONMALLOC"]  # which such a Python does not know: there only what C allocates is counted
    result = subprocess.run(
        [sys.executable, "-c", program, str(model), str(threads)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(result.stdout)


def convolution_net(rng):
    """CONV_2D -> DEPTHWISE_CONV_2D -> AVERAGE_POOL_2D -> RESHAPE -> FULLY_CONNECTED -> SOFTMAX, float32."""

    def weights(*shape):
        return Tensor.constant(rng.standard_normal(shape).astype(np.float32))

    model = Model()
    main = model.subgraph("main")
    shapes = [[1, 8, 8, 3], [1, 8, 8, 4], [1, 8, 8, 4], [1, 4, 4, 4], [1, 64], [1, 10], [1, 10]]
    t = [Tensor(shape, "float32") for shape in shapes]
    window = {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    main.op("CONV_2D", [t[0], weights(4, 3, 3, 3), weights(4)], [t[1]], stride_w=1, stride_h=1)
    depthwise = {"stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    main.op("DEPTHWISE_CONV_2D", [t[1], weights(1, 3, 3, 4), weights(4)], [t[2]], **depthwise)
    main.op("AVERAGE_POOL_2D", [t[2]], [t[3]], **window)
    main.op("RESHAPE", [t[3], Tensor.constant(np.array([1, 64], np.int32))], [t[4]])
    main.op("FULLY_CONNECTED", [t[4], weights(10, 64), weights(10)], [t[5]])
    main.op("SOFTMAX", [t[5]], [t[6]], beta=1.0)
    return model.to_bytes()


@pytest.mark.parametrize(
    "threads", [1, pytest.param(4, marks=pytest.mark.skipif(not generation.supported(), reason="no delegate"))]
)
def test_a_static_graph_allocates_nothing(counter, tmp_path, threads):
    path = tmp_path / "net.tflite"
    path.write_bytes(convolution_net(np.random.default_rng(5)))
    assert allocations(counter, path, threads) == 0


def test_variables_allocate_nothing(counter, tmp_path):
    handle, old, new, x = (
        Tensor([], "resource"),
        Tensor([8], "float32"),
        Tensor([8], "float32"),
        Tensor([8], "float32"),
    )
    model = Model()
    main = model.subgraph("main")
    main.op("VAR_HANDLE", [], [handle], shared_name="v")
    main.op("ASSIGN_VARIABLE", [handle, x], [])
    main.op("READ_VARIABLE", [handle], [old])
    main.op("ADD", [old, x], [new])
    main.inputs, main.outputs = [x], [new]
    path = tmp_path / "variables.tflite"
    path.write_bytes(model.to_bytes())
    assert allocations(counter, path) == 0


def rows_of_a_flag(turning):
    """WHERE(flag) + WHERE(flag); the flag is a variable, which every run inverts when `turning`."""
    handle, old, new, rows, total = (
        Tensor([], "resource"),
        Tensor([64], "bool"),
        Tensor([64], "bool"),
        Tensor([0, 1], "int64"),
        Tensor([0, 1], "int64"),
    )
    model = Model()
    main, start = model.subgraph("main"), model.subgraph("start")
    first = Tensor([], "resource")
    start.op("VAR_HANDLE", [], [first], shared_name="v")
    start.op("ASSIGN_VARIABLE", [first, Tensor.constant(np.zeros(64, bool))], [])
    main.op("CALL_ONCE", [], [], init_subgraph_index=1)
    main.op("VAR_HANDLE", [], [handle], shared_name="v")
    main.op("READ_VARIABLE", [handle], [old])
    main.op("LOGICAL_NOT", [old], [new])
    if turning:
        main.op("ASSIGN_VARIABLE", [handle, new], [])
    main.op("WHERE", [new], [rows])
    main.op("ADD", [rows, rows], [total])
    main.inputs, main.outputs = [], [total]
    return model.to_bytes()


def test_a_dynamic_shape_that_stays_allocates_nothing(counter, tmp_path):
    path = tmp_path / "same.tflite"
    path.write_bytes(rows_of_a_flag(turning=False))
    assert allocations(counter, path) == 0


def test_a_dynamic_shape_that_changes_with_every_run_allocates_nothing(counter, tmp_path):
    """A small stage behind it is prepared again in memory that there is."""
    path = tmp_path / "dynamic.tflite"
    path.write_bytes(rows_of_a_flag(turning=True))
    assert allocations(counter, path) == 0


def list_of_rows(rows, columns):
    """WHILE that replaces a list's rows one by one, as TensorFlow's lists are lowered: two slices and CONCATENATION."""
    model = Model()
    main, body, condition = (model.subgraph(name) for name in ("main", "body", "condition"))

    def ints(*values):
        return Tensor.constant(np.array(values, np.int32))

    def whole():
        return Tensor([rows, columns], "float32")

    def part():
        return Tensor([1, columns], "float32", shape_signature=[-1, columns])

    def number(size=1):
        return Tensor([size], "int32")

    i, unread = number(), whole()
    condition.tensor(unread)
    condition.outputs = condition.op("LESS", [i, ints(rows)], [Tensor([1], "bool")])
    condition.inputs = [i, unread]
    i, made = number(), whole()
    [following] = body.op("ADD", [i, ints(1)], [number()])
    [size] = body.op("CONCATENATION", [i, ints(columns)], [number(2)], axis=0)
    [begin] = body.op("CONCATENATION", [following, ints(0)], [number(2)], axis=0)
    [before] = body.op("SLICE", [made, ints(0, 0), size], [part()])
    [row] = body.op("TANH", body.op("GATHER", [made, i], [part()]), [part()])
    [after] = body.op("SLICE", [made, begin, ints(-1, columns)], [part()])
    body.outputs = [following, *body.op("CONCATENATION", [before, row, after], [whole()], axis=0)]
    body.inputs = [i, made]
    outputs = [number(), whole()]
    first = Tensor.constant(np.array([0], np.int32))
    x = whole()
    main.op("WHILE", [first, x], outputs, cond_subgraph_index=condition, body_subgraph_index=body)
    main.inputs, main.outputs = [x], outputs
    return model.to_bytes()


def test_a_loop_over_a_list_allocates_nothing(counter, tmp_path):
    path = tmp_path / "list.tflite"
    path.write_bytes(list_of_rows(20, 6))
    assert allocations(counter, path) == 0


def test_the_counter_counts(counter, tmp_path):
    """Details of inputs are new objects; so a zero above means something."""
    program = PROGRAM.replace("        invoke()", "        interpreter.get_input_details(), invoke()")
    path = tmp_path / "net.tflite"
    path.write_bytes(convolution_net(np.random.default_rng(5)))
    assert allocations(counter, path, program=program) > 0
