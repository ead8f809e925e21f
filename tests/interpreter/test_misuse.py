"""Misuse: what raises, with which type and words, and what a user can do next."""

import enum
import pathlib
import pickle
import threading

import numpy as np
import pytest

import tflm_cy
from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType, load_delegate

X = np.array([[10, 20, 30, 40]], np.float32)


def plain(signature=None):
    """x [1, 4] + (1, 2, 3, 4)."""
    x, y = Tensor([1, 4], "float32"), Tensor([1, 4], "float32")
    model = Model.single("ADD", [x, Tensor.constant(np.array([1, 2, 3, 4], np.float32))], [y])
    if signature:
        model.signature(signature, inputs={"x": x}, outputs={"y": y})
    return model.to_bytes()


@pytest.fixture
def ready():
    interpreter = Interpreter(model_content=plain())
    interpreter.allocate_tensors()
    return interpreter


def result(interpreter):
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, X)
    interpreter.invoke()
    return interpreter.get_tensor(2).tolist()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)])
def test_any_buffer_is_a_model(kind):
    assert result(Interpreter(model_content=kind(plain()))) == [[11, 22, 33, 44]]


@pytest.mark.parametrize("kind", [str, pathlib.Path, lambda p: str(p).encode(), np.str_])
def test_any_path_is_a_path(kind, tmp_path):
    path = tmp_path / "modèle.tflite"
    path.write_bytes(plain())
    interpreter = Interpreter(kind(path))
    path.unlink()
    assert result(interpreter) == [[11, 22, 33, 44]]


@pytest.mark.parametrize("offset", range(1, 8))
def test_content_may_lie_on_any_address(offset):
    block = bytearray(offset) + plain()
    assert result(Interpreter(model_content=memoryview(block)[offset:])) == [[11, 22, 33, 44]]


EMPTY = (None, "", b"", 0, 0.0, False, [], ())


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({}, ValueError, "must be specified"),
        ({"model_path": "a", "model_content": b"b"}, ValueError, "Can't both provide"),
        ({"model_path": "none.tflite"}, FileNotFoundError, "Could not open"),
        ({"model_path": "none.tflite"}, ValueError, "Could not open"),
        ({"model_path": 3}, TypeError, ""),
        ({"model_content": "model.tflite"}, TypeError, "model_path"),
        ({"model_content": b"garbage" * 30}, ValueError, "not a valid Flatbuffer buffer"),
        ({"model_content": plain(), "num_threads": 0}, ValueError, "num_threads should >= 1"),
        ({"model_content": plain(), "num_threads": 1.5}, ValueError, "type of num_threads should be int"),
        (
            {"model_content": plain(), "experimental_op_resolver_type": 1},
            ValueError,
            "Unrecognized passed in op resolver",
        ),
        ({"model_content": plain(), "experimental_delegates": [object()]}, ValueError, "CPU only"),
        ({"model_content": plain(), "experimental_delegates": [None]}, AttributeError, "CPU only"),
        *(
            ({name: empty}, ValueError, "must be specified")
            for name in ("model_path", "model_content")
            for empty in EMPTY
        ),
    ],
)
def test_constructor_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        Interpreter(**arguments)


def test_constructor_accepts_numpy_integers_and_foreign_enums():
    foreign = enum.Enum("OpResolverType", {"AUTO": 0, "BUILTIN_REF": 2})
    for options in ({"num_threads": np.int64(2)}, {"experimental_op_resolver_type": foreign.BUILTIN_REF}):
        assert result(Interpreter(model_content=plain(), **options)) == [[11, 22, 33, 44]]


