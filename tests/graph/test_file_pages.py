"""The pages of a mapped file: given back behind the first invoke, which packs the weights, and read in again for who asks."""

from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

RNG = np.random.default_rng(12)
CHANNELS = 512
FILTERS = RNG.integers(-127, 128, (CHANNELS, 1, 1, CHANNELS)).astype(np.int8)
X = RNG.integers(-128, 128, (1, 2, 2, CHANNELS)).astype(np.int8)
MODES = ["AUTO", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN_REF"]

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux's count of resident pages")


@pytest.fixture
def path(tmp_path):
    """A convolution whose weights are 256 KiB of the file."""
    model = Model()
    main = model.subgraph("main")
    x, y = (Tensor(list(X.shape), "int8", scale=0.05, zero_point=0) for _ in range(2))
    w = Tensor.constant(FILTERS, scale=0.001, zero_point=0)
    bias = Tensor.constant(np.zeros(CHANNELS, np.int32), scale=0.00005, zero_point=0)
    main.op("CONV_2D", [x, w, bias], [y], padding="SAME", stride_w=1, stride_h=1)
    main.inputs, main.outputs = [x], [y]
    path = tmp_path / "convolution.tflite"
    path.write_bytes(model.to_bytes())
    return path


def resident(path):
    """Bytes in memory of all mappings of a file."""
    total, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, value = line.partition(":")
        if "-" in name.split()[0]:
            inside = line.endswith(str(path))
        elif inside and name == "Rss":
            total += 1024 * int(value.split()[0])
    return total


class Opened:
    """An interpreter with its input; details are asked for once, as they are read from the file."""

    def __init__(self, mode, **source):
        self.interpreter = Interpreter(**source, experimental_op_resolver_type=OpResolverType[mode])
        self.tensors = self.interpreter.get_tensor_details()
        self.x = self.interpreter.get_input_details()[0]["index"]
        self.y = self.interpreter.get_output_details()[0]["index"]
        self.set(X)

    def set(self, value):
        self.interpreter.resize_tensor_input(self.x, value.shape)
        self.interpreter.allocate_tensors()
        self.interpreter.set_tensor(self.x, value)

    def run(self):
        self.interpreter.invoke()
        return self.interpreter.get_tensor(self.y)


@pytest.mark.parametrize("mode", MODES)
def test_weights_that_are_packed_leave_the_memory(mode, path):
    expected = Opened(mode, model_content=path.read_bytes()).run()
    opened = Opened(mode, model_path=str(path))
    for _ in range(3):
        assert opened.run().tobytes() == expected.tobytes()
        assert resident(path) < FILTERS.nbytes // 2


@pytest.mark.parametrize("mode", MODES)
def test_who_looks_at_the_file_again_finds_it(mode, path):
    opened = Opened(mode, model_path=str(path))
    expected = opened.run().tobytes()
    weights = next(d for d in opened.tensors if list(d["shape"]) == list(FILTERS.shape))
    np.testing.assert_array_equal(opened.interpreter.get_tensor(weights["index"]), FILTERS)
    opened.set(np.concatenate([X, X]))
    assert opened.run().tobytes() == 2 * expected
    assert resident(path) < FILTERS.nbytes // 2


def test_another_interpreter_of_the_file_is_not_disturbed(path):
    one, other = (Opened("BUILTIN_REF", model_path=str(path)) for _ in range(2))
    assert one.run().tobytes() == other.run().tobytes() == one.run().tobytes()


@pytest.mark.parametrize("mode", MODES)
def test_bytes_of_the_caller_stay(mode, path):
    content = path.read_bytes()
    Opened(mode, model_content=content).run()
    assert content == path.read_bytes()
