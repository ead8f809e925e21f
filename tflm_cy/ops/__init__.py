"""The operators, one file a family. `find` is the resolver: operator name -> Registration.

A family's module ends with a table `OPERATORS = {"NAME": register(...), ...}` (custom operators: `CUSTOM_OPERATORS`);
setup.py reads these tables into `index.py`, so that a module is imported only when a model needs one of its operators.
README.md beside this file shows how an operator is added.
"""

from importlib import import_module

from tflm_cy.ops.index import CUSTOM_MODULES, MODULES


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
