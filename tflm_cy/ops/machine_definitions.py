"""What definitions take from the machine beside the delegate's generations: one table, which `show_config` shows.

    taken("aarch64")["SOFTMAX"]        # "sums of four lanes"

The definitions themselves ask `arithmetic/machine.pxd`, when they are compiled.
"""

X86_64, AARCH64 = 0, 1

TABLE = {
    # what: on x86-64 and elsewhere, on aarch64
    "ADD, SUB, MUL, float32, optimized": ("-0 passes a lower limit of 0", "-0 becomes 0 there, in blocks of four"),
    "AVERAGE_POOL_2D, float32, delegated": ("NaN becomes the lowest value", "NaN comes out, of several one by place"),
    "CAST, DEQUANTIZE, float16 to float32": ("signalling NaN become quiet", "signalling NaN stay"),
    "CAST, floating point to integers": (
        "whole blocks saturate, the tail keeps low bits",
        "low bits; what does not fit saturates first",
    ),
    "CONV_2D, FULLY_CONNECTED, float32, optimized": ("Eigen's orders", "one chain, or four lanes, of fused steps"),
    "CONV_3D, float32": ("from the bias on", "from 0 on, fused"),
    "CONV_2D, FULLY_CONNECTED, TRANSPOSE_CONV, float32, optimized": (
        "denormals are numbers",
        "denormals are zeros, but of a single row",
    ),
    "DEQUANTIZE, optimized": ("rounded", "fused"),
    "EMBEDDING_LOOKUP_SPARSE": ("products rounded", "products fused"),
    "TFLite_Detection_PostProcess": ("centres of boxes rounded", "centres of boxes fused"),
    "ATAN2, FLOOR, LOGISTIC, ROUND, STABLEHLO operators, TANH, float16": (
        "NaN keeps its payload",
        "NaN keeps its sign",
    ),
    "FULLY_CONNECTED, float32 values, 4-bit weights, optimized": (
        "-8 fills a neighbour, too; rounded",
        "bias and single rows fused",
    ),
    "GELU without approximate, float32": ("polynomials of rounded steps", "polynomials of fused steps"),
    "HARD_SWISH, 8 bits, optimized": ("halves away from zero", "halves up in blocks of eight"),
    "L2_POOL_2D, LOCAL_RESPONSE_NORMALIZATION, reference": ("products rounded", "products fused"),
    "LOCAL_RESPONSE_NORMALIZATION, optimized": (
        "inverses by RCPPS",
        "inverses by FRECPE, powers behind blocks of four by the C library",
    ),
    "LOGISTIC, TANH, POW, optimized": ("polynomials of rounded steps", "polynomials of fused steps"),
    "LSTM, RNN, SVDF, float32": ("products rounded", "products fused"),
    "LSTM, cell_clip, proj_clip": ("NaN becomes the limit", "NaN stays in blocks of four"),
    "LSTM, sparse int8 weights, without dot products": (
        "rows without blocks count",
        "rows without blocks are left out",
    ),
    "LSTM, int8, layer normalization": ("products wrap", "squares wrap in blocks of eight, halves up in blocks of 16"),
    "MAX_POOL_2D, float32, optimized": ("NaN is left out", "NaN comes out in blocks of four"),
    "MEAN, SUM, 8 bits, delegated": ("products rounded", "products fused"),
    "MEAN, SOFTMAX, LOG_SOFTMAX, optimized": ("sums of eight lanes", "sums of four lanes"),
    "RELU, float32": ("-0 and signalling NaN stay", "-0 becomes 0 and NaN quiet in blocks of four"),
    "RESIZE_BILINEAR": ("corners rounded", "corners fused"),
    "SOFTMAX, 8 bits, optimized": ("exponentials of float32", "exponentials of 16 bits"),
    "float32 values, 8-bit weights": ("halves up, product rounded", "halves away from zero, product fused"),
    "products of bytes, optimized": ("rounded twice", "rounded once"),
    "products of bytes, optimized, without dot products": ("exact", "pairs of -128 times -128 wrap around"),
    "products of uint8 with weights, MUL of 8 bits, delegated": ("to nearest even", "halves up"),
    "tables of int16": ("products rounded", "products fused"),
    "what int32 cannot hold": ("INT32_MIN", "the nearest value, NaN 0"),
}


def taken(machine: str) -> dict[str, str]:
    """Return what a machine takes, by operators."""
    column = AARCH64 if machine in ("aarch64", "arm64") else X86_64
    return {what: forms[column] for what, forms in TABLE.items()}
