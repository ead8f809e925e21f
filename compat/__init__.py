"""Byte-for-byte comparison of interpreters on real and generated models: `python -m compat`; see README.md."""
