"""Nets of many families with random weights, made here, and measured against tf.lite; see `__main__`."""
