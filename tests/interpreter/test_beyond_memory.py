"""Shapes that no memory holds: RuntimeError, as TensorFlow raises, that names tensor and node; and the interpreter lives on."""

import subprocess
import sys

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import WIDE, wide_sizes
from tflm_cy import Interpreter, OpResolverType

MODES = list(OpResolverType)


def small():
    return [Tensor([1, 4], "float32", name="x"), Tensor([1, 4], "float32", name="y")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [[1 << 30, 1 << 14], [1 << 30, 4, 1 << 12], [1 << 16, 1 << 30], [1 << 30, 1 << 30]])
def test_a_resize_names_the_tensor_and_who_reads_it(mode, shape):
    x, y = small()
    interpreter = Interpreter(
        model_content=Model.single("NEG", [x], [y]).to_bytes(), experimental_op_resolver_type=mode
    )
    with pytest.raises(RuntimeError, match=r"tensor [01] '[xy]'.*\(NEG\)") as caught:
        interpreter.resize_tensor_input(0, shape)
        interpreter.allocate_tensors()
    countable = WIDE and shape != [1 << 30, 1 << 30]  # there may be so many bytes
    assert "\n" not in str(caught.value) and isinstance(caught.value, MemoryError) == countable
    interpreter.resize_tensor_input(0, [1, 4])
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.float32([[1, 2, 3, 4]]))
    interpreter.invoke()
    assert interpreter.get_tensor(1).tolist() == [[-1, -2, -3, -4]]


@wide_sizes
@pytest.mark.parametrize("mode", MODES)
def test_the_tensor_that_takes_most_is_named_with_who_writes_it(mode):
    x, y = Tensor([1 << 24], "float32", name="x"), Tensor([1 << 20], "float32", name="sum")
    wide, one = Tensor([1 << 24, 1 << 22], "float32", name="wide"), Tensor([1 << 22], "float32", name="one")
    model = Model()
    graph = model.subgraph("main")
    column = Tensor([1 << 24, 1], "float32", name="column")
    graph.op("RESHAPE", [x, Tensor.constant(np.int32([1 << 24, 1]))], [column])
    graph.op("DIV", [column, one], [wide])
    graph.op("SUM", [wide, Tensor.constant(np.int32([0]))], [y])
    graph.inputs, graph.outputs = [x, one], [y]
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=mode)
    text = rf"'wide'.*: {1 << 48} bytes, FLOAT32 \[{1 << 24}, {1 << 22}\].*failed to allocate its output.*"
    with pytest.raises(RuntimeError, match=text):
        interpreter.allocate_tensors()


LIMITED = """
import resource, sys
if len(sys.argv) == 1:
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    try:
        bytearray(4 << 30)
    except MemoryError:
        sys.exit()
    sys.exit("the limit holds nothing")
import numpy as np
from tflm_cy import Interpreter, OpResolverType
interpreter = Interpreter(sys.argv[1], experimental_op_resolver_type=OpResolverType[sys.argv[2]])
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
interpreter.resize_tensor_input(0, [1 << 30, 1])
try:
    interpreter.allocate_tensors()
except RuntimeError as error:
    print(error)
interpreter.resize_tensor_input(0, [2, 4])
interpreter.allocate_tensors()
interpreter.invoke()
print("alive")
"""


@pytest.mark.parametrize("mode", [mode.name for mode in MODES])
def test_a_process_without_memory(tmp_path, mode):
    path = tmp_path / "m.tflite"
    path.write_bytes(Model.single("NEG", *([t] for t in small())).to_bytes())
    alone = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, check=False, timeout=120)
    if alone.returncode:
        pytest.skip("a limit of 3 GB of addresses does not hold, as in an emulator")
    done = subprocess.run([sys.executable, "-c", LIMITED, path, mode], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said, alive = done.stdout.splitlines()
    assert alive == "alive" and "no memory" in said and "tensor 0 'x'" in said and "(NEG)" in said


def test_a_shape_that_is_known_only_while_running():
    shape, value, y = Tensor([2], "int32", name="shape"), Tensor([], "float32", name="v"), Tensor([1, 1], "float32")
    interpreter = Interpreter(model_content=Model.single("FILL", [shape, value], [y]).to_bytes())
    interpreter.allocate_tensors()
    for wanted in ([1 << 30, 1 << 28], [1 << 30, 1 << 30]):
        interpreter.set_tensor(0, np.int32(wanted))
        with pytest.raises(RuntimeError, match=r"Node number 0 \(FILL\) failed to invoke"):
            interpreter.invoke()
    interpreter.set_tensor(0, np.int32([1, 2]))
    interpreter.invoke()


@pytest.mark.parametrize("mode", MODES)
def test_reshape_says_its_two_counts(mode):
    x, y = Tensor([4], "float32"), Tensor([2, 3], "float32")
    fixed = Model.single("RESHAPE", [x, Tensor.constant(np.int32([2, 3]))], [y]).to_bytes()
    counts = r"num_input_elements != num_output_elements \(4 != 6\).*RESHAPE"
    with pytest.raises(RuntimeError, match=counts):
        interpreter = Interpreter(model_content=fixed, experimental_op_resolver_type=mode)
        interpreter.allocate_tensors()
        interpreter.invoke()
    x, shape, y = Tensor([4], "float32"), Tensor([2], "int32"), Tensor([2, 3], "float32")
    interpreter = Interpreter(
        model_content=Model.single("RESHAPE", [x, shape], [y]).to_bytes(), experimental_op_resolver_type=mode
    )
    interpreter.allocate_tensors()
    for wanted, product in (([2, 3], 6), ([3, -1], 3)):
        interpreter.set_tensor(1, np.int32(wanted))
        with pytest.raises(
            RuntimeError, match=rf"num_input_elements != num_output_elements \(4 != {product}\).*RESHAPE"
        ):
            interpreter.invoke()


@wide_sizes
@pytest.mark.parametrize("mode", MODES)
def test_a_tensor_behind_a_dynamic_one(mode):
    shape, row = Tensor([2], "int32", name="shape"), Tensor([1 << 22], "float32", name="row")
    column, wide = Tensor([1, 1], "float32", name="column"), Tensor([1, 1 << 22], "float32", name="wide")
    model = Model()
    graph = model.subgraph("main")
    graph.op("FILL", [shape, Tensor.constant(np.float32(1).reshape(()))], [column])
    graph.op("DIV", [column, row], [wide])
    graph.inputs, graph.outputs = [shape, row], [wide]
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=mode)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.int32([1 << 24, 1]))
    with pytest.raises(RuntimeError, match=r"'wide'.*failed to allocate its output") as caught:
        interpreter.invoke()
    assert "DIV" in str(caught.value)
    interpreter.set_tensor(0, np.int32([1, 1]))
    interpreter.set_tensor(interpreter.get_input_details()[1]["index"], np.ones(1 << 22, np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).shape == (1, 1 << 22)
