"""Refusals of their own kinds: by an operator only when it runs, as TensorFlow's kernels that look at values and shapes then; of memory."""


class LateRefusalError(ValueError):
    """Raised in prepare, when the outputs have their shapes: the model is allocated; where invoke gets there, it fails with this text."""


class OwnRefusalError(LateRefusalError):
    """Where TensorFlow runs, on memory that is not the tensors' or that nobody wrote: refused when it runs, so that programs allocate
    which never get there (placeholders that are resized, branches not taken)."""


class ShapedRefusalError(ValueError):
    """Raised in prepare, when the outputs have their shapes: those that it has changed have no memory any more."""


class OutOfMemoryError(RuntimeError, MemoryError):
    """Tensors that no memory holds: RuntimeError as TensorFlow raises it, with what is too large; MemoryError for who looks for that."""


COMPRESSED = (
    "The model is compressed for TensorFlow Lite Micro (TFLM_DECODE), and TensorFlow Lite does not run it: use "
    "tflm_cy.micro.MicroInterpreter, or the model from before it was compressed."
)
