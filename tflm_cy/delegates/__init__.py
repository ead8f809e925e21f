"""Delegates: what takes nodes out of the execution plan. `xnnpack` is the default one, `python` runs a user's own."""
