"""Sizes that no machine has memory for, but that fit into its size_t."""

import sys

SIZE_MAX = 2 * sys.maxsize + 1
HUGE = 1 << (60 if sys.maxsize > 1 << 32 else 30)
