"""tf.lite.experimental's names that belong to an interpreter."""

from tflm_cy.interpreter import OpResolverType, load_delegate

__all__ = ["OpResolverType", "load_delegate"]
