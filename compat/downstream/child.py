"""One program on one interpreter: `python -m compat.downstream.child SIDE PROGRAM RESULTS.npz [MODELS]`."""

import importlib
import random
import sys
import types
import warnings
from pathlib import Path

import numpy as np

from . import programs


def use_tensorflow(packages):
    """TensorFlow's interpreter under the names of the other runtimes."""
    import tensorflow as tf
    from tensorflow.lite.python import interpreter

    warnings.filterwarnings("ignore", message=".*tf.lite.Interpreter is deprecated.*")
    for package in packages:
        if package != "tensorflow":
            module = types.ModuleType(package)
            module.interpreter, module.__version__ = interpreter, tf.__version__
            sys.modules[package], sys.modules[f"{package}.interpreter"] = module, interpreter


def use_tflm_cy(packages):
    import tflm_cy

    tflm_cy.install(*packages)


def main(side, name, path, models=""):
    program = importlib.import_module(f"{programs.__name__}.{name}")
    (use_tensorflow if side == "tensorflow" else use_tflm_cy)(program.STANDS_IN_FOR)
    random.seed(0)
    np.random.seed(0)
    results = program.run(Path(models) if models else None)
    if not results:
        raise SystemExit(f"{name} gave no results")
    np.savez(path, **{key: np.asarray(value) for key, value in results.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
