"""tf.lite.experimental's names that belong to an interpreter."""

from tflm_cy.interpreter import OpResolverType as OpResolverType
from tflm_cy.interpreter import load_delegate as load_delegate
