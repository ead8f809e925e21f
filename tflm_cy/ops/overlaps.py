"""Operators whose kernels, by TFLM's rules, may write their output over an input that dies: the declaration.

    >>> permits("LOGISTIC", "INT8"), permits("MEAN", "INT8"), permits("CONV_2D", "FLOAT32")
    (True, False, False)

A kernel of these operators writes each element of its output once and for good, and when it does, it has read all that
this element and those before it need; what it reads later lies no lower than what TFLM's reference kernel reads for the
elements that follow. So the distances of `micro.safe_overlaps`, which are about those kernels, hold for these too. A kernel
that writes several elements at once belongs here if it reads first what all of them need and never moves its last block
back over the one before. Copies within are memmove's. Vector kernels (simd) are not used by TFLM's rules: none of them
declares how it walks.

Not here although TFLM's are: CONCATENATION, SPLIT, SPLIT_V (go input by input, output by output), RESIZE_BILINEAR and
RESIZE_NEAREST_NEIGHBOR (go by blocks of columns), and the sums of products on float32, which read again where a sum is
not a number. Every operator that is not listed keeps its outputs
and inputs apart. A test runs generated models of each one that is, its output as near to its inputs as that permits.
"""

_NAMES = """
    ABS ADD AVERAGE_POOL_2D CAST CEIL CONV_2D COS DEPTHWISE_CONV_2D DEQUANTIZE DIV ELU EXP FLOOR FULLY_CONNECTED HARD_SWISH
    LEAKY_RELU LOG LOGICAL_NOT LOGISTIC MAXIMUM MAX_POOL_2D MINIMUM MUL NEG PAD PADV2 PRELU QUANTIZE RELU RELU6 ROUND RSQRT
    SIN SOFTMAX SQRT SQUARE SQUARED_DIFFERENCE SUB TANH
"""
ASCENDING = frozenset(_NAMES.split())

READ_AGAIN = frozenset({("CONV_2D", "FLOAT32"), ("DEPTHWISE_CONV_2D", "FLOAT32"), ("FULLY_CONNECTED", "FLOAT32")})


def permits(op, input_type):
    """Whether the kernel of an operator on this type may be given an output that lies over an input."""
    return op in ASCENDING and (op, input_type) not in READ_AGAIN
