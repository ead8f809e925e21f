"""A drop-in replacement for tf.lite.Interpreter on TensorFlow Lite Micro's memory design.

>>> import tflm_cy as tflite
>>> tflite.OpResolverType.BUILTIN_REF.value
2
"""

from tflm_cy import library  # noqa: F401, I001 (first: it finds what the others import)
from tflm_cy import interpreter
from tflm_cy.interpreter import (
    Delegate,
    Interpreter,
    InterpreterWithCustomOps,
    OpResolverType,
    SignatureRunner,
    load_delegate,
)

__version__ = "0.1.0"
__all__ = [
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "OpResolverType",
    "SignatureRunner",
    "__version__",
    "experimental",
    "install",
    "interpreter",
    "load_delegate",
    "register_custom_op",
    "show_config",
    "uninstall",
    "unregister_custom_op",
]


_MODULES = {
    "experimental": "experimental",
    "install": "shim",
    "register_custom_op": "custom.registry",
    "show_config": "config",
    "uninstall": "shim",
    "unregister_custom_op": "custom.registry",
}


def __getattr__(name: str):
    """Import what few programs use when it is asked for: an import costs a tenth of a millisecond."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_MODULES[name]}")
    value = module if name == _MODULES[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
