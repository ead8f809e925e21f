"""What an interpreter tells about its graph beyond tf.lite's methods.

interpreter.execution_plan()      # these are attributes of each interpreter, and not of the class, whose names are tf.lite's
interpreter.delegate_nodes()
interpreter.quirks()
"""


def execution_plan(interpreter, subgraph_index=0):
    """Node indices in the order in which they run, those of a delegate as their DELEGATE node; final after `allocate_tensors`.

    Indices are those of `_get_ops_details()`.
    """
    return interpreter._interpreter.execution_plan(subgraph_index)


def delegate_nodes(interpreter, subgraph_index=0):
    """`{DELEGATE node: (nodes that it runs, tensors that it reads, tensors that it gives)}`."""
    return interpreter._interpreter.delegate_nodes(subgraph_index)


def quirks(interpreter, subgraph_index=0):
    """What is peculiar about this model in this mode: results that TensorFlow's default mode gives and that would surprise.

    Final after `allocate_tensors`, when the default delegate has taken its nodes. Nothing is ever printed.

    Returns
    -------
    list of dict
        node (int), op_name, rule (a short name), effect and way_out (sentences).
    """
    core = interpreter._interpreter
    if not core.execution_plan(subgraph_index):
        return []
    from tflm_cy.delegates.xnnpack.quirks import quirks as found

    return found(core.subgraphs[subgraph_index])


EXTRAS = {function.__name__: function for function in (execution_plan, delegate_nodes, quirks)}
