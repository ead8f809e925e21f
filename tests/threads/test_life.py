"""The pool's life: many interpreters, many threads of Python, fork, failures, and many short jobs."""

import os
import threading
import time

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter
from tflm_cy.simd import table
from tflm_cy.threads import pool

shares = pytest.mark.skipif(
    table.name() in ("portable", "scalar"),
    reason="with these kernels float filters are not shared, and no worker is woken",
)

RNG = np.random.default_rng(3)
X = RNG.standard_normal((1, 20, 20, 8)).astype(np.float32)


def network(dynamic=False):
    """CONV_2D -> LOGISTIC -> ADD -> CONV_2D, and where asked for WHERE and CONV_2D once more behind it."""
    model = Model()
    main = model.subgraph("main")
    x, a, b, c, y = (Tensor([1, 20, 20, 8], "float32") for _ in range(5))
    weights = [
        Tensor.constant(RNG.standard_normal((8, 3, 3, 8)).astype(np.float32)),
        Tensor.constant(np.zeros(8, np.float32)),
    ]
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    main.op("CONV_2D", [x, *weights], [a], **window)
    main.op("LOGISTIC", [a], [b])
    main.op("ADD", [a, b], [c])
    main.op("CONV_2D", [c, *weights], [y], **window)
    main.inputs, main.outputs = [x], [y]
    if dynamic:
        flags, rows = Tensor([1, 20, 20, 8], "bool"), Tensor([0, 4], "int64")
        main.op("GREATER", [y, Tensor.constant(np.float32([1]))], [flags])
        main.op("WHERE", [flags], [rows])
        z = Tensor([1, 20, 20, 8], "float32")
        main.op("CONV_2D", [y, *weights], [z], **window)
        main.outputs = [y, rows, z]
    return model.to_bytes()


BLOB = network()


def ready(blob=BLOB, threads=4, **options):
    interpreter = Interpreter(model_content=blob, num_threads=threads, **options)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, X)
    return interpreter


def outputs(interpreter):
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]).tobytes() for d in interpreter.get_output_details()]


def warm(interpreter):
    """The outputs, when the workers are awake."""
    for _ in range(50):
        interpreter.invoke()
    return outputs(interpreter)


@shares
def test_many_invokes():
    """Short ones wake workers only where they follow each other closely (CLOSE_NS), which slow builds do not; long ones always do."""
    for blob, invokes in ((BLOB, 1000), (chain(20), 100)):
        wanted, interpreter = outputs(ready(blob, 1)), ready(blob)
        before = pool.state()["jobs"]
        assert all(outputs(interpreter) == wanted for _ in range(invokes))
    assert pool.state()["jobs"] - before > 100


def chain(length):
    """Filters that follow each other directly."""
    model = Model()
    main = model.subgraph("main")
    x = y = Tensor([1, 20, 20, 8], "float32")
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    for _ in range(length):
        weights = [RNG.standard_normal((8, 3, 3, 8)).astype(np.float32), RNG.standard_normal(8).astype(np.float32)]
        before, y = y, Tensor([1, 20, 20, 8], "float32")
        main.op("CONV_2D", [before, *map(Tensor.constant, weights)], [y], **window)
    main.inputs, main.outputs = [x], [y]
    return model.to_bytes()


@shares
@pytest.mark.parametrize("threads", [2, 3, 4])
def test_workers_go_on_by_themselves(threads):
    blob = chain(20)  # worth waking workers for, however far apart the invokes are
    wanted, interpreter = outputs(ready(blob, 1)), ready(blob, threads)
    before, end = pool.state()["followed"], time.monotonic() + 60
    assert all(outputs(interpreter) == wanted for _ in range(300))
    while pool.state()["followed"] == before and time.monotonic() < end:  # on a busy machine few are there in time
        assert outputs(interpreter) == wanted
    assert pool.state()["followed"] > before


def test_chains_of_models_that_go_away():
    """What a worker knows of the next job is not looked at when the model is gone."""
    blobs = [chain(length) for length in (12, 16, 20)]
    wanted = [outputs(ready(blob, 1)) for blob in blobs]
    for i in range(300):
        assert outputs(ready(blobs[i % 3])) == wanted[i % 3]


def test_stages_share_too():
    blob = network(dynamic=True)
    wanted, interpreter = outputs(ready(blob, 1)), ready(blob)
    assert all(outputs(interpreter) == wanted for _ in range(50))


