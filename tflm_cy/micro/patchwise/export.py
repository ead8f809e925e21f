"""The file of a patch-wise plan: the rewritten model with its offline plan, for a build that runs TFLM.

content = export(search(model))
"""

from tflm_cy.micro.device import REFERENCE, resolve
from tflm_cy.micro.export import REFERENCE_KERNELS, exported
from tflm_cy.schema.writer import rewritten


def export(found):
    """The bytes of the best candidate of a `search.Found`; ValueError when the judge refuses its plan."""
    best = found.best

    def write(metadata):
        return rewritten(found.model, metadata) if best.patched is None else best.patched.content(metadata)

    assumption = REFERENCE_KERNELS
    if best.demand.target.kernels != REFERENCE:
        assumption += f", and what {resolve(found.wanted.target).version} computes is kept apart"
    return exported(found.model, best.demand, best.plan, relaxed=best.relaxed, assumption=assumption, write=write)
