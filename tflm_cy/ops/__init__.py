"""The operators, one file a family. `find` is the resolver: operator name -> Registration.

A family's module ends with a table `OPERATORS = {"NAME": register(...), ...}` (custom operators: `CUSTOM_OPERATORS`, those that
only TFLM has: `MICRO_OPERATORS`);
setup.py reads these tables into `index.py`, so that a module is imported only when a model needs one of its operators.
README.md beside this file shows how an operator is added.
"""

import os
from functools import cache
from importlib import import_module


def __getattr__(name):
    """`AVX2`: whether modules that are compiled twice (setup.py) take the body for it; asked when the first of them is imported."""
    if name != "AVX2":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tflm_cy.simd.table import available

    globals()[name] = "avx2" in available() and os.environ.get("TFLM_CY_ISA") not in ("portable", "scalar")
    return globals()[name]


@cache
def find(name, custom=False):
    """Return the Registration of a builtin or custom operator, None when there is none.

    >>> find("SHAPE").version
    1
    >>> find("NO_SUCH_OPERATOR") is None
    True
    """
    from tflm_cy.ops import index  # four dictionaries that importing the package shall not pay for

    module = (index.CUSTOM_MODULES if custom else index.MODULES).get(name)
    if module is None:
        return None
    loaded = import_module(f"{__name__}.{module}")
    return (loaded.CUSTOM_OPERATORS if custom else loaded.OPERATORS)[name]


def find_micro(name, custom=False):
    """As `find` for TFLM's rules, where there are custom operators (`MICRO_OPERATORS`) that TensorFlow Lite does not have."""
    from tflm_cy.ops import index

    if not custom or name not in index.MICRO_MODULES:
        return find(name, custom)
    return import_module(f"{__name__}.{index.MICRO_MODULES[name]}").MICRO_OPERATORS[name]


@cache
def find_xnnpack(name, values):
    """Return the Registration of an operator's xnnpack arithmetic, None where its bytes are the other arithmetics'.

    `values` says which modules serve the node: "float16" (`xnnpack/float16_*.pyx`), "quantized" when one of its tensors holds 8-bit
    or smaller integers (`xnnpack/quantized_*.pyx`), else "float32" (`xnnpack/float32_*.pyx`); the other modules serve the latter two.
    """
    from tflm_cy.ops import index

    modules = {
        "float16": index.XNNPACK_FLOAT16,
        "float32": index.XNNPACK_FLOAT32,
        "quantized": index.XNNPACK_QUANTIZED,
    }[values]
    module = modules.get(name)
    return None if module is None else import_module(f"{__name__}.xnnpack.{module}").OPERATORS[name]
