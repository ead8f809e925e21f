"""The .tflite format: verifier, zero-copy readers."""
