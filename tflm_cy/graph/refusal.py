"""Refusals of their own kinds: by an operator only when it runs; of memory."""


class LateRefusalError(ValueError):
    """Raised in prepare, when the outputs have their shapes: where invoke gets there, it fails with this text."""


class OwnRefusalError(LateRefusalError):
    """Where TensorFlow runs, on memory that is not the tensors' or that nobody wrote: programs allocate that never get there."""


class ShapedRefusalError(ValueError):
    """Outputs have new shapes, and no memory."""


class OutOfMemoryError(RuntimeError, MemoryError):
    """Tensors that no memory holds: RuntimeError as TensorFlow raises it; MemoryError for who looks for that."""


COMPRESSED = (
    "The model is compressed for TensorFlow Lite Micro (TFLM_DECODE), and TensorFlow Lite does not run it: use "
    "tflm_cy.micro.MicroInterpreter, or the model from before it was compressed."
)
