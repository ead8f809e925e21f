"""Scalar definitions of the xnnpack arithmetic, by family."""
