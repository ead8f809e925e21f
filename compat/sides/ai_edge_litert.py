"""Google's LiteRT package, TensorFlow Lite's successor."""

from . import lookalike

MODES = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
DISTRIBUTIONS = ("ai-edge-litert",)


def start():
    return lookalike("ai_edge_litert.interpreter")
