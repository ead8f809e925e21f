"""CompiledModel: signatures, details, resizes and runs over buffers."""

from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import run_model
from tests.machine import delegated
from tflm_cy.litert import (
    CompiledModel,
    CpuKernelMode,
    CpuOptions,
    Environment,
    HardwareAccelerator,
    Options,
    TensorBuffer,
)

DEMO = Path(__file__).parents[2] / "tflm_cy" / "demo"
KEY = "serving_default"


@pytest.fixture
def digits():
    return CompiledModel.from_file(DEMO / "digits_float.tflite")


def compiled(model):
    return CompiledModel.from_buffer(model.to_bytes())


def added(shape=(2, 3), dtype="float32", signature=None, dynamic=False):
    """z = x + y, whose inputs stand in the file as y, x."""
    flexible = {"shape_signature": [-1, *shape[1:]]} if dynamic else {}
    y, x, z = (Tensor(list(shape), dtype, name=name, **flexible) for name in ("in_y", "in_x", "out"))
    model = Model.single("ADD", [y, x], [z])
    if signature:
        model.signature(signature, inputs={"x": x, "y": y}, outputs={"z": z})
    return model


def test_inputs_have_the_order_of_the_subgraph_and_names_of_the_signature():
    model = compiled(added(signature="add"))
    assert model.get_num_signatures() == 1 and model.get_signature_index("add") == 0
    assert model.get_signature_list() == {"add": {"inputs": ["y", "x"], "outputs": ["z"]}}
    assert model.get_signature_by_index(0) == {"key": "add", "inputs": ["y", "x"], "outputs": ["z"]}
    details = model.get_input_tensor_details("add")
    assert details["x"] == {"name": "in_x", "index": 1, "dtype": "float32", "shape": [2, 3]}
    assert model.get_output_buffer_requirements(0) == {"buffer_size": 24, "supported_types": [1]}


def test_a_model_without_signatures_has_a_placeholder():
    model = compiled(added())
    key = "<placeholder signature>"
    assert model.get_signature_list() == {key: {"inputs": ["in_y", "in_x"], "outputs": ["out"]}}
    assert list(model.get_output_tensor_details(key)) == ["out"]


def test_tensors_of_one_name_are_two_inputs():
    x, y, z = (Tensor([2], "float32", name="same") for _ in range(3))
    model = compiled(Model.single("SUB", [x, y], [z]))
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    inputs[0].write(np.array([5, 6], np.float32))
    inputs[1].write(np.array([1, 2], np.float32))
    model.run_by_index(0, inputs, outputs)
    assert outputs[0].read(2, np.float32).tolist() == [4, 4]


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_runs_by_index_and_by_name(dtype):
    blob = added(dtype=dtype, signature="add")
    model = compiled(blob)
    y, x = np.arange(6).reshape(2, 3).astype(dtype), np.arange(6, 12).reshape(2, 3).astype(dtype)
    [want] = run_model(blob, y, x)
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    inputs[0].write(y)
    inputs[1].write(x)
    model.run_by_index(0, inputs, outputs)
    assert outputs[0].array.tobytes() == want.tobytes()
    result = model.create_output_buffer_by_name("add", "z")
    named = {"x": inputs[1], "y": inputs[0], "another": inputs[0]}
    model.run_by_name("add", named, {"z": result})
    assert result.array.tobytes() == want.tobytes()


def test_arrays_of_the_caller_are_inputs_and_outputs():
    model = compiled(added())
    y, x, z = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32), np.zeros((2, 3), np.float32)
    buffers = [TensorBuffer.create_from_host_memory(array) for array in (y, x, z)]
    for factor in (1, 5):  # what the caller writes into its arrays is what the next run reads
        y[:] = factor
        model.run_by_index(0, buffers[:2], buffers[2:])
        assert (z == factor + 2).all()


