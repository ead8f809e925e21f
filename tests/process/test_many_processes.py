"""Forks, pickles and pools: an interpreter in other processes; the example that maps a model over a data set."""

import importlib.util
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tflm_cy
from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

from .fork import in_a_fork

ROOT = Path(__file__).resolve().parents[2]
X = np.arange(12, dtype=np.float32).reshape(3, 4)
MODES = list(OpResolverType)


def model():
    """relu(x) + (1, 2, 3, 4), any number of rows."""
    x, a, y = Tensor([1, 4], "float32", shape_signature=[-1, 4]), Tensor([1, 4], "float32"), Tensor([1, 4], "float32")
    made = Model()
    main = made.subgraph("main")
    main.op("RELU", [x], [a])
    main.op("ADD", [a, Tensor.constant(np.float32([1, 2, 3, 4]))], [y])
    main.outputs = [y]
    return made.to_bytes()


def run(interpreter, x=X):
    interpreter.resize_tensor_input(0, x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist()


WANTED = (X + np.float32([1, 2, 3, 4])).tolist()


@pytest.mark.parametrize("mode", MODES)
def test_a_fork_goes_on_with_what_it_has(mode):
    interpreter = Interpreter(model_content=model(), experimental_op_resolver_type=mode, num_threads=2)
    assert run(interpreter) == WANTED
    assert in_a_fork(lambda: run(interpreter) == WANTED) == 0
    assert in_a_fork(lambda: run(Interpreter(model_content=model(), experimental_op_resolver_type=mode)) == WANTED) == 0
    assert in_a_fork(lambda: in_a_fork(lambda: run(interpreter) == WANTED) == 0) == 0
    assert run(interpreter) == WANTED


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_invokes():
    """The thread that holds the lock does not exist in the child."""
    inside, go_on = threading.Event(), threading.Event()

    def wait(node):
        inside.set()
        go_on.wait(30)
        node.outputs[0][:] = node.inputs[0]

    x, y = Tensor([2], "float32"), Tensor([2], "float32")
    interpreter = tflm_cy.InterpreterWithCustomOps(
        [lambda resolver: resolver.register_custom_op("Wait", None, wait)],
        model_content=Model.single("Wait", [x], [y]).to_bytes(),
    )
    interpreter.allocate_tensors()
    worker = threading.Thread(target=interpreter.invoke)
    worker.start()
    assert inside.wait(30)
    # the child's interpreter is in the middle of a run that nobody will finish: it may be read and copied, and must not hang
    copied = pickle.dumps(Interpreter(model_content=model()))
    code = in_a_fork(lambda: interpreter.get_tensor(0).tolist() == [0, 0] and run(pickle.loads(copied)) == WANTED)
    go_on.set()
    worker.join()
    assert code == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["path", "content"])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(mode, source, protocol, tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(model())
    given = {"model_path": path} if source == "path" else {"model_content": bytearray(model())}
    options = {"experimental_preserve_all_tensors": True, "experimental_compress_quantization_zero_points": True}
    interpreter = Interpreter(**given, experimental_op_resolver_type=mode, **options)
    run(interpreter)
    interpreter.note = "mine"
    again = pickle.loads(pickle.dumps(interpreter, protocol))
    assert again.experimental_compress_quantization_zero_points
    assert again.note == "mine" and again._interpreter is not interpreter._interpreter
    with pytest.raises(RuntimeError, match="not ready"):
        again.invoke()  # the state does not travel
    assert run(again) == WANTED
    assert again.get_tensor(1).tolist() == X.tolist()  # the options do
    assert len(again._get_ops_details()) == len(interpreter._get_ops_details())


class Counting(Interpreter):
    """A subclass whose constructor wants something else."""

    def __init__(self, where):
        super().__init__(model_content=where["content"])
        self.runs = 0

    def invoke(self):
        self.runs += 1
        super().invoke()


def test_a_subclass_is_pickled_with_its_attributes():
    interpreter = Counting({"content": model()})
    run(interpreter)
    again = pickle.loads(pickle.dumps(interpreter))
    assert (type(again), again.runs) == (Counting, 1)
    assert run(again) == WANTED and again.runs == 2


class Anything:
    def supports(self, node):
        return node.op_name == "RELU"

    def build(self, subset):
        return lambda inputs, outputs: np.maximum(inputs[0], 0, out=outputs[0])


def test_python_delegates_are_not_pickled():
    interpreter = Interpreter(model_content=model(), experimental_delegates=[Anything()])
    with pytest.raises(TypeError, match="experimental_delegates cannot be pickled"):
        pickle.dumps(interpreter)


def test_a_path_that_is_gone_is_named(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(model())
    pickled = pickle.dumps(Interpreter(path))
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"Could not open .*m\.tflite"):
        pickle.loads(pickled)


def serve(interpreter):
    return run(interpreter)


@pytest.mark.parametrize(
    "method", [m for m in ("fork", "spawn", "forkserver") if m in multiprocessing.get_all_start_methods()]
)
def test_pools_of_processes(method):
    interpreter = Interpreter(model_content=model())
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), path or ""])  # spawned children find this file's package
    try:
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(serve, [interpreter] * 6) == [WANTED] * 6
    finally:
        os.environ["PYTHONPATH"] = path if path is not None else ""


def ways():
    for how in ("loop", "processes", "fork", "spawn", "threads", "joblib", "dask"):
        missing = how in ("joblib", "dask") and importlib.util.find_spec(how) is None
        yield pytest.param(how, marks=pytest.mark.skipif(missing, reason=f"{how} is not installed"))


@pytest.mark.parametrize("how", list(ways()))
def test_the_example(how):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "map_data_set.py", "--how", how, "--workers", "2"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, f"{how}, 2 workers: 97.78% of 360 digits read right\n"), done.stderr
