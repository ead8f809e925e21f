"""Pages are as large as the system says: of 16 KiB on a Raspberry Pi 5 and on Apple's cores. A preloaded library plays such a system."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import compiler_for

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="preloads a library for Linux")

PROGRAM = """
import ctypes, sys
import numpy as np
from tflm_cy import Interpreter, OpResolverType
given_back = ctypes.CDLL(None).given_back
given_back.restype = ctypes.c_ulong
interpreter = Interpreter(sys.argv[1], experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
interpreter.allocate_tensors()
before = given_back()
for _ in range(2):
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.load(sys.argv[2]))
    interpreter.invoke()
np.save(sys.argv[3], interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
print(given_back() - before)
"""


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    compiler = compiler_for("the library with large pages")
    library = tmp_path_factory.mktemp("pages") / "pages.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, HERE / "large_pages.c", "-ldl"], check=True)
    return library


def chain(rng, halves, widths):
    """CONV_2D behind CONV_2D; all filters are made floats before the first of them, if they are float16."""
    model = Model()
    main = model.subgraph("main")
    x = Tensor([1, 6, 6, widths[0]], "float32")
    main.inputs = [x]
    filters = []
    for inner, outer in pairwise(widths):
        data = (rng.standard_normal((outer, 3, 3, inner)) / (3 * np.sqrt(inner))).astype(np.float16)
        w = Tensor(list(data.shape), "float32") if halves else Tensor.constant(data.astype(np.float32))
        if halves:
            main.op("DEQUANTIZE", [Tensor.constant(data)], [w], 3)
        filters.append(w)
    for w in filters:
        y = Tensor([1, 6, 6, w.shape[0]], "float32")
        main.op(
            "CONV_2D",
            [x, w, Tensor.constant(np.zeros(w.shape[0], np.float32))],
            [y],
            padding="SAME",
            stride_w=1,
            stride_h=1,
        )
        x = y
    main.outputs = [x]
    return model.to_bytes()


def run(folder, blob, x, preloaded):
    """(the output, how often pages were given back)."""
    names = [folder / name for name in ("chain.tflite", "x.npy", "y.npy")]
    names[0].write_bytes(blob)
    np.save(names[1], x)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, names)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(preloaded)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return np.load(names[2]), int(done.stdout)


def test_nothing_beside_what_is_given_back_changes(tmp_path, preloaded):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        widths = rng.integers(5, 60, 9).tolist()
        x = rng.standard_normal((1, 6, 6, widths[0])).astype(np.float32)
        expected, _ = run(tmp_path, chain(np.random.default_rng(seed), False, widths), x, preloaded)
        found, given_back = run(tmp_path, chain(np.random.default_rng(seed), True, widths), x, preloaded)
        assert given_back, "no filters were evicted"
        assert found.tobytes() == expected.tobytes()
