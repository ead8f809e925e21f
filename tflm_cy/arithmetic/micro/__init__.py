"""Scalar definitions of operators whose bytes are TensorFlow Lite Micro's own."""
