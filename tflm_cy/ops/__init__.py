"""The operators, one file a family. `find` is the resolver: operator name -> Registration.

A family's module ends with a table `OPERATORS = {"NAME": register(...), ...}` (custom operators: `CUSTOM_OPERATORS`, those that
only TFLM has: `MICRO_OPERATORS`);
setup.py reads these tables into `index.py`, so that a module is imported only when a model needs one of its operators.
README.md beside this file shows how an operator is added.
"""

from functools import cache
from importlib import import_module

from tflm_cy.ops.index import CUSTOM_MODULES, MICRO_MODULES, MODULES, XNNPACK_FLOAT32, XNNPACK_QUANTIZED


def find(name, custom=False):
    """Return the Registration of a builtin or custom operator, None when there is none.

    >>> find("SHAPE").version
    1
    >>> find("NO_SUCH_OPERATOR") is None
    True
    """
    module = (CUSTOM_MODULES if custom else MODULES).get(name)
    if module is None:
        return None
    loaded = import_module(f"{__name__}.{module}")
    return (loaded.CUSTOM_OPERATORS if custom else loaded.OPERATORS)[name]


def find_micro(name, custom=False):
    """As `find` for TFLM's rules, where there are custom operators (`MICRO_OPERATORS`) that TensorFlow Lite does not have."""
    if not custom or name not in MICRO_MODULES:
        return find(name, custom)
    return import_module(f"{__name__}.{MICRO_MODULES[name]}").MICRO_OPERATORS[name]


@cache
def find_xnnpack(name, quantized):
    """Return the Registration of an operator's xnnpack arithmetic, None where its bytes are the other arithmetics'.

    `quantized` is True when one of the node's tensors holds 8-bit or smaller integers: such nodes have modules of their own
    (`xnnpack/quantized_*.pyx`, float32 ones `xnnpack/float32_*.pyx`, the rest serve both).
    """
    module = (XNNPACK_QUANTIZED if quantized else XNNPACK_FLOAT32).get(name)
    return None if module is None else import_module(f"{__name__}.xnnpack.{module}").OPERATORS[name]
