"""How an operator refuses only when it runs, as TensorFlow's kernels do that look at types, values and shapes while they compute."""


class LateRefusalError(ValueError):
    """Raised in prepare, when the outputs have their shapes: the model is allocated; where invoke gets there, it fails with this text."""


class OwnRefusalError(LateRefusalError):
    """Where TensorFlow runs, on memory that is not the tensors' or that nobody wrote: refused when it runs, so that programs allocate
    which never get there (placeholders that are resized, branches not taken). TFLM's plans are refused at once."""
