"""How many random examples a property test runs: few, or the number in TFLM_CY_EXAMPLES (the bar is 10,000)."""

import os


def examples(few: int) -> int:
    """Return the number of examples for `settings(max_examples=...)`."""
    return int(os.environ.get("TFLM_CY_EXAMPLES", few))
