"""Every remaining row of the table of misuse: what a user may get wrong, and what happens then. `test_misuse.py` has the others.

| row | test |
| --- | --- |
| corrupt file, corrupt bytes | here, tests/schema/test_verifier.py (reasons), tests/fuzz |
| missing file; both; neither; path as content; num_threads; resolver types; buffers of any kind | test_misuse.py |
| invoke, get, set before allocate; dtype, rank, dimension; any layout; big-endian | test_misuse.py |
| views and the guard; constants; strings; signatures; delegates; pickling; threads | test_misuse.py |
| everything else | here |
"""

import array
import copy
import itertools
import mmap
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from tests.interpreter.test_misuse import X, plain, result
from tests.machine import wide_sizes
from tflm_cy import Interpreter, OpResolverType, SignatureRunner
from tflm_cy.core import Core

MODES = list(OpResolverType)
MODELS = next(
    (
        p
        for p in (Path(__file__).parents[2] / "../shared/models", Path(os.environ.get("TFLM_CY_MODELS", "/nowhere")))
        if p.is_dir()
    ),
    None,
)


def f32(*shape):
    return Tensor(list(shape), "float32")


@pytest.fixture
def ready():
    interpreter = Interpreter(model_content=plain())
    interpreter.allocate_tensors()
    return interpreter


@pytest.mark.parametrize("kind", ["file", "content"])
def test_corrupt_models_end_in_an_exception_or_a_result(kind, tmp_path):
    blob, path = plain(), tmp_path / "m.tflite"
    rng = np.random.default_rng(0)
    outcomes = set()
    for i in range(180):
        bad = bytearray(blob[: rng.integers(0, len(blob))] if i % 2 else blob)
        if bad and not i % 2:
            bad[rng.integers(0, len(bad))] ^= 1 << rng.integers(0, 8)
        path.write_bytes(bad)
        try:
            interpreter = Interpreter(str(path)) if kind == "file" else Interpreter(model_content=bytes(bad))
            interpreter.allocate_tensors()
            interpreter.invoke()
            outcomes.add("ran")
        except (ValueError, RuntimeError, MemoryError) as error:
            outcomes.add(type(error).__name__)
    assert {"ran", "ValueError"} <= outcomes


