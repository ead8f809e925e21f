"""The opt-in stand-ins for other interpreters' packages."""

import doctest
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tflm_cy
from compat.builder import Model, Tensor
from tflm_cy import shim

IMPORTS = {
    "tflite_runtime": [
        "from tflite_runtime.interpreter import Interpreter",
        "import tflite_runtime.interpreter as tflite; Interpreter = tflite.Interpreter",
        "import tflite_runtime; Interpreter = tflite_runtime.interpreter.Interpreter; tflite_runtime.__version__",
        "import tflite_runtime as t; t.__git_version__; from tflite_runtime import interpreter; Interpreter = interpreter.Interpreter",
    ],
    "ai_edge_litert": [
        "from ai_edge_litert.interpreter import Interpreter, load_delegate, OpResolverType, Delegate, SignatureRunner",
        "import ai_edge_litert.interpreter as tflite; Interpreter = tflite.Interpreter",
        "from ai_edge_litert.interpreter import Interpreter; from ai_edge_litert.compiled_model import CompiledModel;"
        "from ai_edge_litert.tensor_buffer import TensorBuffer; from ai_edge_litert.options import Options;"
        "from ai_edge_litert.cpu_options import CpuOptions; from ai_edge_litert.cpu_kernel_mode import CpuKernelMode;"
        "from ai_edge_litert.environment import Environment; from ai_edge_litert.hardware_accelerator import HardwareAccelerator;"
        "import tflm_cy.litert; assert CompiledModel is tflm_cy.litert.CompiledModel",
    ],
    "tensorflow": [
        "import tensorflow as tf; Interpreter = tf.lite.Interpreter; tf.__version__.split('.')",
        "import tensorflow as tf; tf.lite.experimental.OpResolverType.BUILTIN_REF; Interpreter = tf.lite.Interpreter",
        "import tensorflow.lite as tflite; Interpreter = tflite.Interpreter; tflite.experimental.load_delegate",
        "from tensorflow.lite.python.interpreter import Interpreter, InterpreterWithCustomOps",
        "from tensorflow.lite.python import interpreter; Interpreter = interpreter.Interpreter",
        "from tensorflow import lite; Interpreter = lite.Interpreter",
    ],
}
CASES = [(package, text) for package, texts in IMPORTS.items() for text in texts]


def python(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


@pytest.mark.parametrize(("package", "text"), CASES)
def test_every_import_that_users_write(package, text):
    done = python(f"import tflm_cy; tflm_cy.install({package!r}); {text}; assert Interpreter is tflm_cy.Interpreter")
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_done_unasked():
    done = python(
        "import sys, tflm_cy; assert not {'tflite_runtime', 'ai_edge_litert', 'tensorflow'} & set(sys.modules);"
        "tflm_cy.install(); assert 'tensorflow' not in sys.modules and 'ai_edge_litert' in sys.modules"
    )
    assert done.returncode == 0, done.stderr


def test_taking_it_back():
    before = set(sys.modules)
    tflm_cy.install("tflite_runtime")
    tflm_cy.install("tflite_runtime")
    assert importlib.util.find_spec("tflite_runtime.interpreter") is not None
    tflm_cy.uninstall()
    assert set(sys.modules) == before


def test_what_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="not 'torch'"):
        tflm_cy.install("torch")
    monkeypatch.setitem(sys.modules, "tflite_runtime", object())
    with pytest.raises(RuntimeError, match="imported already"):
        tflm_cy.install("tflite_runtime")


def test_what_a_stand_in_does_not_have_is_said():
    done = python("import tflm_cy; tflm_cy.install('tensorflow'); import tensorflow as tf; tf.constant(3)")
    assert "tflm_cy.install() has put its own modules there, which have no such name" in done.stderr


def test_the_examples():
    assert doctest.testmod(shim).failed == 0


PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from tflite_runtime.interpreter import Interpreter
interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
interpreter.set_tensor(0, np.float32([1, 2]))
interpreter.invoke()
print(__name__, interpreter.get_tensor(1), sys.argv[2:])
"""


@pytest.mark.parametrize("how", ["file", "module"])
def test_a_whole_program(how, tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM)
    x, y = Tensor([2], "float32"), Tensor([2], "float32")
    (tmp_path / "m.tflite").write_bytes(Model.single("NEG", [x], [y]).to_bytes())
    program = ["prog.py"] if how == "file" else ["-m", "prog"]
    command = [sys.executable, "-m", "tflm_cy", "with", "tflite_runtime", *program, "m.tflite", "--flag", "-x"]

    environment = {**os.environ, "PYTHONPATH": str(Path(tflm_cy.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, f"__main__ {np.float32([-1, -2])} ['--flag', '-x']\n"), done.stderr


@pytest.mark.parametrize("arguments", [["torch", "p.py"], ["tflite_runtime"], ["tflite_runtime", "none.py"]])
def test_wrong_usage(arguments):
    done = subprocess.run([sys.executable, "-m", "tflm_cy", "with", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and "with:" in done.stderr
