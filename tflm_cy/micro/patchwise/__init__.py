"""Patch-wise plans: stages of a model computed tile by tile, by operators that every TensorFlow Lite Micro has."""
