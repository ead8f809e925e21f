"""Comparison on emulated ARM machines: `python -m compat.arm --help`."""