def test_calls_before_allocate():
    interpreter = Interpreter(model_content=plain())
    with pytest.raises(RuntimeError, match="Invoke called on model that is not ready"):
        interpreter.invoke()
    with pytest.raises(ValueError, match="Tensor data is null"):
        interpreter.get_tensor(0)
    with pytest.raises(ValueError, match="Tensor is unallocated"):
        interpreter.set_tensor(0, X)
    assert interpreter.get_tensor(1).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (X.astype(np.float64), "Got value of type FLOAT64 but expected type FLOAT32"),
        ([[1.0, 2.0, 3.0, 4.0]], "FLOAT64"),
        (X.astype(np.int32), "INT32"),
        (None, "STRING"),
        (X.ravel(), "Dimension mismatch. Got 1 but expected 2"),
        (X[:, :3], "Dimension mismatch. Got 3 but expected 4 for dimension 1 of input 0"),
        ([[1], [1, 2]], "Failed to convert value"),
    ],
)
def test_set_tensor_refuses(ready, value, text):
    with pytest.raises(ValueError, match=text):
        ready.set_tensor(0, value)


@pytest.mark.parametrize(
    "value", [X[:, ::-1], np.asfortranarray(X), np.broadcast_to(np.float32(5), (1, 4)), X.astype(">f4"), np.matrix(X)]
)
def test_set_tensor_takes_any_layout(ready, value):
    ready.set_tensor(0, value)
    assert ready.get_tensor(0).tolist() == np.asarray(value).tolist()


def test_views_of_constants_are_read_only(ready):
    view = ready.tensor(1)()
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[:] = 0


@pytest.mark.parametrize("mode", list(OpResolverType))
@pytest.mark.parametrize("source", ["path", "content"])
def test_setting_a_constant_changes_neither_file_nor_buffer(mode, source, tmp_path):
    blob, path = bytearray(plain()), tmp_path / "m.tflite"
    path.write_bytes(blob)
    given = {"model_path": path} if source == "path" else {"model_content": blob}
    interpreter = Interpreter(**given, experimental_op_resolver_type=mode)
    interpreter.set_tensor(1, np.full(4, 5, np.float32))  # before the allocation ...
    assert result(interpreter) == [[15, 25, 35, 45]]
    interpreter.set_tensor(1, np.full(4, 7, np.float32))  # ... and behind it: the inputs stay
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [[17, 27, 37, 47]]
    assert interpreter.get_tensor(1).tolist() == [7, 7, 7, 7]
    interpreter.resize_tensor_input(0, [2, 4])
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(1).tolist() == [7, 7, 7, 7]
    assert blob == plain() and path.read_bytes() == plain()
    assert result(Interpreter(**given, experimental_op_resolver_type=mode)) == [[11, 22, 33, 44]]


def test_setting_a_constant_keeps_variables_and_waits_for_views():
    x, total, c, a, y = (
        Tensor([2], "float32"),
        Tensor([2], "float32", variable=True),
        None,
        Tensor([2], "float32"),
        None,
    )
    c, y = Tensor.constant(np.float32([1, 1])), Tensor([2], "float32")
    model = Model()
    main = model.subgraph("main")
    main.op("Accumulate", [x, total], [a])
    main.op("MUL", [a, c], [y])
    main.outputs = [y]

    def accumulate(node):
        values, state = node.inputs
        state += values
        node.outputs[0][:] = state

    interpreter = tflm_cy.InterpreterWithCustomOps(
        [lambda resolver: resolver.register_custom_op("Accumulate", None, accumulate)], model_content=model.to_bytes()
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.float32([1, 2]))
    interpreter.invoke()
    view = interpreter.tensor(0)()
    with pytest.raises(RuntimeError, match="reference to internal data"):
        interpreter.set_tensor(3, np.float32([9, 9]))  # would move the memory under the view
    del view
    interpreter.set_tensor(3, np.float32([10, 10]))
    interpreter.invoke()
    assert interpreter.get_tensor(4).tolist() == [20, 40]


def test_constants_that_may_be_shapes_or_indices_stay():
    model = Model.single(
        "RESHAPE", [Tensor([4], "float32"), Tensor.constant(np.int32([2, 2]))], [Tensor([2, 2], "float32")]
    )
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    with pytest.raises(ValueError, match=r"tensor 1 .* is constant"):
        interpreter.set_tensor(1, np.int32([4, 1]))


