"""A drop-in replacement for tf.lite.Interpreter; see __init__.py, which imports the rarer names when they are asked for."""

from tflm_cy import experimental as experimental
from tflm_cy import interpreter as interpreter
from tflm_cy.config import show_config as show_config
from tflm_cy.custom.registry import register_custom_op as register_custom_op
from tflm_cy.custom.registry import unregister_custom_op as unregister_custom_op
from tflm_cy.interpreter import Delegate as Delegate
from tflm_cy.interpreter import Interpreter as Interpreter
from tflm_cy.interpreter import InterpreterWithCustomOps as InterpreterWithCustomOps
from tflm_cy.interpreter import OpResolverType as OpResolverType
from tflm_cy.interpreter import SignatureRunner as SignatureRunner
from tflm_cy.interpreter import load_delegate as load_delegate
from tflm_cy.shim import install as install
from tflm_cy.shim import uninstall as uninstall

__version__: str
