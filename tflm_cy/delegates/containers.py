"""TensorFlow's named resources (tables, queues, variables), apart for each interpreter.

TensorFlow names such a resource by container and shared name, for the whole process: two interpreters of one model would fill one table.
So what an interpreter's nodes make lies in a container of its own. A resource outlives the function that has made it; those of an
interpreter that is gone are destroyed before the next function is made, as no destructor may call TensorFlow.
"""

import contextlib
import itertools
import weakref

NUMBERS = itertools.count(1)
ABANDONED = []  # definitions of the nodes that made resources of interpreters that are gone


class Container:
    """Of one interpreter."""

    def __init__(self):
        self.name = f"tflm-cy.{next(NUMBERS)}"  # of letters, digits, dashes, dots
        self.makers = {}  # (container, shared name) -> a NodeDef that gives the resource's handle
        weakref.finalize(self, ABANDONED.append, self.makers).atexit = False

    def place_resource(self, definition):
        """Let a NodeDef make its resource here, if it makes one."""
        from tensorflow.python.framework import op_def_registry

        known = op_def_registry.get(definition.op)
        if known is None or not {"container", "shared_name"} <= {attribute.name for attribute in known.attr}:
            return
        before = definition.attr["container"].s.decode("utf-8", "replace")
        definition.attr["container"].s = (f"{self.name}/{before}" if before else self.name).encode()
        if definition.attr["shared_name"].s and not known.input_arg and is_one_handle(known.output_arg):
            key = definition.attr["container"].s, definition.attr["shared_name"].s
            self.makers[key] = type(definition).FromString(definition.SerializeToString())


def is_one_handle(outputs):
    """True for an operator whose only output is of TensorFlow's type `resource`."""
    from tensorflow.core.framework import types_pb2

    return len(outputs) == 1 and outputs[0].type == types_pb2.DT_RESOURCE


def destroy_abandoned():
    """Free what interpreters that are gone have left."""
    while ABANDONED:
        with contextlib.suppress(IndexError):  # another thread was first
            for definition in ABANDONED.pop().values():
                with contextlib.suppress(Exception):  # what cannot be freed is no defect of the model at hand
                    destroy(definition)


def destroy(definition):
    """Free the resource whose handle a node gives."""
    import tensorflow as tf
    from tensorflow.core.framework import graph_pb2

    graph = graph_pb2.GraphDef()
    graph.node.append(definition)

    def run():
        (handle,) = tf.graph_util.import_graph_def(graph, return_elements=[f"{definition.name}:0"], name="")
        with tf.control_dependencies([tf.raw_ops.DestroyResourceOp(resource=handle, ignore_lookup_error=True)]):
            return tf.constant(0)

    with tf.init_scope():
        tf.compat.v1.wrap_function(run, [])()
