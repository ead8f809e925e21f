"""Patch-wise plans: stages of a model computed tile by tile, by operators that every TensorFlow Lite Micro has.

    >>> from tflm_cy.micro import patchwise                      # doctest: +SKIP
    >>> found = patchwise.search(model, patchwise.Wanted(extra_macs=10))     # doctest: +SKIP
    >>> found.untouched.head, found.best.head                    # doctest: +SKIP
    (36880, 20464)
    >>> content = patchwise.export(found)                        # doctest: +SKIP

`search` finds the stages, `rewrite` makes the model for given ones, `export` writes the model with its memory plan. The
rewritten model computes the same bytes, in TFLM and in TensorFlow Lite.

The idea is patch-based inference (Lin et al., MCUNetV2, 2021); here it needs no runtime of its own.
"""

from tflm_cy.micro.patchwise.candidates import Candidate
from tflm_cy.micro.patchwise.export import export
from tflm_cy.micro.patchwise.rewrite import Patched, rewrite
from tflm_cy.micro.patchwise.search import Found, Wanted, search
from tflm_cy.micro.patchwise.stage import Stage

__all__ = ["Candidate", "Found", "Patched", "Stage", "Wanted", "export", "rewrite", "search"]
