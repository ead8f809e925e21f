"""A drop-in replacement for tf.lite.Interpreter on TensorFlow Lite Micro's memory design.

>>> import tflm_cy as tflite
>>> tflite.OpResolverType.BUILTIN_REF.value
2
"""

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
    "interpreter",
    "load_delegate",
    "show_config",
]


def __getattr__(name: str):
    """Import what few programs use when it is asked for: an import costs a tenth of a millisecond."""
    if name not in ("experimental", "show_config"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = (
        import_module("tflm_cy.experimental") if name == "experimental" else import_module("tflm_cy.config").show_config
    )
    globals()[name] = value
    return value
