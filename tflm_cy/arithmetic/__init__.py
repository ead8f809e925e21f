"""Scalar building blocks and scalar kernels, by family: the definition of every operator's bits."""
