"""How many random draws a test makes: few, so that all tests together take minutes; CI and who changes a kernel ask for more.

TFLM_CY_KERNEL_CASES=2000 python -m pytest tests/simd tests/threads    # random nodes per family, type and instruction set
TFLM_CY_EXAMPLES=3000 python -m pytest tests/memory                    # examples per property
"""

import os

KERNEL_CASES = int(os.environ.get("TFLM_CY_KERNEL_CASES", 20))


def examples(few: int) -> int:
    """Return how many examples a property is tried with: `few` unless the environment asks for another number."""
    return int(os.environ.get("TFLM_CY_EXAMPLES", few))
