"""Why two arithmetics give different bytes: the name of the rule, per operator and type.

`explain(op, kind, arithmetic)` names what an arithmetic does there; a difference between two arithmetics is explained by
both names. Kinds are "float32", "int8" (8-bit integers), "int16", "hybrid" (float activations, integer weights).
"""

_REFERENCE = {
    ("matrix", "float32"): "products rounded, summed in order, bias last",
    ("matrix", "int8"): "fixed point, two roundings, half away from zero",
    ("matrix", "hybrid"): "TensorFlow Lite's hybrid kernel, activations quantized per row or image",
    ("sum", "float32"): "sequential sum",
    ("curve", "float32"): "libm",
    ("curve", "int8"): "table by libm",
    ("softmax", "float32"): "libm exp, sequential sum",
    ("softmax", "int8"): "fixed-point exp",
    ("add", "int8"): "fixed point, left shift 20, half away from zero",
    ("quantize", "int8"): "division in double, half away from zero",
    ("resize", "float32"): "four weights, summed in order",
    ("pool", "float32"): "sum in window order, divided",
}
_OPTIMIZED = {
    ("matrix", "float32"): "Eigen's order of summation (8 lanes, blocks of k)",
    ("matrix", "int8"): "fixed point, half towards plus infinity in vector bodies",
    ("sum", "float32"): "Eigen's vector sum",
    ("curve", "float32"): "Eigen's rational approximation",
    ("softmax", "float32"): "Eigen's exp and vector sum",
    ("softmax", "int8"): "table of exp in float32",
    ("add", "int8"): "input shift before the multiplication in bodies of 16 (uint8: 8)",
    ("quantize", "int8"): "multiplication by the reciprocal, half to even in bodies of 8",
    ("resize", "float32"): "weights multiplied first",
    ("pool", "float32"): "as the reference",
}
_XNNPACK = {
    ("matrix", "float32"): "one chain of fused multiply-adds from the bias",
    ("matrix", "int8"): "requantization in float32, half to even",
    ("matrix", "hybrid"): "activations always asymmetric int8, per row, pixel or image; fused multiply-add at the end",
    ("sum", "float32"): "16 lanes (8 with AVX2), several accumulators",
    ("curve", "float32"): "rational or polynomial approximation with fused multiply-adds",
    ("curve", "int8"): "table of 256, half away from zero",
    ("softmax", "float32"): "polynomial exp, lanes, product with the reciprocal",
    ("add", "int8"): "multipliers of 21 bits, one shift, half towards plus infinity",
    ("quantize", "int8"): "multiplication by the reciprocal in float32, half to even",
    ("resize", "float32"): "two horizontal steps, one vertical",
    ("resize", "int8"): "weights of 11 bits",
    ("pool", "float32"): "columns first, tree of nine, product with the reciprocal",
    ("sum", "int8"): "float32 factor, half away from zero",
    ("mul", "int8"): "float32 factor, half to even",
}
# Elsewhere the reference's rules.
_MICRO = {("softmax", "int16"): "as the reference, the second table built in float32"}
_TABLES = {"micro": _MICRO, "reference": _REFERENCE, "optimized": _OPTIMIZED, "xnnpack": _XNNPACK}

_FAMILIES = {
    "matrix": "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED BATCH_MATMUL TRANSPOSE_CONV Convolution2DTransposeBias",
    "sum": "MEAN SUM",
    "curve": "LOGISTIC TANH EXP SIN COS SQRT RSQRT ELU GELU HARD_SWISH LOG_SOFTMAX",
    "softmax": "SOFTMAX",
    "add": "ADD SUB",
    "mul": "MUL",
    "quantize": "QUANTIZE DEQUANTIZE LEAKY_RELU",
    "resize": "RESIZE_BILINEAR",
    "pool": "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D",
}
_FAMILY = {op: family for family, ops in _FAMILIES.items() for op in ops.split()}


def explain(op, kind, arithmetic):
    """A short name for what an arithmetic does with an operator.

    >>> explain("CONV_2D", "int8", "xnnpack")
    'requantization in float32, half to even'
    >>> explain("RESHAPE", "int8", "reference")
    'the same in every mode'
    """
    family = _FAMILY.get(op)
    if family is None:
        return "the same in every mode"
    table = _TABLES[arithmetic]
    return table.get((family, kind)) or _REFERENCE.get((family, kind), "as the reference")
