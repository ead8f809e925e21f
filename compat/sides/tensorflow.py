"""TensorFlow's own interpreter: the one whose bytes decide.

The package is entered without running its `__init__`: the interpreter needs none of what that imports (a second of work
instead of twenty, a fifth of the memory), and the kernels are the same library's. Where that fails, all of it is imported.
"""

import importlib
import importlib.util
import sys
import types
import warnings

from ..live_plans import read_plans as plans
from . import lookalike

MODES = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu")
_MODULE = "tensorflow.lite.python.interpreter"


__all__ = ["DISTRIBUTIONS", "MODES", "plans", "start"]


def start():
    warnings.filterwarnings("ignore", message=".*tf.lite.Interpreter is deprecated.*")
    _enter_without_init()
    try:
        return lookalike(_MODULE)
    except (ImportError, AttributeError):
        for name in [name for name in sys.modules if name.split(".")[0] == "tensorflow"]:
            del sys.modules[name]
        return lookalike(_MODULE)


def _enter_without_init():
    """Put a package in place whose submodules are TensorFlow's and that has nothing else."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None:
        raise ImportError("TensorFlow is not installed")
    package = types.ModuleType("tensorflow")
    package.__path__, package.__spec__ = list(spec.submodule_search_locations), spec
    sys.modules["tensorflow"] = package
