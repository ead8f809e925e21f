"""Operators that the default delegate treats alike, by their numbers."""
from tflm_cy.schema.builtins cimport (
    BUILTIN_ABS, BUILTIN_ADD, BUILTIN_CEIL, BUILTIN_CONCATENATION, BUILTIN_CONV_2D, BUILTIN_COS, BUILTIN_DEPTHWISE_CONV_2D,
    BUILTIN_DEPTH_TO_SPACE, BUILTIN_DEQUANTIZE, BUILTIN_DIV, BUILTIN_ELU, BUILTIN_EXP, BUILTIN_FLOOR, BUILTIN_FULLY_CONNECTED,
    BUILTIN_GELU, BUILTIN_HARD_SWISH, BUILTIN_LEAKY_RELU, BUILTIN_LOGISTIC, BUILTIN_MAXIMUM, BUILTIN_MAX_POOL_2D, BUILTIN_MEAN,
    BUILTIN_MINIMUM, BUILTIN_MUL, BUILTIN_NEG, BUILTIN_PAD, BUILTIN_PRELU, BUILTIN_QUANTIZE, BUILTIN_REDUCE_MAX,
    BUILTIN_REDUCE_MIN, BUILTIN_RELU, BUILTIN_RELU6, BUILTIN_RELU_N1_TO_1, BUILTIN_RESHAPE, BUILTIN_RESIZE_BILINEAR,
    BUILTIN_ROUND, BUILTIN_RSQRT, BUILTIN_SIN, BUILTIN_SLICE, BUILTIN_SPACE_TO_DEPTH, BUILTIN_SPLIT, BUILTIN_SQRT,
    BUILTIN_SQUARE, BUILTIN_SQUARED_DIFFERENCE, BUILTIN_STRIDED_SLICE, BUILTIN_SUB, BUILTIN_SUM, BUILTIN_TANH,
    BUILTIN_TRANSPOSE,
)


cdef inline bint is_unary(int code) noexcept nogil:
    return (
        code == BUILTIN_ABS or code == BUILTIN_CEIL or code == BUILTIN_COS or code == BUILTIN_DEQUANTIZE or code == BUILTIN_ELU
        or code == BUILTIN_EXP or code == BUILTIN_FLOOR or code == BUILTIN_GELU or code == BUILTIN_HARD_SWISH
        or code == BUILTIN_LEAKY_RELU or code == BUILTIN_LOGISTIC or code == BUILTIN_NEG or code == BUILTIN_QUANTIZE
        or code == BUILTIN_RELU or code == BUILTIN_RELU6 or code == BUILTIN_RELU_N1_TO_1 or code == BUILTIN_ROUND
        or code == BUILTIN_RSQRT or code == BUILTIN_SIN or code == BUILTIN_SQRT or code == BUILTIN_SQUARE or code == BUILTIN_TANH)


cdef inline bint is_binary(int code) noexcept nogil:
    return (
        code == BUILTIN_ADD or code == BUILTIN_DIV or code == BUILTIN_MAXIMUM or code == BUILTIN_MINIMUM or code == BUILTIN_MUL
        or code == BUILTIN_PRELU or code == BUILTIN_SQUARED_DIFFERENCE or code == BUILTIN_SUB)


cdef inline bint is_reduction(int code) noexcept nogil:
    return code == BUILTIN_MEAN or code == BUILTIN_SUM or code == BUILTIN_REDUCE_MAX or code == BUILTIN_REDUCE_MIN


cdef inline bint is_matrix(int code) noexcept nogil:
    """Products with weights that are constant, or nearly."""
    return (
        code == BUILTIN_FULLY_CONNECTED or code == BUILTIN_CONV_2D or code == BUILTIN_DEPTHWISE_CONV_2D)


cdef inline bint reads_first_only(int code) noexcept nogil:
    """The other inputs are no values of XNNPACK's graph."""
    return (
        is_reduction(code) or code == BUILTIN_PAD or code == BUILTIN_RESHAPE or code == BUILTIN_RESIZE_BILINEAR
        or code == BUILTIN_STRIDED_SLICE or code == BUILTIN_SLICE or code == BUILTIN_TRANSPOSE)


cdef inline bint keeps_parameters(int code) noexcept nogil:
    """Inputs and output have the same type and quantization."""
    return (
        code == BUILTIN_TRANSPOSE or code == BUILTIN_SLICE or code == BUILTIN_STRIDED_SLICE or code == BUILTIN_PAD
        or code == BUILTIN_DEPTH_TO_SPACE or code == BUILTIN_SPACE_TO_DEPTH or code == BUILTIN_MAX_POOL_2D
        or code == BUILTIN_RESIZE_BILINEAR or code == BUILTIN_CONCATENATION or code == BUILTIN_RESHAPE)


cdef inline bint keeps_type(int code) noexcept nogil:
    return code == BUILTIN_SPLIT or is_reduction(code)


cdef inline bint begins_rewrite(int code) noexcept nogil:
    """One of them is part of every pattern of `rewrites`."""
    return (
        code == BUILTIN_PAD or code == BUILTIN_LOGISTIC or code == BUILTIN_SUM or code == BUILTIN_MEAN or code == BUILTIN_RELU
        or code == BUILTIN_RELU6 or code == BUILTIN_RELU_N1_TO_1)
