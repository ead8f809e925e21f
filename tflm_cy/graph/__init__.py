"""Tensors, nodes, the contract of operators, lifetimes and the engine."""