def test_int4_constants_are_packed():
    model = Model.single(
        "DEQUANTIZE", [Tensor.constant(np.int8([1, 2, 3]), "int4", scale=1.0)], [Tensor([3], "float32")]
    )
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.set_tensor(0, np.int8([1, -8, 7]))
    assert interpreter.get_tensor(0).tolist() == [1, -8, 7]
    with pytest.raises(ValueError, match="must be between -8 and 7"):
        interpreter.set_tensor(0, np.int8([1, 2, 8]))
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert interpreter.get_tensor(1).tolist() == [1, -8, 7]


def test_outputs_stay_readable_when_an_allocation_is_refused(ready):
    result(ready)
    ready.resize_tensor_input(0, [1, 5])
    for _ in range(2):
        with pytest.raises(RuntimeError, match="failed to prepare"):
            ready.allocate_tensors()
        assert ready.get_tensor(2).tolist() == [[11, 22, 33, 44]]
        with pytest.raises(ValueError, match="Tensor data is null"):
            ready.get_tensor(0)
        with pytest.raises(RuntimeError, match="not ready"):
            ready.invoke()
    ready.resize_tensor_input(0, [1, 4])
    assert result(ready) == [[11, 22, 33, 44]]


@pytest.mark.parametrize("index", [-1, 3, 99])
def test_indices_out_of_range(ready, index):
    with pytest.raises(ValueError, match="Invalid tensor index"):
        ready.get_tensor(index)


@pytest.mark.parametrize("index", [0.0, "0", None, [0], 2**40])
def test_indices_of_wrong_types(ready, index):
    with pytest.raises(TypeError):
        ready.get_tensor(index)


def test_a_view_guards_the_memory(ready):
    view = ready.tensor(0)()
    view[:] = X
    for call in (ready.invoke, ready.allocate_tensors, lambda: ready.resize_tensor_input(0, [2, 4])):
        with pytest.raises(RuntimeError, match="reference to internal data"):
            call()
    part = view[0, 1:3]
    del view
    with pytest.raises(RuntimeError, match="reference to internal data"):
        ready.invoke()
    del part
    ready.invoke()
    assert ready.get_tensor(2).tolist() == [[11, 22, 33, 44]]


def test_a_view_outlives_its_interpreter():
    interpreter = Interpreter(model_content=plain())
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, X)
    view = interpreter.tensor(0)()
    del interpreter
    assert view.tolist() == X.tolist()


def test_resize_errors_keep_the_state(ready):
    for shape in ([-1, 4], [2**30, 2**30]):
        with pytest.raises(RuntimeError, match="overflowed"):
            ready.resize_tensor_input(0, shape)
    with pytest.raises(RuntimeError, match="fixed-size"):
        ready.resize_tensor_input(1, [8])
    with pytest.raises(RuntimeError, match="only allows mutating unknown dimensions"):
        ready.resize_tensor_input(0, [2, 4], strict=True)
    with pytest.raises(ValueError, match="Shape should be 1D"):
        ready.resize_tensor_input(0, 8)
    with pytest.raises(RuntimeError, match="not ready"):
        ready.invoke()
    ready.allocate_tensors()
    assert result(ready) == [[11, 22, 33, 44]]


def test_a_constant_keeps_its_shape(ready):
    ready.resize_tensor_input(1, [4])
    assert result(ready) == [[11, 22, 33, 44]]


def test_signatures_refuse():
    runner = Interpreter(model_content=plain("serve")).get_signature_runner()
    assert runner(x=X)["y"].tolist() == [[11, 22, 33, 44]]
    with pytest.raises(ValueError, match="Invalid number of inputs"):
        runner()
    with pytest.raises(ValueError, match="Invalid Input name"):
        runner(z=X)
    with pytest.raises(ValueError, match="FLOAT64"):
        runner(x=X.astype(np.float64))
    assert runner(x=np.zeros((3, 4), np.float32))["y"].shape == (3, 4)
    for value in (None, "1 2 3 4", object()):
        with pytest.raises(AttributeError, match="shape"):
            runner(x=value)
    with pytest.raises(ValueError, match="FLOAT64"):
        runner(x=X.tolist())
    with pytest.raises(ValueError, match="Invalid signature_key"):
        Interpreter(model_content=plain("serve")).get_signature_runner("other")
    with pytest.raises(ValueError, match="model has 0 Signatures"):
        Interpreter(model_content=plain()).get_signature_runner()


