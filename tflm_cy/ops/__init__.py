"""The operators, one file a family. `find` is the resolver: operator name -> Registration.

A family's module ends with a table `OPERATORS = {"NAME": register(...), ...}`; setup.py reads these tables into `index.py`, so that a
module is imported only when a model needs one of its operators. README.md beside this file shows how an operator is added.
"""

from importlib import import_module

from tflm_cy.ops.index import MODULES


def find(name):
    """Return the Registration of an operator, None when there is none.

    >>> find("SHAPE").version
    1
    >>> find("NO_SUCH_OPERATOR") is None
    True
    """
    module = MODULES.get(name)
    return None if module is None else import_module(f"{__name__}.{module}").OPERATORS[name]
