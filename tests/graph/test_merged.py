"""Outputs that lie over inputs: the same bytes in less memory, and only where nobody looks."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType
from tflm_cy.ops import generation

pytestmark = pytest.mark.skipif(not generation.supported(), reason="this CPU has no default delegate")
RNG = np.random.default_rng(8)
SHAPE = [1, 9, 11, 7]
X = RNG.standard_normal(SHAPE).astype(np.float32)


def chain():
    """ADD -> LOGISTIC -> RESHAPE -> PRELU -> MUL by an input of the graph -> MUL with a value that is read again."""
    model = Model()
    main = model.subgraph("main")
    flat = [99, 7]
    x, a, b = (Tensor(SHAPE, "float32") for _ in range(3))
    c, d, e, y = (Tensor(flat, "float32") for _ in range(4))
    slope = Tensor.constant(RNG.standard_normal(7).astype(np.float32))
    main.op("ADD", [x, Tensor.constant(np.float32([0.5]))], [a])
    main.op("LOGISTIC", [a], [b])
    main.op("RESHAPE", [b, Tensor.constant(np.int32(flat))], [c], new_shape=flat)
    main.op("PRELU", [c, slope], [d])
    main.op("MUL", [d, slope], [e])
    main.op("SUB", [d, e], [y])
    main.inputs, main.outputs = [x], [y]
    return model.to_bytes()


BLOB = chain()


def run(blob, **options):
    interpreter = Interpreter(model_content=blob, **options)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
    for _ in range(2):
        interpreter.invoke()
    return interpreter, interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("threads", [1, 4])
def test_bytes_are_the_same(threads):
    _, merged = run(BLOB, num_threads=threads)
    _, apart = run(BLOB, num_threads=threads, fuse=False)
    _, kept = run(BLOB, num_threads=threads, experimental_preserve_all_tensors=True)
    assert merged.tobytes() == apart.tobytes() == kept.tobytes()


def test_an_input_of_the_graph_is_kept():
    interpreter, _ = run(BLOB)
    assert interpreter.get_tensor(interpreter.get_input_details()[0]["index"]).tobytes() == X.tobytes()


@pytest.mark.parametrize("resolver", [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
def test_intermediates_can_be_read_where_tensorflow_shows_them(resolver):
    values = []
    for fuse in (True, False):
        interpreter, _ = run(BLOB, experimental_op_resolver_type=resolver, fuse=fuse)
        values.append([])
        for detail in interpreter.get_tensor_details():
            try:
                values[-1].append(interpreter.get_tensor(detail["index"]).tobytes())
            except ValueError:
                values[-1].append(None)
    assert values[0] == values[1]


def test_a_value_that_is_read_again_is_kept():
    """x * 2 is read by LOGISTIC and afterwards by ADD: neither may write over it too early."""
    model = Model()
    main = model.subgraph("main")
    x, a, b, y = (Tensor(SHAPE, "float32") for _ in range(4))
    main.op("MUL", [x, Tensor.constant(np.float32([2]))], [a])
    main.op("LOGISTIC", [a], [b])
    main.op("SUB", [a, b], [y])
    main.inputs, main.outputs = [x], [y]
    _, got = run(model.to_bytes())
    _, want = run(model.to_bytes(), fuse=False)
    assert got.tobytes() == want.tobytes()


def test_a_constant_fuse_argument_survives_pickling():
    import pickle

    interpreter = Interpreter(model_content=BLOB, fuse=False)
    assert pickle.loads(pickle.dumps(interpreter))._arguments["fuse"] is False
