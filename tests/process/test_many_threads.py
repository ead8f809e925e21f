"""Eight threads, a thousand runs each: on interpreters of their own, and on one that they share."""

import threading

import numpy as np
import pytest

import tflm_cy
from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

THREADS, RUNS = 8, 1000
MODES = [OpResolverType.AUTO, OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]


def model():
    """A convolution, a softmax and a sum that depends on its order; any batch."""
    rng = np.random.default_rng(3)
    x, a, b, y = (Tensor(s, "float32") for s in ([1, 6, 6, 3], [1, 6, 6, 4], [1, 6, 6, 4], [1, 4]))
    made = Model()
    main = made.subgraph("main")
    weights = [Tensor.constant(rng.standard_normal(s).astype(np.float32)) for s in ((4, 3, 3, 3), (4,))]
    main.op("CONV_2D", [x, *weights], [a], stride_w=1, stride_h=1)
    main.op("SOFTMAX", [a], [b], beta=1.0)
    main.op("SUM", [b, Tensor.constant(np.int32([1, 2]))], [y])
    main.outputs = [y]
    made.signature("serve", inputs={"x": x}, outputs={"y": y})
    return made.to_bytes()


def inputs():
    rng = np.random.default_rng(5)
    return [rng.standard_normal((1, 6, 6, 3)).astype(np.float32) for _ in range(THREADS)]


def results(mode):
    """What each input gives, alone."""
    runner = Interpreter(model_content=model(), experimental_op_resolver_type=mode).get_signature_runner()
    return [runner(x=x)["y"].tobytes() for x in inputs()]


def in_threads(work):
    """Run work(i) in every thread at once; returns the exceptions."""
    errors, start = [], threading.Barrier(THREADS)

    def guarded(i):
        try:
            start.wait()
            work(i)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize("mode", MODES)
def test_one_interpreter_each(mode):
    wanted, given = results(mode), inputs()

    def work(i):
        interpreter = Interpreter(model_content=model(), experimental_op_resolver_type=mode, num_threads=1 + i % 2)
        interpreter.allocate_tensors()
        out = interpreter.get_output_details()[0]["index"]
        for _ in range(RUNS):
            interpreter.set_tensor(0, given[i])
            interpreter.invoke()
            assert interpreter.get_tensor(out).tobytes() == wanted[i]

    assert in_threads(work) == []


@pytest.mark.parametrize("mode", MODES)
def test_one_interpreter_for_all(mode):
    """A call of a signature is one step: set, invoke and get belong together, whoever calls in between waits."""
    wanted, given = results(mode), inputs()
    interpreter = Interpreter(model_content=model(), experimental_op_resolver_type=mode)
    runner = interpreter.get_signature_runner()

    def work(i):
        for _ in range(RUNS):
            assert runner(x=given[i])["y"].tobytes() == wanted[i]

    assert in_threads(work) == []


def test_single_calls_of_a_shared_interpreter():
    """Whole calls alternate: each thread sees values that some thread has set, never a mixture or an error."""
    interpreter = Interpreter(model_content=model())
    interpreter.allocate_tensors()
    given = [np.full((1, 6, 6, 3), i, np.float32) for i in range(THREADS)]

    def work(i):
        for _ in range(RUNS):
            interpreter.set_tensor(0, given[i])
            interpreter.invoke()
            values = interpreter.get_tensor(0)
            assert (values == values.flat[0]).all() and values.flat[0] in range(THREADS)

    assert in_threads(work) == []


def test_resizing_while_others_run():
    """Shapes change under way: a call succeeds, or says that the interpreter is not ready or the shape another."""
    interpreter = Interpreter(model_content=model())
    interpreter.allocate_tensors()

    def work(i):
        for n in range(100):
            try:
                if i == 0:
                    interpreter.resize_tensor_input(0, [1 + n % 3, 6, 6, 3])
                    interpreter.allocate_tensors()
                elif i == 1:
                    interpreter.get_tensor_details()
                    interpreter._get_ops_details()
                else:
                    interpreter.set_tensor(0, np.zeros(interpreter.get_input_details()[0]["shape"], np.float32))
                    interpreter.invoke()
                    interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
            except (RuntimeError, ValueError) as error:
                assert any(
                    words in str(error) for words in ("not ready", "Dimension mismatch", "unallocated", "is null")
                ), error

    assert in_threads(work) == []


def test_python_operators_in_many_threads():
    """They take the lock of the interpreter's thread and the GIL, in this order, and nobody waits for ever."""

    def twice(node):
        np.multiply(node.inputs[0], 2, out=node.outputs[0])

    made = Model.single("Twice", [Tensor([4], "float32")], [Tensor([4], "float32")])
    shared = tflm_cy.InterpreterWithCustomOps(
        [lambda resolver: resolver.register_custom_op("Twice", None, twice)], model_content=made.to_bytes()
    )
    shared.allocate_tensors()

    def work(i):
        for _ in range(RUNS // 4):
            shared.invoke()
            assert shared.get_tensor(1).tolist() == [0] * 4

    assert in_threads(work) == []
