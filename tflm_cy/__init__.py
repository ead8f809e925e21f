"""A drop-in replacement for tf.lite.Interpreter on TensorFlow Lite Micro's memory design.

>>> import tflm_cy as tflite
>>> tflite.OpResolverType.BUILTIN_REF.value
2
"""

from tflm_cy import experimental, interpreter
from tflm_cy._version import __version__
from tflm_cy.config import show_config
from tflm_cy.custom.registry import register_custom_op, unregister_custom_op
from tflm_cy.interpreter import (
    Delegate,
    Interpreter,
    InterpreterWithCustomOps,
    OpResolverType,
    SignatureRunner,
    load_delegate,
)
from tflm_cy.shim import install, uninstall

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
