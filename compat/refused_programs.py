"""Differences of `python -m compat --programs` that we want: after an allocation that was refused, of operands that are computed, and of
shapes that do not go together."""

from .causes import (
    attends_in_groups,
    feeds_its_indices,
    has_few_dilations,
    has_more_than_six_dimensions,
    indexes_another_rank,
    merges_an_extremum,
    overwrites_what_is_read_again,
    transforms_signs,
    unpacks_constants,
)
from .deviation import Deviation

DEFAULT = ("AUTO", "BUILTIN")

REFUSED_PROGRAMS = (
    Deviation(
        "*, program, *#*",
        "ok  <>  raised RuntimeError in resize_tensor_input: BytesRequired number of *",
        "a size below 0 is refused; TensorFlow multiplies sizes without signs, and goes on where that does not overflow",
    ),
    *(
        Deviation(
            f"{op}/*, program, *#*",
            "invoke 0, output 0: *",
            "the right values; what DEQUANTIZE or DENSIFY makes of a constant for TensorFlow's delegate is memory that nobody wrote",
            DEFAULT,
            cause=unpacks_constants,
        )
        for op in ("DEQUANTIZE", "DENSIFY")
    ),
    *(
        Deviation(
            f"{op}/*, program, *#*",
            f"ok  <>  raised RuntimeError in invoke: {text}*",
            "an index that is computed and lies outside is refused; TensorFlow writes there",
            cause=feeds_its_indices,
        )
        for op, text in (
            ("STABLEHLO_SCATTER", "STABLEHLO_SCATTER: an update lies before "),
            ("SPARSE_TO_DENSE", "sparse_to_dense: index "),
        )
    ),
    *(
        Deviation(
            cases,
            "raised RuntimeError in allocate_tensors: XNNPack delegate failed to reshape*  <>  ok",
            "attention has the shapes of its operands; TensorFlow's delegate keeps heads, groups and depth of the first allocation",
            DEFAULT,
            cause=attends_in_groups,
        )
        for cases in (
            "odml.scaled_dot_product_attention/*, program, *#*",
            "STABLEHLO_COMPOSITE/*/attention*, program, *#*",
        )
    ),
    Deviation(
        "GRAPH/*, program, *#*",
        "invoke ?, output ?: *",
        "a value that is read again keeps its memory; TensorFlow's plan lets ADD, SUB, MUL and DIV of one of its views write there",
        cause=overwrites_what_is_read_again,
    ),
    Deviation(
        "GRAPH/*, program, *#*",
        "raised RuntimeError in allocate_tensors: Node number * (TfLiteXNNPackDelegate) failed to prepare.*  <>  ok",
        "MAXIMUM or MINIMUM with a constant behind a convolution or pooling runs; TensorFlow's delegate spoils the padding",
        DEFAULT,
        cause=merges_an_extremum,
    ),
    Deviation(
        "DILATE/*, program, *#*",
        "raised RuntimeError in allocate_tensors: *BytesRequired number of * overflowed.*  <>  ok",
        "fewer dilations than dimensions are refused when they are reached; TensorFlow reads what follows them, and may refuse the shape",
        cause=has_few_dilations,
    ),
    Deviation(
        "STABLEHLO_GATHER/*, program, *#*",
        "raised RuntimeError in allocate_tensors: *BytesRequired number of * overflowed.*  <>  ok",
        "indices of another rank are refused when they are reached; TensorFlow reads dimensions that are not there, may refuse these",
        cause=indexes_another_rank,
    ),
    Deviation(
        "*, program, *#*",
        "*",
        "an input of seven dimensions is refused; the shapes that TensorFlow's delegate computes of it overrun an array",
        DEFAULT,
        cause=has_more_than_six_dimensions,
    ),
    Deviation(
        "RFFT2D/float32/random, program, refused#*",
        "invoke ?, output 0: complex64 *",
        "where the terms of a transform cancel, what is left (1e-16 of them) is not the rounding error of TensorFlow's split radix",
        cause=transforms_signs,
    ),
)
