"""TFLM's arena figures and exported plans against the tflite_micro package; see `__main__`."""