def test_a_corrupt_model_says_where():
    for bad, words in ((plain()[:200], "byte"), (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS")):
        with pytest.raises(ValueError, match=f"not a valid Flatbuffer buffer.*{words}"):
            Interpreter(model_content=bad)


def test_a_directory_and_an_empty_file_are_named(tmp_path):
    empty = tmp_path / "empty.tflite"
    empty.touch()
    for path in (tmp_path, empty):
        with pytest.raises(ValueError, match=re.escape(str(path))):
            Interpreter(str(path))


@pytest.mark.parametrize("change", ["truncated", "overwritten"])
def test_a_private_copy_survives_changes_of_the_file(change, tmp_path, monkeypatch):
    monkeypatch.setenv("TFLM_CY_MMAP", "0")
    path = tmp_path / "m.tflite"
    path.write_bytes(plain())
    interpreter = Interpreter(path)
    with open(path, "r+b") as file:
        file.truncate(10) if change == "truncated" else file.write(b"\xff" * len(plain()))
    assert result(interpreter) == [[11, 22, 33, 44]]


@pytest.mark.parametrize("mode", MODES)
def test_mmap_and_array_are_models(mode, tmp_path):
    """The map can be closed as soon as the interpreter is dropped: no cycle keeps it for the collector."""
    path = tmp_path / "m.tflite"
    path.write_bytes(plain())
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        interpreter = Interpreter(model_content=mapped, experimental_op_resolver_type=mode)
        assert result(interpreter) == [[11, 22, 33, 44]]
        del interpreter
    assert result(Interpreter(model_content=array.array("B", plain()))) == [[11, 22, 33, 44]]


@pytest.mark.parametrize("content", [3, 1.5, [1, 2], {}, object(), np.zeros((4, 4), np.uint8)[:, ::2]])
def test_what_is_no_buffer(content):
    with pytest.raises((TypeError, ValueError)):
        Interpreter(model_content=content)


def test_invoke_after_a_resize_says_what_to_do(ready):
    ready.resize_tensor_input(0, [2, 4])
    with pytest.raises(
        RuntimeError, match=r"not ready.*allocate_tensors\(\) first, and again after resize_tensor_input"
    ):
        ready.invoke()


def test_the_guard_counts_the_views(ready):
    views = [ready.tensor(0)(), ready.tensor(2)()]
    with pytest.raises(RuntimeError, match="Alive: 2 views"):
        ready.invoke()
    views.pop()
    with pytest.raises(RuntimeError, match="Alive: 1 view\\."):
        ready.invoke()
    views.clear()
    ready.invoke()


@pytest.mark.parametrize("mode", MODES)
def test_runners_are_no_views(mode):
    interpreter = Interpreter(model_content=plain("serve"), experimental_op_resolver_type=mode)
    runner = interpreter.get_signature_runner()
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert isinstance(runner, SignatureRunner)
    view = interpreter.tensor(0)()
    assert runner(x=X)["y"].tolist() == [[11, 22, 33, 44]]  # nothing moves
    assert view.tolist() == X.tolist()
    with pytest.raises(RuntimeError, match="reference to internal data"):
        runner(x=np.zeros((3, 4), np.float32))
    assert view.tolist() == X.tolist()


def test_a_masked_array_loses_its_mask(ready):
    ready.set_tensor(0, np.ma.masked_array(X, mask=X > 20))
    assert ready.get_tensor(0).tolist() == X.tolist()


@pytest.mark.parametrize("mode", MODES)
def test_sparse_weights_count_right(mode):
    x, y = f32(1, 2), f32(1, 2)
    pattern = Sparsity([0, 1], [("dense", 2), ("csr", [0, 1, 2], [1, 0])])
    w = Tensor([2, 2], "float32", data=np.float32([7, 8]), sparsity=pattern)
    interpreter = Interpreter(
        model_content=Model.single("FULLY_CONNECTED", [x, w, None], [y]).to_bytes(), experimental_op_resolver_type=mode
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.float32([[1, 10]]))
    interpreter.invoke()
    assert interpreter.get_tensor(2).tolist() == [[70, 8]]
    assert interpreter.get_tensor(1).tolist() == [7, 8]


def test_subgraphs_that_do_not_exist(ready):
    for index in (1, 99, -1):
        with pytest.raises(ValueError, match="Invalid subgraph index"):
            ready._get_tensor_details(0, index)
        with pytest.raises(ValueError, match="Invalid subgraph index"):
            ready.get_tensor(0, index)
        with pytest.raises(ValueError, match="subgraph_index is out of range"):
            ready.get_tensor_details(index)


@pytest.mark.parametrize("raw", [b"\1\0\0\0", b"\2\0\0\0\xff\xff\xff\x7f\0\0\0\0\0\0\0\0", b"\xff" * 16])
def test_constant_strings_that_are_none(raw):
    x, y = f32(2), f32(2)
    model = Model.single("NEG", [x], [y])
    model.subgraphs[0].tensor(Tensor([1], "string", data=np.frombuffer(raw, np.uint8)))
    with pytest.raises(ValueError):
        Interpreter(model_content=model.to_bytes()).get_tensor(2)


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_result_is_an_empty_array(mode):
    model = Model.single("WHERE", [Tensor([4], "bool")], [Tensor([1, 1], "int64")])
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=mode)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.zeros(4, bool))
    interpreter.invoke()
    assert interpreter.get_tensor(1).shape == (0, 1)


@pytest.mark.parametrize("mode", MODES)
def test_outputs_are_zero_before_the_first_run(mode):
    interpreter = Interpreter(model_content=plain(), experimental_op_resolver_type=mode)
    interpreter.allocate_tensors()
    assert interpreter.get_tensor(2).tolist() == [[0] * 4]
    assert interpreter.get_tensor(0).tolist() == [[0] * 4]


@pytest.mark.parametrize("mode", MODES)
def test_overwritten_intermediates_have_their_values_but_inside_of_a_delegate(mode):
    tensors = [f32(64) for _ in range(6)]
    model = Model()
    main = model.subgraph("main")
    for a, b in itertools.pairwise(tensors):
        main.op("NEG", [a], [b])
    main.outputs = [tensors[-1]]
    for preserve in (False, True):
        interpreter = Interpreter(
            model_content=model.to_bytes(),
            experimental_op_resolver_type=mode,
            experimental_preserve_all_tensors=preserve,
        )
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.full(64, 3, np.float32))
        interpreter.invoke()
        if preserve or not interpreter.delegate_nodes():
            assert interpreter.get_tensor(1)[0] == -3
        else:
            with pytest.raises(ValueError, match="experimental_preserve_all_tensors"):
                interpreter.get_tensor(1)


@pytest.mark.parametrize("mode", MODES)
def test_a_failing_run_keeps_the_output_and_one_text(mode):
    x, i, y = f32(3), Tensor([2], "int32"), f32(2)
    model = Model.single("GATHER", [x, i], [y])
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=mode)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.float32([1, 2, 3]))
    interpreter.set_tensor(1, np.int32([2, 0]))
    interpreter.invoke()
    interpreter.set_tensor(1, np.int32([7, 0]))
    texts = set()
    for _ in range(20):
        with pytest.raises(RuntimeError, match=r"Node number 0 \(GATHER\) failed to invoke") as caught:
            interpreter.invoke()
        texts.add(str(caught.value))
    assert len(texts) == 1
    assert interpreter.get_tensor(2).tolist() == [3, 1]


