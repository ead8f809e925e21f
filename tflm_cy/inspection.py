"""What an interpreter tells about its graph beyond tf.lite's methods; the functions take its `core.Core`.

interpreter.execution_plan()      # these are attributes of each interpreter, and not of the class, whose names are tf.lite's
interpreter.delegate_nodes()
interpreter.explain()
interpreter.quirks()
interpreter.profile()
repr(interpreter)                 # `description`
"""

import os


def execution_plan(core, subgraph_index=0):
    """Node indices in the order in which they run, those of a delegate as their DELEGATE node; final after `allocate_tensors`.

    Indices are those of `_get_ops_details()`.
    """
    return core.execution_plan(subgraph_index)


def delegate_nodes(core, subgraph_index=0):
    """`{DELEGATE node: (nodes that it runs, tensors that it reads, tensors that it gives)}`."""
    return core.delegate_nodes(subgraph_index)


def explain(core, subgraph_index=0):
    """What each pass of the optimizer did to the graph, in the order of the passes; final after `allocate_tensors`.

    Returns
    -------
    list of dict
        pass (str), node (int; -1: of the whole graph), op_name (str or None), effect (a sentence whose subject is the node).

    Examples
    --------
    >>> import os
    >>> import tflm_cy.demo
    >>> interpreter = tflm_cy.Interpreter(os.path.join(os.path.dirname(tflm_cy.demo.__file__), "digits_int8.tflite"))
    >>> interpreter.allocate_tensors()
    >>> interpreter.explain()[-1]["pass"]
    'bind'
    """
    return core.explain(subgraph_index)


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


_MOST_NAMED = 3  # tensors of a side in a description
_LONGEST_NAME = 40


def description(interpreter):
    """What `repr` of an interpreter says: the model, the mode, the threads, whether it is allocated, inputs and outputs. Never raises.

    Examples
    --------
    >>> import os
    >>> import tflm_cy.demo
    >>> os.chdir(os.path.dirname(tflm_cy.demo.__file__))
    >>> tflm_cy.Interpreter("digits_int8.tflite")
    <tflm_cy.Interpreter 'digits_int8.tflite' AUTO, 1 thread, not allocated: image int8[1,8,8,1] -> probabilities int8[1,10]>
    """
    kind = type(interpreter)
    name = (
        f"tflm_cy.{kind.__name__}"
        if kind.__module__.startswith("tflm_cy.")
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    try:
        core, arguments = interpreter._interpreter, interpreter._arguments
        model = _source(arguments["model_path"], arguments["model_content"])
        threads = arguments["num_threads"] or 1
        state = "allocated" if core.subgraphs[0].ready else "not allocated"
        sides = " -> ".join(_side(core, tensors) for tensors in (core.inputs(), core.outputs()))
        mode = arguments["experimental_op_resolver_type"].name
        return f"<{name} {model} {mode}, {threads} thread{'s' if threads > 1 else ''}, {state}: {sides}>"
    except Exception:  # half made, or its inside is busy: a debugger wants something nevertheless
        return f"<{name}, not constructed>"


def _source(path, content):
    if path:
        return repr(_shortened(os.fsdecode(path), 2 * _LONGEST_NAME))
    return f"of {memoryview(content).nbytes} bytes"


def _side(core, tensors):
    """The tensors of one side: "x float32[1,4], y int8[] and 2 more"."""
    shown = []
    for index in tensors[:_MOST_NAMED]:
        details = core.tensor_details(index)
        kind = details["dtype"].__name__
        shape = ",".join(map(str, details["shape"]))
        name = repr(_shortened(details["name"], _LONGEST_NAME))[1:-1]
        shown.append(f"{name} {kind.removesuffix('_') if kind != 'bytes_' else 'string'}[{shape}]".lstrip())
    more = f" and {len(tensors) - len(shown)} more" if len(tensors) > len(shown) else ""
    return ", ".join(shown) + more if shown else "nothing"


def _shortened(text, width):
    """Head and tail of a text."""
    tail = (width - 3) // 2
    return text if len(text) <= width else f"{text[: width - 3 - tail]}...{text[-tail:]}"


EXTRAS = {function.__name__: function for function in (execution_plan, delegate_nodes, explain, quirks, profile)}
