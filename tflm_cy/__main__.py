"""`python -m tflm_cy`; see `tflm_cy.cli`."""

import sys

from tflm_cy.cli import main

sys.exit(main())
