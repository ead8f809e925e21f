"""How an operator refuses only when it runs, as TensorFlow's kernels do that look at types while they compute."""


class LateRefusalError(ValueError):
    """Raised in prepare, when the outputs have their shapes: the model is allocated; where invoke gets there, it fails with this text."""


COMPRESSED = (
    "The model is compressed for TensorFlow Lite Micro (TFLM_DECODE), and TensorFlow Lite does not run it: use "
    "tflm_cy.micro.MicroInterpreter, or the model from before it was compressed."
)