def test_a_buffer_may_be_input_and_output():
    model = compiled(added())
    kept, one = model.create_input_buffers(0)
    one.write(np.ones(6, np.float32))
    for _ in range(3):
        model.run_by_index(0, [kept, one], [kept])
    assert (kept.array == 3).all()


def test_a_resize_changes_details_and_buffers():
    model = compiled(added(signature="add", dynamic=True))
    old = model.create_input_buffers(0)
    model.resize_input_tensor(0, [4, 3])
    model.resize_input_tensor_by_name("add", "x", [4, 3])
    assert model.get_input_tensor_details("add")["x"]["shape"] == [4, 3]
    assert model.get_output_tensor_details("add")["z"]["shape"] == [4, 3]
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    inputs[1].write(np.arange(12, dtype=np.float32))
    model.run_by_index(0, inputs, outputs)
    assert outputs[0].read(12, np.float32).tolist() == list(range(12))
    model.run_by_index(0, old, outputs)  # buffers of another shape bring it along
    assert model.get_output_tensor_details("add")["z"]["shape"] == [2, 3]


def test_signatures_of_several_subgraphs_run_apart():
    model = added(signature="add")
    other = model.subgraph("other")
    x, z = Tensor([3], "float32", name="x"), Tensor([3], "float32", name="z")
    other.op("NEG", [x], [z])
    other.inputs, other.outputs = [x], [z]
    model.signature("negate", inputs={"x": x}, outputs={"z": z}, subgraph=other)
    both = compiled(model)
    assert list(both.get_signature_list()) == ["add", "negate"]
    [given], [found] = both.create_input_buffers(1), both.create_output_buffers(1)
    given.write(np.array([1, 2, 3], np.float32))
    both.run_by_index(1, [given], [found])
    assert found.read(3, np.float32).tolist() == [-1, -2, -3]


@pytest.mark.parametrize("mode", list(CpuKernelMode))
def test_kernel_modes_and_threads(mode):
    options = Options(cpu_options=CpuOptions(num_threads=2, kernel_mode=mode))
    model = CompiledModel.from_file(str(DEMO / "digits_int8.tflite"), options=options)
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    model.run_by_index(0, inputs, outputs)
    resolver = options.cpu_options.resolver()
    image = np.zeros((1, 8, 8, 1), np.int8)
    [want] = run_model((DEMO / "digits_int8.tflite").read_bytes(), image, experimental_op_resolver_type=resolver)
    assert outputs[0].array.tobytes() == want.tobytes()


@delegated
def test_what_the_delegate_runs_is_accelerated(digits):
    assert digits.is_fully_accelerated()
    model = added(dtype="int64")
    assert not compiled(model).is_fully_accelerated()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: m.get_signature_by_index(7), "out of range: the model has 1"),
        (lambda m: m.get_signature_by_index(-1), "out of range"),
        (lambda m: m.get_output_tensor_details("no"), "Signature not found: no; the model has serving_default"),
        (lambda m: m.get_input_buffer_requirements(3), "Input index 3 is out of range"),
        (lambda m: m.get_output_buffer_requirements(0, 5), "Signature index 5"),
        (lambda m: m.create_input_buffers(3), "Signature index 3"),
        (lambda m: m.create_input_buffer_by_name(KEY, "no"), "Input tensor not found: no; serving_default has image"),
        (lambda m: m.create_output_buffer_by_name(KEY, "no"), "Output tensor not found"),
        (lambda m: m.run_by_index(0, [], m.create_output_buffers(0)), "number of tensors: 1 vs buffers: 0"),
        (lambda m: m.run_by_name(KEY, {}, {}), "missing some input TensorBuffers: image"),
        (lambda m: m.resize_input_tensor(0, [2, -8, 8, 1]), "Dimensions must be positive"),
        (lambda m: m.resize_input_tensor(0, [1, 9, 8, 1]), "only allows mutating unknown dimensions"),
        (lambda m: m.resize_input_tensor_by_name(KEY, "no", [1]), "Input tensor not found"),
    ],
)
def test_misuse_is_a_runtime_error(digits, call, text):
    with pytest.raises(RuntimeError, match=text):
        call(digits)
    assert digits.get_signature_index("no") == -1


