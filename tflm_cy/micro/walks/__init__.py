"""What TFLM's kernels do in prepare, operator by operator; see `walk`."""
