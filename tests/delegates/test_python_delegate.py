"""Delegates written in Python: what they are told, what they may do, and what happens when they fail."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests import harness
from tests.machine import delegated
from tflm_cy import Interpreter, OpResolverType

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def f32(*shape):
    return Tensor(list(shape), "float32")


def chain():
    """x -> LOG -> NEG -> ADD x -> LOG: two nodes in the middle for a delegate."""
    x, a, b, c, y = (f32(2, 3) for _ in range(5))
    model = Model()
    main = model.subgraph("main")
    main.op("LOG", [x], [a])
    main.op("NEG", [a], [b])
    main.op("ADD", [b, x], [c])
    main.op("LOG", [c], [y])
    main.outputs = [y]
    return model.to_bytes()


class NegateAndAdd:
    """Takes NEG and ADD, and computes them with numpy."""

    def __init__(self):
        self.subsets = []
        self.calls = 0

    def supports(self, node):
        return node.op_name in ("NEG", "ADD")

    def build(self, subset):
        self.subsets.append(subset)

        def kernel(inputs, outputs):
            self.calls += 1
            x, a = inputs
            np.subtract(x, a, out=outputs[0])

        return kernel


def run(interpreter, x):
    return harness.run(interpreter, x)[0]


def test_nodes_run_in_python():
    mine = NegateAndAdd()
    interpreter = Interpreter(model_content=chain(), experimental_delegates=[mine])
    assert [o["op_name"] for o in interpreter._get_ops_details()] == ["LOG", "NEG", "ADD", "LOG", "DELEGATE"]
    assert interpreter.execution_plan() == [0, 4, 3]
    assert interpreter.delegate_nodes() == {4: ([1, 2], [0, 1], [3])}
    (subset,) = mine.subsets
    assert [node.op_name for node in subset.nodes] == ["NEG", "ADD"]
    assert [t.shape for t in subset.inputs + subset.outputs] == [(2, 3)] * 3
    interpreter.allocate_tensors()
    x = X + 2
    np.testing.assert_allclose(run(interpreter, x), np.log(x - np.log(x)), rtol=1e-6)
    assert mine.calls == 1
    with pytest.raises(ValueError, match="inside of a delegate"):
        interpreter.get_tensor(2)


@pytest.mark.parametrize("mode", [OpResolverType.AUTO, OpResolverType.BUILTIN_REF])
@delegated
def test_the_default_delegate_takes_what_is_left(mode):
    class Nothing(NegateAndAdd):
        def supports(self, node):
            return node.op_name == "NEG"

        def build(self, subset):
            return lambda inputs, outputs: np.negative(inputs[0], out=outputs[0])

    interpreter = Interpreter(
        model_content=chain(), experimental_delegates=[Nothing()], experimental_op_resolver_type=mode
    )
    interpreter.allocate_tensors()
    assert interpreter.execution_plan() == ([0, 4, 5, 3] if mode is OpResolverType.AUTO else [0, 4, 2, 3])
    np.testing.assert_allclose(run(interpreter, X + 2), np.log(X + 2 - np.log(X + 2)), rtol=1e-6)


def test_shapes_follow_a_resize():
    class Kernel:
        def prepare(self, shapes):
            return [shapes[0]]

        def __call__(self, inputs, outputs):
            np.subtract(inputs[0], inputs[1], out=outputs[0])

    mine = NegateAndAdd()
    mine.build = lambda subset: Kernel()
    interpreter = Interpreter(model_content=chain(), experimental_delegates=[mine])
    interpreter.resize_tensor_input(0, [4, 3])
    interpreter.allocate_tensors()
    x = np.arange(2, 14, dtype=np.float32).reshape(4, 3)
    np.testing.assert_allclose(run(interpreter, x), np.log(x - np.log(x)), rtol=1e-6)


def test_constants_are_told_and_read_only():
    seen = {}

    class Scale:
        def supports(self, node):
            seen["value"] = node.inputs[1].value
            return True

        def build(self, subset):
            def kernel(inputs, outputs):
                seen["writeable"] = [a.flags.writeable for a in (*inputs, *outputs)]
                np.multiply(inputs[0], inputs[1], out=outputs[0])

            return kernel

    x, y = f32(2, 3), f32(2, 3)
    blob = Model.single("MUL", [x, Tensor.constant(np.float32([1, 2, 3]))], [y]).to_bytes()
    interpreter = Interpreter(model_content=blob, experimental_delegates=[Scale()])
    interpreter.allocate_tensors()
    assert run(interpreter, X).tolist() == (X * np.float32([1, 2, 3])).tolist()
    assert seen["value"].tolist() == [1, 2, 3]
    assert seen["writeable"] == [False, False, True]


def test_an_error_of_the_kernel_is_raised_with_its_node():
    mine = NegateAndAdd()

    def broken(inputs, outputs):
        raise KeyError("lost")

    mine.build = lambda subset: broken
    interpreter = Interpreter(model_content=chain(), experimental_delegates=[mine])
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match=r"lost.*Node number 4 \(NegateAndAdd\) failed to invoke"):
        run(interpreter, X)


def test_a_kernel_must_not_keep_its_views():
    kept = []
    mine = NegateAndAdd()
    mine.build = lambda subset: lambda inputs, outputs: kept.extend(inputs)
    interpreter = Interpreter(model_content=chain(), experimental_delegates=[mine])
    interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match="kept a view"):
        run(interpreter, X)
    with pytest.raises(RuntimeError, match="at least 1 reference"):
        interpreter.invoke()
    kept.clear()
    with pytest.raises(RuntimeError, match="kept a view"):
        interpreter.invoke()


@pytest.mark.parametrize("mine", [object(), "libedgetpu.so", 3])
def test_what_is_no_delegate_is_refused(mine):
    with pytest.raises(ValueError, match="supports"):
        Interpreter(model_content=chain(), experimental_delegates=[mine])


def test_build_must_give_a_callable():
    mine = NegateAndAdd()
    mine.build = lambda subset: None
    with pytest.raises(TypeError, match="NoneType"):
        Interpreter(model_content=chain(), experimental_delegates=[mine])


def test_wrong_shapes_from_prepare():
    class Kernel:
        def __init__(self, shapes):
            self.shapes = shapes

        def prepare(self, shapes):
            return self.shapes

        def __call__(self, inputs, outputs):
            raise AssertionError

    for shapes in ([], [(2,), (3,)], [(1,) * 17], [(-1, 3)]):
        mine = NegateAndAdd()
        mine.build = lambda subset, shapes=shapes: Kernel(shapes)
        interpreter = Interpreter(model_content=chain(), experimental_delegates=[mine])
        with pytest.raises(RuntimeError, match="failed to prepare"):
            interpreter.allocate_tensors()
