"""`install`: programs that import another interpreter get this one, without a change to them. Never done unasked.

    import tflm_cy
    tflm_cy.install()                      # tflite_runtime.interpreter, ai_edge_litert.interpreter and .compiled_model
    import some_program_that_uses_them

    tflm_cy.install("tensorflow")          # and `tf.lite.Interpreter`, for programs that use nothing else of TensorFlow
    tflm_cy.uninstall()

or for a whole program: `python -m tflm_cy with tflite_runtime program.py ARGUMENTS`.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from tflm_cy import __version__, experimental, interpreter, litert

PACKAGES = ("tflite_runtime", "ai_edge_litert", "tensorflow")
DEFAULT = PACKAGES[:2]
# Modules of ai_edge_litert beside its interpreter, and the names that each defines.
LITERT_MODULES = {
    "compiled_model": ("CompiledModel",),
    "cpu_kernel_mode": ("CpuKernelMode",),
    "cpu_options": ("CpuOptions",),
    "environment": ("Environment", "EnvironmentOptions"),
    "hardware_accelerator": ("HardwareAccelerator",),
    "options": ("Options",),
    "tensor_buffer": ("TensorBuffer",),
}
_installed = {}  # package -> its names in sys.modules


class _StandIn(ModuleType):
    """A package, or a module, that has what this package has of it and nothing else."""

    def __getattr__(self, name):
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}: tflm_cy.install() has put its own modules there, which have no such name"
        )


def _module(name, **contents):
    module = _StandIn(name)
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    module.__doc__ = "Stands for the package of this name: see tflm_cy.install."
    module.__dict__.update(contents)
    return module


def _interpreter_module(name):
    """tflm_cy.interpreter under another name; the classes are the same ones."""
    return _module(name, **{public: getattr(interpreter, public) for public in interpreter.__all__})


def _runtime(package):
    inner = _interpreter_module(f"{package}.interpreter")
    version = {"__version__": __version__, "__git_version__": f"tflm_cy {__version__}"}
    found = {name: _module(f"{package}.{name}", **contents) for name, contents in _inner_modules(package).items()}
    found["interpreter"] = inner
    return {package: _module(package, **found, **version), **{module.__name__: module for module in found.values()}}


def _inner_modules(package):
    """What a runtime's package has beside its interpreter: module -> {name: object}."""
    if package != "ai_edge_litert":
        return {}
    return {module: {name: getattr(litert, name) for name in names} for module, names in LITERT_MODULES.items()}


def _tensorflow():
    inner = _interpreter_module("tensorflow.lite.python.interpreter")
    python = _module("tensorflow.lite.python", interpreter=inner)
    extra = {name: getattr(experimental, name) for name in experimental.__all__}
    tried = _module("tensorflow.lite.experimental", **extra)
    lite = _module("tensorflow.lite", Interpreter=interpreter.Interpreter, experimental=tried, python=python)
    top = _module("tensorflow", lite=lite, __version__=f"2.21.0+tflm_cy.{__version__}")
    return {module.__name__: module for module in (top, lite, tried, python, inner)}


def install(*packages):
    """Put this package's interpreter where programs look for another one's.

    Parameters
    ----------
    *packages : str
        Of "tflite_runtime", "ai_edge_litert" and "tensorflow"; none means the first two. The stand-in for "tensorflow" has
        `tensorflow.lite`'s interpreter and nothing else, whether or not TensorFlow is installed.

    Raises
    ------
    ValueError
        Another name.
    RuntimeError
        The program has imported the package already, so that it may hold the real one.

    Examples
    --------
    >>> import tflm_cy
    >>> tflm_cy.install("tflite_runtime")
    >>> from tflite_runtime.interpreter import Interpreter
    >>> Interpreter is tflm_cy.Interpreter
    True
    >>> tflm_cy.uninstall("tflite_runtime")
    """
    for package in packages or DEFAULT:
        if package not in PACKAGES:
            raise ValueError(f"install() serves {', '.join(PACKAGES)}, not {package!r}")
        if package in _installed:
            continue
        if package in sys.modules:
            raise RuntimeError(f"{package} is imported already; call tflm_cy.install({package!r}) before")
        modules = _tensorflow() if package == "tensorflow" else _runtime(package)
        _installed[package] = list(modules)
        sys.modules.update(modules)
    importlib.invalidate_caches()


def uninstall(*packages):
    """Take back what `install` did; imports find the real packages again. None means all."""
    for package in packages or tuple(_installed):
        for name in _installed.pop(package, ()):
            sys.modules.pop(name, None)
