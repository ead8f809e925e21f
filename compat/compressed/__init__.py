"""Compressed models against the tflite_micro package; see `__main__`."""