def test_delegates_fail_as_programs_expect():
    with pytest.raises(OSError):
        load_delegate("libnone_such.so.1")
    for kind in (ValueError, AttributeError):  # TensorFlow's where it refuses, and where the library is another one
        for library in ("libc.so.6", None):
            with pytest.raises(kind, match="CPU only"):
                load_delegate(library)


def test_pickling_carries_path_or_content(ready, tmp_path):
    assert result(pickle.loads(pickle.dumps(ready))) == [[11, 22, 33, 44]]
    path = tmp_path / "m.tflite"
    path.write_bytes(plain())
    again = pickle.loads(pickle.dumps(Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)))
    assert result(again) == [[11, 22, 33, 44]]
    with pytest.raises(TypeError):
        pickle.dumps(ready._interpreter)


def test_threads_wait_for_each_other(ready):
    ready.set_tensor(0, X)
    errors = []

    def work():
        try:
            for _ in range(200):
                ready.invoke()
                ready.get_tensor(2)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert ready.get_tensor(2).tolist() == [[11, 22, 33, 44]]


@pytest.mark.parametrize("shape", [[], [1], [3], [2, 1], [2, 3], [0]])
def test_strings_after_a_resize_have_the_new_shape(shape):
    """TensorFlow writes what was set into an array of this shape, beyond its end where it has fewer elements."""
    x, y = Tensor([2], "string"), Tensor([1], "int32")
    interpreter = Interpreter(model_content=Model.single("SHAPE", [x], [y], 1, out_type="INT32").to_bytes())
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.array([b"a", b"bc"]))
    interpreter.resize_tensor_input(0, shape)
    found = interpreter.get_tensor(0)
    assert found.shape == tuple(shape) and found.dtype == object
    assert found.ravel().tolist() == [b"a", b"bc", *[None] * 9][: found.size]


def test_strings():
    s, i, o = Tensor([3], "string"), Tensor.constant(np.array([2, 0], np.int32)), Tensor([2], "string")
    interpreter = Interpreter(model_content=Model.single("GATHER", [s, i], [o]).to_bytes())
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(0).tolist() == [b"", b"", b""]
    interpreter.invoke()
    interpreter.set_tensor(0, np.array(["a", "bü", "c"]))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [b"c", b"a"]
    assert interpreter.get_tensor(2).flags.owndata
    with pytest.raises(ValueError, match="string tensors have no view"):
        interpreter.tensor(0)()
    with pytest.raises(ValueError, match="PyBytes_AsStringAndSize"):
        interpreter.set_tensor(0, np.array([1, 2, 3], object))


def test_every_mode_constructs():
    for mode in OpResolverType:
        assert result(Interpreter(model_content=plain(), experimental_op_resolver_type=mode)) == [[11, 22, 33, 44]]


def test_the_six_names_are_everywhere():
    names = {
        "Interpreter",
        "InterpreterWithCustomOps",
        "OpResolverType",
        "SignatureRunner",
        "Delegate",
        "load_delegate",
    }
    assert names <= set(dir(tflm_cy)) and names <= set(dir(tflm_cy.interpreter))
    assert {"OpResolverType", "load_delegate"} <= set(dir(tflm_cy.experimental))


def test_a_string_input_that_was_never_set_is_allocated_again_after_any_resize():
    """As in TensorFlow, which has no memory for it; once it is set, a resize to its own shape changes nothing."""
    x, indices, y = Tensor([2], "string"), Tensor([1], "int32"), Tensor([1], "string")
    interpreter = Interpreter(model_content=Model.single("GATHER", [x, indices], [y], axis=0, batch_dims=0).to_bytes())
    interpreter.allocate_tensors()
    index = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(index, [2])
    with pytest.raises(RuntimeError, match="not ready"):
        interpreter.invoke()
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, np.array([b"a", b"b"], object))
    interpreter.resize_tensor_input(index, [2])
    interpreter.invoke()
