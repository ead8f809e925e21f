"""tflm_cy with the default delegate's bytes of a CPU without AVX-512."""

import os

from . import tflm_cy

MODES = tflm_cy.MODES
DISTRIBUTIONS = ()
plans = tflm_cy.plans


def start():
    os.environ["TFLM_CY_XNNPACK"] = "avx2"
    return tflm_cy.start()
