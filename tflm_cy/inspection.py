"""What an interpreter tells about its graph beyond tf.lite's methods; the functions take its `core.Core`.

interpreter.execution_plan()      # these are attributes of each interpreter, and not of the class, whose names are tf.lite's
interpreter.delegate_nodes()
interpreter.quirks()
interpreter.profile()
"""


def execution_plan(core, subgraph_index=0):
    """Node indices in the order in which they run, those of a delegate as their DELEGATE node; final after `allocate_tensors`.

    Indices are those of `_get_ops_details()`.
    """
    return core.execution_plan(subgraph_index)


def delegate_nodes(core, subgraph_index=0):
    """`{DELEGATE node: (nodes that it runs, tensors that it reads, tensors that it gives)}`."""
    return core.delegate_nodes(subgraph_index)


def quirks(core, subgraph_index=0):
    """What is peculiar about this model in this mode: results that TensorFlow's default mode gives and that would surprise.

    Final after `allocate_tensors`, when the default delegate has taken its nodes. Nothing is ever printed.

    Returns
    -------
    list of dict
        node (int), op_name, rule (a short name), effect and way_out (sentences).
    """
    if not core.execution_plan(subgraph_index):
        return []
    from tflm_cy.delegates.xnnpack.quirks import quirks as found

    return found(core.subgraphs[subgraph_index])


def profile(core):
    """Record from now on how long each node takes, in every `invoke`; until the profile is stopped.

    Returns
    -------
    tflm_cy.profile.Profile
        A context manager; `nodes()` gives the times, with the multiply-adds and bytes of each node.

    Examples
    --------
    >>> import os
    >>> import tflm_cy.demo
    >>> interpreter = tflm_cy.Interpreter(os.path.join(os.path.dirname(tflm_cy.demo.__file__), "digits_int8.tflite"))
    >>> interpreter.allocate_tensors()
    >>> with interpreter.profile() as recorded:
    ...     interpreter.invoke()
    >>> {node.calls for node in recorded.nodes()}
    {1}
    """
    from tflm_cy.profile import Profile

    return Profile(core)


EXTRAS = {function.__name__: function for function in (execution_plan, delegate_nodes, quirks, profile)}