def test_resized_between():
    interpreter = ready()
    for size in (9, 20, 31, 1, 20):
        x = np.random.default_rng(size).standard_normal((2, size, size, 8)).astype(np.float32)
        got = []
        for one in (interpreter, ready(threads=1)):
            one.resize_tensor_input(0, x.shape)
            one.allocate_tensors()
            one.set_tensor(0, x)
            got.append([outputs(one) for _ in range(3)])
        assert got[0] == got[1]


def test_eight_threads_of_python_with_interpreters_of_their_own():
    wanted = outputs(ready(threads=1))
    wrong = []

    def work(threads):
        interpreter = ready(threads=threads)
        for _ in range(200):
            if outputs(interpreter) != wanted:
                wrong.append(threads)

    workers = [threading.Thread(target=work, args=(1 + i % 4,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_eight_threads_of_python_with_one_interpreter():
    wanted, interpreter = outputs(ready(threads=1)), ready()
    workers = [threading.Thread(target=lambda: [interpreter.invoke() for _ in range(100)]) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert outputs(interpreter) == wanted


def in_child(check, seconds=60):
    """Run `check` in a child of fork; True when it returned a true value in time."""
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@shares
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_fork_has_a_pool_of_its_own():
    blob = chain(20)
    interpreter = ready(blob)
    wanted = warm(interpreter)

    def same():
        workers = pool.state()["workers"]
        equal = all(outputs(one) == wanted for one in (interpreter, ready(blob)) for _ in range(100))
        return workers == 0 and equal and pool.state()["workers"] > 0

    assert in_child(same)
    assert outputs(interpreter) == wanted


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_fork_while_others_invoke():
    interpreter, busy, stop = ready(), ready(), threading.Event()
    wanted = outputs(interpreter)

    def keep_busy():
        while not stop.is_set():
            busy.invoke()

    other = threading.Thread(target=keep_busy)
    other.start()
    try:
        assert all(in_child(lambda: all(outputs(interpreter) == wanted for _ in range(20))) for _ in range(10))
    finally:
        stop.set()
        other.join()


class Forks:
    """A delegate for LOGISTIC that forks while the pool is engaged; the child finishes the invoke."""

    def __init__(self):
        self.child = None

    def supports(self, node):
        return node.op_name == "LOGISTIC"

    def build(self, subset):
        def kernel(inputs, outputs):
            if self.child is None:
                self.child = os.fork()
            np.copyto(outputs[0], np.tanh(inputs[0]))

        return kernel


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_amid_an_invoke():
    mine = Forks()
    mine.child = -1
    interpreter = ready(experimental_delegates=[mine])
    wanted = warm(interpreter)
    mine.child = None
    got = outputs(interpreter)
    if mine.child == 0:  # this is the child
        os._exit(0 if got == wanted and all(outputs(interpreter) == wanted for _ in range(20)) else 1)
    assert got == wanted
    assert os.waitstatus_to_exitcode(os.waitpid(mine.child, 0)[1]) == 0


def test_a_failing_node_gives_the_pool_back():
    model = Model()
    main = model.subgraph("main")
    x, a, y = Tensor([4000], "float32"), Tensor([4000], "float32"), Tensor([1], "float32")
    index = Tensor([1], "int32")
    main.op("LOGISTIC", [x], [a])
    main.op("GATHER", [a, index], [y])
    main.inputs, main.outputs = [x, index], [y]
    interpreter = Interpreter(model_content=model.to_bytes(), num_threads=4)
    interpreter.allocate_tensors()
    first, second = (d["index"] for d in interpreter.get_input_details())
    interpreter.set_tensor(first, np.zeros(4000, np.float32))
    for at in (5000, 3, 5000, 3):
        interpreter.set_tensor(second, np.int32([at]))
        if at == 3:
            interpreter.invoke()
        else:
            with pytest.raises(RuntimeError, match="GATHER"):
                interpreter.invoke()
        assert not pool.state()["engaged"]


def test_a_pool_that_has_slept_comes_back():
    wanted, interpreter = outputs(ready(threads=1)), ready()
    for _ in range(5):
        time.sleep(0.01)
        assert outputs(interpreter) == wanted
        assert outputs(interpreter) == wanted
