"""Custom operators in Cython; `register` makes them known to every interpreter of the process.

>>> import example_ops
>>> example_ops.register()

or for one interpreter: InterpreterWithCustomOps(custom_op_registerers=["example_ops:register"], model_path=...)
"""

import tflm_cy

from .running_mean import OPERATORS


def register(resolver=tflm_cy):
    for name, registration in OPERATORS.items():
        resolver.register_custom_op(name, registration)