@wide_sizes
@pytest.mark.parametrize("shape", [[1 << 30, 1 << 14], [1 << 30, 4, 1 << 12]])
def test_a_huge_shape_is_refused_when_it_is_allocated(shape):
    x, y = f32(1, 4), f32(1, 4)
    interpreter = Interpreter(model_content=Model.single("NEG", [x], [y]).to_bytes())
    interpreter.resize_tensor_input(0, shape)
    with pytest.raises((MemoryError, RuntimeError)):
        interpreter.allocate_tensors()
    interpreter.resize_tensor_input(0, [1, 4])
    interpreter.allocate_tensors()
    interpreter.invoke()


@pytest.mark.parametrize("mode", MODES)
def test_models_that_kill_tensorflow(mode):
    """tflm/keyword_scrambled_8bit aborts it, wakeword/open_melspectrogram without a resize crashes it."""
    if MODELS is None:
        pytest.skip("the shared models are not beside the repository, nor does TFLM_CY_MODELS name their folder")
    program = """
import sys, numpy as np
from tflm_cy import Interpreter, OpResolverType
scrambled = Interpreter(sys.argv[1] + "/tflm/keyword_scrambled_8bit.tflite", experimental_op_resolver_type=OpResolverType[sys.argv[2]])
scrambled.allocate_tensors()
scrambled.invoke()
mel = Interpreter(sys.argv[1] + "/wakeword/open_melspectrogram.tflite", experimental_op_resolver_type=OpResolverType[sys.argv[2]])
try:
    mel.allocate_tensors()
    mel.invoke()
except RuntimeError as error:
    assert "Node number" in str(error), error
else:
    raise AssertionError("ran")
mel.resize_tensor_input(0, [1, 1280], strict=True)
mel.allocate_tensors()
mel.invoke()
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", program, str(MODELS), mode.name], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_copying(ready):
    ready.note = ["mine"]
    for again in (copy.copy(ready), copy.deepcopy(ready)):
        assert result(again) == [[11, 22, 33, 44]] and again.note == ["mine"]
        assert again._interpreter is not ready._interpreter
    ready.allocate_tensors()  # the original is as free as before
    for kind in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle or copy the Interpreter"):
            kind(ready._interpreter)


def test_an_interpreter_without_init():
    interpreter = Interpreter.__new__(Interpreter)
    for call in (
        interpreter.invoke,
        interpreter.allocate_tensors,
        interpreter.get_input_details,
        interpreter.reset_all_variables,
        interpreter.get_signature_list,
        lambda: interpreter.get_tensor(0),
        lambda: interpreter.tensor(0),
        lambda: interpreter.execution_plan(),
    ):
        with pytest.raises(AttributeError):
            call()


CALLS = {
    "allocate": (),
    "arena_used_bytes": (),
    "delegate": (None,),
    "delegate_nodes": (),
    "explain": (),
    "execution_plan": (),
    "get_tensor": (0,),
    "inputs": (),
    "invoke": (),
    "is_safe": (),
    "node_count": (),
    "node_details": (0,),
    "num_subgraphs": (),
    "outputs": (),
    "record": ([],),
    "reset_variables": (),
    "resize": (0, [1], False),
    "run_node": (0,),
    "run_signature": (0, {}, {}, {}),
    "set_num_threads": (2,),
    "set_tensor": (0, X),
    "steps": (),
    "tensor_count": (),
    "tensor_details": (0,),
    "view": (0,),
    "wants_flex": (),
}


def test_a_core_without_init_does_not_crash():
    """In a process of its own, since what is tested is a crash; every method that the class has is called."""
    methods = {name for name in dir(Core) if not name.startswith("_") and callable(getattr(Core, name))}
    assert methods <= set(CALLS), f"call {methods - set(CALLS)} too"
    program = f"""
import numpy as np
from numpy import array, float32
from tflm_cy.core import Core
X = np.zeros((1, 4), np.float32)
for name, arguments in {[(name, a) for name, a in CALLS.items() if name in methods and name != "set_tensor"]!r} + [("set_tensor", (0, X))]:
    try:
        getattr(Core.__new__(Core), name)(*arguments)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        pass
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_the_inside_taken_away(ready):
    ready._interpreter = None
    with pytest.raises(AttributeError):
        ready.invoke()
    del ready._interpreter
    with pytest.raises(AttributeError):
        ready.invoke()
