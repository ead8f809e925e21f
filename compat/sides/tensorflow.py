"""TensorFlow's own interpreter: the one whose bytes decide."""

import warnings

from . import lookalike

MODES = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu")


def start():
    warnings.filterwarnings("ignore", message=".*tf.lite.Interpreter is deprecated.*")
    return lookalike("tensorflow.lite.python.interpreter")
