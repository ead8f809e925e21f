"""Sides: the interpreters that can be compared, one file each.

A side is a module with

    MODES           the op resolvers that it has, by TensorFlow's names
    DISTRIBUTIONS   the packages whose version stands for its behaviour: its outcomes may be cached; () means never
    start()         import the runtime; returns `open_interpreter(model, mode, threads=1, **options)`, which makes
                    an object with tf.lite.Interpreter's methods from bytes or a path
    plans(interpreter)   optional: the execution plan and the delegate nodes of every subgraph, as `live_plans` has them

Nothing is imported before `start`. A side is named by its file here, or by any importable module's name.
"""

import importlib
import importlib.util

OWN = (
    "tflm_cy",
    "tflm_cy_avx2",
    "tflm_cy_micro",
    "tflm_cy_micro_overlap",
    "tensorflow",
    "tensorflow_avx2",
    "ai_edge_litert",
    "tflite_micro",
)


def load_side(name):
    """The side's module."""
    return importlib.import_module(f"compat.sides.{name}" if name in OWN else name)


def lookalike(module_name, names=("Interpreter", "OpResolverType")):
    """`open_interpreter` of a module that looks like tf.lite.Interpreter's."""
    module = importlib.import_module(module_name)
    interpreter, resolvers = (getattr(module, name) for name in names)

    def open_interpreter(model, mode, threads=1, **options):
        source = {"model_content": model} if isinstance(model, bytes) else {"model_path": model}
        resolver = getattr(resolvers, mode)
        return interpreter(**source, num_threads=threads, experimental_op_resolver_type=resolver, **options)

    return open_interpreter
