"""Scalar definitions of the optimized arithmetic, by family: only what differs from the reference's bytes."""
