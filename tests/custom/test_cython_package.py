"""A user's operator in Cython: a package of its own, built against the .pxd files and run in a fresh process."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import tflm_cy

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]

pytestmark = [
    pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"no C compiler ({COMPILER}) to build the package with"),
    pytest.mark.skipif(importlib.util.find_spec("Cython") is None, reason="Cython is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("setuptools") is None, reason="setuptools is not installed"),
]

PROGRAM = """
import pickle, sys
import numpy as np
from compat.builder import Model, Tensor
import example_ops, tflm_cy

def model(options=np.float32(2).tobytes(), dtype="float32"):
    x, y = Tensor([3], dtype), Tensor([3], dtype)
    return Model.single("ExampleRunningMean", [x], [y], custom_options=options).to_bytes()

def run(interpreter, values):
    interpreter.set_tensor(0, np.float32(values))
    interpreter.invoke()
    return interpreter.get_tensor(1).tolist()

def refused(call, *words):
    try:
        call()
    except RuntimeError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(words)

refused(tflm_cy.Interpreter(model_content=model()).allocate_tensors, "unresolved custom op: ExampleRunningMean")
for mode in tflm_cy.OpResolverType:
    own = tflm_cy.InterpreterWithCustomOps(
        custom_op_registerers=["example_ops:register"], model_content=model(), experimental_op_resolver_type=mode)
    own.allocate_tensors()
    assert run(own, [1, 2, 3]) == [2, 4, 6]
    assert run(own, [3, 2, 1]) == [4, 4, 4]
    refused(lambda: run(own, [0, np.nan, 0]), "element 1 of 3 is not a number", "Node number 0 (ExampleRunningMean) failed to invoke")
    own.resize_tensor_input(0, [1])
    own.allocate_tensors()
    assert run(own, [5]) == [10]                       # prepared anew

example_ops.register()
everywhere = pickle.loads(pickle.dumps(tflm_cy.Interpreter(model_content=model())))
everywhere.allocate_tensors()
assert run(everywhere, [1, 1, 1]) == [2, 2, 2]
refused(tflm_cy.Interpreter(model_content=model(b"")).allocate_tensors, "four bytes of a float32", "failed to prepare")
refused(tflm_cy.Interpreter(model_content=model(dtype="int8")).allocate_tensors, "takes one FLOAT32, not INT8")
print("done")
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The directory of the built package."""
    place = tmp_path_factory.mktemp("example") / "package"
    shutil.copytree(HERE / "cython_package", place)
    path = os.pathsep.join([str(Path(tflm_cy.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return place


def test_the_package_runs(package):
    path = os.pathsep.join([str(package), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=package,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_everything_that_is_cimported_ships():
    """What `graph/context.pxd` and its neighbours cimport lies beside the installed package."""
    package = Path(tflm_cy.__file__).parent
    seen, waiting = set(), ["tflm_cy.graph.context", "tflm_cy.graph.tensor", "tflm_cy.schema.table"]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        source = package.joinpath(*module.split(".")[1:]).with_suffix(".pxd")
        assert source.exists(), f"{module} is cimported, and {source.name} does not ship"
        for line in source.read_text().splitlines():
            if line.startswith("from tflm_cy") and " cimport " in line:
                waiting.append(line.split()[1])
    assert len(seen) >= 3
