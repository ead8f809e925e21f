"""This package, in each of its resolvers."""

from . import lookalike

MODES = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
DISTRIBUTIONS = ()


def start():
    return lookalike("tflm_cy.interpreter")
