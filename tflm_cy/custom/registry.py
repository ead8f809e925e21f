"""Which custom operator a name means: those of one interpreter, then those of the process.

    register_custom_op("Negate", prepare, invoke)           # for every interpreter made from now on
    InterpreterWithCustomOps(model_path="model.tflite", custom_op_registerers=[mine])   # for one: mine(resolver) registers

An interpreter looks names up when it is constructed; what is registered or removed afterwards does not concern it.
"""

import importlib

from tflm_cy.graph.context import Registration

_REGISTERED = {}


def _registration(name, prepare, invoke):
    """The Registration of an operator in Python, or the one that a compiled module gives."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of an operator is a str, not {name!r}")
    if isinstance(prepare, Registration):
        if invoke is not None:
            raise TypeError(f"{name}: a compiled Registration has its own invoke")
        return prepare
    if not callable(invoke) or not (prepare is None or callable(prepare)):
        raise TypeError(f"{name}: prepare (or None) and invoke must be callable")
    from tflm_cy.custom.operator import PythonOperator

    return PythonOperator(name, prepare, invoke)


def register_custom_op(name, prepare, invoke=None):
    """Register a custom operator for every interpreter that is constructed from now on.

    Parameters
    ----------
    name : str
        The custom code in the model.
    prepare : callable, None, or tflm_cy.graph.context.Registration
        `prepare(node)`: shapes of the outputs, requests for memory; see `tflm_cy.custom.operator.Preparation`. None: the
        outputs have the shapes of the file. A Registration comes from a compiled module.
    invoke : callable
        `invoke(node)`: computes `node.outputs` from `node.inputs`, numpy views of the arena; see
        `tflm_cy.custom.operator.Invocation`.

    Examples
    --------
    >>> import numpy as np
    >>> def prepare(node):
    ...     node.set_shape(0, node.inputs[0].shape)
    >>> def invoke(node):
    ...     np.negative(node.inputs[0], out=node.outputs[0])
    >>> register_custom_op("Negate", prepare, invoke)
    >>> unregister_custom_op("Negate")
    """
    _REGISTERED[name] = _registration(name, prepare, invoke)


def unregister_custom_op(name):
    """Forget an operator; KeyError when there is none of this name."""
    del _REGISTERED[name]


class CustomOpResolver:
    """What a registerer of `InterpreterWithCustomOps` is given: takes the operators of one interpreter."""

    def __init__(self):
        self.operators = {}

    def register_custom_op(self, name, prepare, invoke=None):
        """As `tflm_cy.register_custom_op`, for this interpreter alone."""
        self.operators[name] = _registration(name, prepare, invoke)

    def __index__(self):
        raise TypeError(
            "this registerer wants the address of a C++ resolver; tflm_cy has none: register operators in Python or Cython "
            "(tflm_cy.register_custom_op)"
        )

    __int__ = __index__


def collect(registerers):
    """The operators of a list of registerers: callables, or names of such as "module:function".

    Raises
    ------
    ValueError
        A name leads to nothing.
    TypeError
        An entry is neither a name nor callable.
    """
    resolver = CustomOpResolver()
    for registerer in registerers:
        if isinstance(registerer, str):
            registerer = _look_up(registerer)
        elif not callable(registerer):
            raise TypeError(
                f"a registerer of custom operators is a callable or a name, not {type(registerer).__name__}"
            )
        registerer(resolver)
    return resolver.operators


def _look_up(name):
    """The function that "module:function" names."""
    module, _, attribute = name.partition(":")
    try:
        if attribute:
            return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"Looking up symbol '{name}' failed: {error}") from error
    raise ValueError(
        f"Looking up symbol '{name}' failed: C++ registerers cannot be used; name a Python function as 'module:function'"
    )


def resolver(find, operators):
    """`find(name, custom)` with users' operators before the package's own."""
    known = {**_REGISTERED, **operators}
    if not known:
        return find

    def find_with_users(name, custom=False):
        if custom and name in known:
            return known[name]
        return find(name, custom)

    return find_with_users