def host(size, dtype=np.float32):
    return TensorBuffer.create_from_host_memory(np.zeros(size, dtype))


def test_wrong_buffers_are_refused_and_nothing_is_written(digits):
    [good], [out] = digits.create_input_buffers(0), digits.create_output_buffers(0)
    for inputs, outputs, text in (
        ([host(64, np.int32)], [out], "image is float32, its buffer int32"),
        ([host(3)], [out], r"image is \[1, 8, 8, 1\], its buffer has 3 elements in \[3\]"),
        ([good], [host(3)], "probabilities has 40 bytes, its buffer has 12"),
    ):
        with pytest.raises(RuntimeError, match=text):
            digits.run_by_index(0, inputs, outputs)
        assert not outputs[0].array.any()
    digits.run_by_index(0, [good], [out])
    assert out.array.any()
    out.destroy()
    with pytest.raises(ValueError, match="destroyed"):
        digits.run_by_index(0, [good], [out])


def test_a_run_that_fails_takes_its_resizes_back(digits):
    shape = digits.get_input_tensor_details(KEY)["image"]["shape"]
    with pytest.raises(RuntimeError, match="CONV_2D"):
        digits.run_by_index(0, [TensorBuffer(np.zeros((1, 8, 8, 0), np.float32))], digits.create_output_buffers(0))
    assert digits.get_input_tensor_details(KEY)["image"]["shape"] == shape
    digits.run_by_index(0, digits.create_input_buffers(0), digits.create_output_buffers(0))


def test_strings_have_no_buffer():
    x, y = (Tensor([2], "string", name=name) for name in "xy")
    model = compiled(Model.single("EQUAL", [x, y], [Tensor([2], "bool", name="z")]))
    assert model.get_input_tensor_details("<placeholder signature>")["x"]["dtype"] == "unknown"
    with pytest.raises(RuntimeError, match="x holds strings"):
        model.create_input_buffers(0)


def test_what_cannot_be_loaded(tmp_path):
    path = DEMO / "digits_int8.tflite"
    for call, error, text in (
        (lambda: CompiledModel.from_file(tmp_path / "none.tflite"), RuntimeError, "Failed to load model from file"),
        (lambda: CompiledModel.from_buffer(b"abc"), RuntimeError, "Failed to load model from buffer"),
        (lambda: CompiledModel.from_buffer("abc"), TypeError, "bytes"),
        (lambda: CompiledModel.from_file(path, HardwareAccelerator.GPU), RuntimeError, "CPU only, and GPU"),
        (lambda: CompiledModel.from_file(path, HardwareAccelerator(0)), RuntimeError, "No acceleration"),
        (
            lambda: CompiledModel.from_file(path, HardwareAccelerator.CPU, options=Options()),
            ValueError,
            "Pass either options or hardware_accel",
        ),
        (
            lambda: CompiledModel.from_file(path, options=Options(cpu_options=CpuOptions(kernel_mode=7))),
            RuntimeError,
            r"kernel_mode is DELEGATE \(0\).*not 7",
        ),
    ):
        with pytest.raises(error, match=text):
            call()
    assert CompiledModel.from_file(path, HardwareAccelerator.CPU | HardwareAccelerator.NPU).get_num_signatures() == 1


def test_closing():
    environment = Environment.create(runtime_path="anywhere")
    with CompiledModel.from_file(DEMO / "digits_float.tflite", environment=environment) as model:
        assert model.environment.options.runtime_path == "anywhere"
        outputs = model.create_output_buffers(0)
    for call in (model.get_num_signatures, model.get_signature_list, lambda: model.create_input_buffers(0)):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    assert outputs[0].read(1, np.float32).size == 1
    model.close()
    environment.close()
    with pytest.raises(ValueError, match="no longer valid"):
        CompiledModel.from_file(DEMO / "digits_float.tflite", environment=environment)
