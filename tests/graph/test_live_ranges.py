"""Lifetimes as a user sees them: what stays readable, what shares memory, what preserve_all_tensors changes."""

import gc
import weakref

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests import harness
from tflm_cy import Interpreter, OpResolverType


def chain(length, size=256):
    """x + 1 + 1 + ... : `length` ADDs in a row; returns (model bytes, tensor count)."""
    model = Model()
    main = model.subgraph("main")
    one = Tensor.constant(np.ones(size, np.float32))
    x = Tensor([size], "float32")
    main.tensor(x)
    for _ in range(length):
        y = Tensor([size], "float32")
        main.op("ADD", [x, one], [y])
        x = y
    return model.to_bytes()


def run(blob, **options):
    interpreter = harness.allocated(blob, **options)
    harness.run(interpreter, np.zeros(256, np.float32))
    return interpreter


@pytest.mark.parametrize("preserve", [True, False])
def test_intermediates_have_their_values_whether_they_share_memory_or_not(preserve):
    mode = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = run(chain(8), experimental_preserve_all_tensors=preserve, experimental_op_resolver_type=mode)
    assert [float(interpreter.get_tensor(i)[0]) for i in range(2, 10)] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_longer_chain_needs_no_more_head():
    short, long, kept = run(chain(4)), run(chain(40)), run(chain(40), experimental_preserve_all_tensors=True)
    heads = [interpreter._interpreter.subgraphs[0].allocator.arena.head_size for interpreter in (short, long, kept)]
    assert heads[0] == heads[1]
    assert heads[2] > 5 * heads[1]


def test_inputs_keep_their_bytes_over_invoke():
    interpreter = run(chain(12))
    before = interpreter.get_tensor(0)
    interpreter.invoke()
    assert interpreter.get_tensor(0).tobytes() == before.tobytes()


def test_written_but_never_read_is_kept():
    x, one = Tensor([64], "float32"), Tensor.constant(np.ones(64, np.float32))
    unread, a, b, y = (Tensor([64], "float32") for _ in range(4))
    model = Model()
    main = model.subgraph("main")
    main.op("ADD", [x, one], [unread])
    main.op("SUB", [x, one], [a])
    main.op("ADD", [a, one], [b])
    main.op("ADD", [b, one], [y])
    main.outputs = [y]
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.full(64, 5, np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(2)[0] == 6


def test_the_collector_frees_interpreters_in_cycles():
    """Interpreters that only cycles hold are freed whole, in whatever order the collector takes their parts."""
    x, y = Tensor([4], "float32"), Tensor([4], "float32")
    blob = Model.single("NEG", [x], [y]).to_bytes()
    with harness.new_objects_only():
        for _ in range(20):
            interpreter = Interpreter(model_content=blob)
            interpreter.allocate_tensors()
            interpreter.invoke()
            interpreter.me = [interpreter, interpreter._interpreter, interpreter._interpreter.subgraphs]
            reference = weakref.ref(interpreter)
            del interpreter
            gc.collect()
            assert reference() is None
