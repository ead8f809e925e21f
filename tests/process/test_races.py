"""Threads that do at once what is otherwise done one after the other: the first use of the package, looking at a graph while it
changes, views that die elsewhere, an interpreter that a fork has left behind.

With a GIL little of this can go wrong; `python3.14t -m pytest tests/process` asks a CPython without one.
"""

import functools
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

from .fork import in_a_fork

ROOT = Path(__file__).resolve().parents[2]
THREADS = 8
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def chain(length=12):
    """relu(x) + c, again and again; the default delegate takes all of it, and tensors and nodes are added for it."""
    made = Model()
    main = made.subgraph("main")
    x = Tensor([3, 4], "float32")
    for n in range(length):
        a, b = Tensor([3, 4], "float32"), Tensor([3, 4], "float32")
        main.op("RELU", [x], [a])
        main.op("ADD", [a, Tensor.constant(np.float32([n, 0, -n, 1]))], [b])
        x = b
    main.outputs = [x]
    return made.to_bytes()


def chained(x=X, length=12):
    for n in range(length):
        x = np.maximum(x, 0) + np.float32([n, 0, -n, 1])
    return x


def at_once(*works):
    """Run functions in threads of their own, all beginning together; returns what they raised."""
    errors, start = [], threading.Barrier(len(works))

    def guarded(work):
        try:
            start.wait()
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def result(interpreter):
    interpreter.set_tensor(0, X)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


FIRST_USE = """
import threading
from compat.builder import Model, Tensor

operators = ("RELU", "LOGISTIC", "TANH", "ABS", "HARD_SWISH", "NEG", "ELU", "SOFTMAX")
models = [Model.single(op, *([Tensor([1, 32, 32, 8], "float32")] for _ in "xy")).to_bytes() for op in operators]
start, errors = threading.Barrier(len(models)), []

def work(model, threads):
    try:
        start.wait()
        import tflm_cy
        interpreter = tflm_cy.Interpreter(model_content=model, num_threads=threads)
        interpreter.allocate_tensors()
        interpreter.invoke()
        interpreter._get_ops_details()
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=work, args=(model, 1 + n % 2)) for n, model in enumerate(models)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
"""


@pytest.mark.parametrize("turn", range(3))
def test_the_first_use_of_the_package(turn):
    """Eight threads import it, read the schema, choose the kernels and start the pool together."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", FIRST_USE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(sys, "_is_gil_enabled"), reason="a CPython that may be built without a GIL")
def test_no_module_asks_for_the_gil():
    """Each of them says that it does without: importing one that does not would bring the GIL back, with a warning."""
    code = "import importlib, sys, tflm_cy, tflm_cy.index as index\nfree = not sys._is_gil_enabled()\n"
    code += "for name in index.MODULES: importlib.import_module(name)\nassert sys._is_gil_enabled() != free"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHON_GIL", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mode", [OpResolverType.AUTO, OpResolverType.BUILTIN_REF])
def test_looking_at_a_graph_while_it_is_allocated(mode):
    """Tensors and nodes move when a delegate adds its own; who asks for details meanwhile waits or is early, never amid it."""
    blob, wanted = chain(), chained()

    def look(interpreter):
        for _ in range(3):
            assert len(interpreter.get_tensor_details()) >= 37
            assert len(interpreter._get_ops_details()) >= 24
            assert interpreter.execution_plan()
            assert interpreter.delegate_nodes() is not None
            interpreter.get_input_details()
            interpreter.get_output_details()

    for _ in range(30):
        shared = Interpreter(model_content=blob, experimental_op_resolver_type=mode)
        looks = [functools.partial(look, shared)] * (THREADS - 2)
        assert at_once(shared.allocate_tensors, shared.allocate_tensors, *looks) == []
        assert result(shared).tobytes() == wanted.tobytes()


def test_resizing_and_looking():
    shared = Interpreter(model_content=chain())
    shared.allocate_tensors()

    def resize():
        for n in range(60):
            shared.resize_tensor_input(0, [1 + n % 7, 4])
            shared.allocate_tensors()

    def look():
        for _ in range(60):
            for details in (*shared.get_tensor_details(), *shared.get_output_details()):
                assert len(details["shape"]) <= 2
            shared._get_ops_details()
            shared.execution_plan()

    assert at_once(resize, *[look] * 3) == []


def test_views_that_die_in_other_threads():
    """Each is counted once, wherever it is made and dropped: when all are gone, the interpreter may be allocated and run."""
    shared = Interpreter(model_content=chain())
    shared.allocate_tensors()
    bag, lock = [], threading.Lock()

    def make():
        for _ in range(2000):
            view = shared.tensor(0)()
            with lock:
                bag.append(view)
                bag[:] = bag[-16:]

    assert at_once(*[make] * 4) == []
    assert not shared._safe_to_run()
    bag.clear()
    assert shared._safe_to_run()
    assert result(shared).tobytes() == chained().tobytes()


def test_constants_are_replaced_while_others_run():
    """A call sees one value of a constant or another, as whole."""
    x, y = Tensor([64], "float32"), Tensor([64], "float32")
    constant = Tensor.constant(np.zeros(64, np.float32))
    shared = Interpreter(
        model_content=Model.single("ADD", [x, constant], [y]).to_bytes(),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
    )
    shared.allocate_tensors()
    out = shared.get_output_details()[0]["index"]

    def replace():
        for n in range(200):
            shared.set_tensor(1, np.full(64, n % 5, np.float32))

    def run():
        for _ in range(200):
            shared.invoke()
            values = shared.get_tensor(out)
            assert (values == values[0]).all() and values[0] in range(5)

    assert at_once(replace, run, run) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_threads_of_a_child_share_what_the_fork_has_left():
    """The parent's thread holds the lock of a running interpreter, which the child does not have: its threads make it anew, once."""
    made = Model()
    x, y = Tensor([1, 96, 96, 8], "float32"), Tensor([1, 96, 96, 8], "float32")
    weights = [Tensor.constant(np.ones(shape, np.float32)) for shape in ((8, 3, 3, 8), (8,))]
    made.subgraph("main").op("CONV_2D", [x, *weights], [y], stride_w=1, stride_h=1, padding="SAME")
    shared = Interpreter(model_content=made.to_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    shared.allocate_tensors()
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            shared.invoke()

    def use():
        for _ in range(5):
            shared.set_tensor(0, np.zeros((1, 96, 96, 8), np.float32))
            shared.invoke()
            assert (shared.get_tensor(shared.get_output_details()[0]["index"]) == 1).all()

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        for _ in range(5):
            assert in_a_fork(lambda: at_once(*[use] * 4) == [], seconds=60) == 0
    finally:
        stop.set()
        busy.join()
