"""Cases that the deciding side does not survive, each with the cause. The report prints every entry that was met, with how often;
a crash that is not listed here is shown with its case.

An entry is (case pattern, reason, modes); patterns are fnmatch's, `[` standing for itself. Nothing is compared there, so that an entry
explains and excuses nothing: what the other side does with the case is its own.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from .deviation import literal_brackets


@dataclass(frozen=True)
class Crash:
    cases: str
    reason: str
    modes: tuple = ()


TENSORFLOW = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")

_NO_DIVISION = (
    "no scale to divide by: 8-bit values without quantization end TensorFlow's process where it computes a multiplier"
)

CRASHES = (
    *(
        Crash(cases, "the optimized kernel of DEPTHWISE_CONV_2D reads a bias that is not there", TENSORFLOW)
        for cases in ("DEPTHWISE_CONV_2D/*/no bias#*", "DEPTHWISE_CONV_2D/* + none -> */mixture#*")
    ),
    *(
        Crash(
            f"DEPTHWISE_CONV_2D/{dtype}/other multiplier*#*",
            "a depth_multiplier that is too large for the shapes: the kernel of DEPTHWISE_CONV_2D writes across the end of the output",
            TENSORFLOW,
        )
        for dtype in ("int16x8", "hybrid_i8")
    ),
    *(
        Crash(
            cases,
            "the optimized int8 kernel of DEPTHWISE_CONV_2D divides the work by an output without elements",
            TENSORFLOW,
        )
        for cases in (
            "DEPTHWISE_CONV_2D/int*/zero batch#*",
            "DEPTHWISE_CONV_2D/int*/DepthwiseConv2DOptions.padding=*#*",
        )
    ),
    *(
        Crash(cases, "the reference kernel of FULLY_CONNECTED to int16 reads a bias that is not there", TENSORFLOW)
        for cases in ("FULLY_CONNECTED/* + none -> int16/mixture#*", "FULLY_CONNECTED/uint8 to int16/no bias#*")
    ),
    Crash("*_POOL_2D/*/zero batch#*", "XNNPACK's pooling of no images reads outside of its memory", TENSORFLOW),
    Crash(
        "BIDIRECTIONAL_SEQUENCE_RNN/hybrid_i8/*#*",
        "hybrid time-major runs corrupt the heap, which now and then ends the process",
        TENSORFLOW,
    ),
    Crash(
        "LSTM/hybrid_i8/sparse without projection#*",
        "sparse weights of LSTM are asked of a projection that is not there",
        TENSORFLOW,
    ),
    # ---- model files
    Crash("*/blockwise_quantized.tflite#*", _NO_DIVISION, TENSORFLOW),
    Crash("*/simple_topk_op_runtime_k.tflite#*", "TOPK_V2 whose k is fed corrupts the heap", TENSORFLOW),
    Crash(
        "*/keyword_scrambled_8bit.tflite#*",
        "SVDF with an 8-bit state, which TensorFlow takes for one of 16 bits",
        TENSORFLOW,
    ),
    # ---- `python -m compat --retype`
    *(
        Crash(f"{op}/* as {dtype}/plain#*", _NO_DIVISION, TENSORFLOW)
        for op in (
            *(
                "ADD",
                "SUB",
                "EQUAL",
                "NOT_EQUAL",
                "GREATER",
                "GREATER_EQUAL",
                "LESS",
                "LESS_EQUAL",
                "SQUARED_DIFFERENCE",
            ),
            *("IF", "WHILE", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "LOG", "RSQRT", "SQRT", "LSTM", "SOFTMAX"),
        )
        for dtype in ("int8", "uint8", "int16")
    ),
    *(
        Crash(
            f"{op}/* as {dtype}/*#*",
            "values are written as if they had another size, across the end of their memory",
            TENSORFLOW,
        )
        for op in ("FAKE_QUANT", "MATRIX_DIAG", "MATRIX_SET_DIAG", "STABLEHLO_PAD", "SVDF")
        for dtype in ("*int*", "bool", "complex64", "float*")
    ),
    Crash(
        "STABLEHLO_AND/*/plain#*", "STABLEHLO_AND of floats dies in a kernel that does not look at the type", TENSORFLOW
    ),
    # ---- `python -m compat --odd`
    *(
        Crash(
            f"{op}/*/odd scale *#*",
            "a quotient of scales that must lie between 0 and 1, or that must not be 1, ends TensorFlow's process",
            TENSORFLOW,
        )
        for op in (
            *("ADD", "SUB", "SQUARED_DIFFERENCE", "EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS"),
            *("LESS_EQUAL", "STABLEHLO_COMPOSITE"),
        )
    ),
    Crash(
        "TFLite_Detection_PostProcess/uint8/odd scale *#*",
        "scores that are NaN or infinite lead its sort outside of memory",
        TENSORFLOW,
    ),
    Crash(
        "STABLEHLO_SCATTER/*/zero size input 2 *#*",
        "updates without elements: its walk over their positions begins behind its end, and leads outside of memory or goes on",
        TENSORFLOW,
    ),
    *(
        Crash(
            f"{op}/*/zero size *#*",
            "an operand of size 0 ends its process",
            TENSORFLOW,
        )
        for op in (
            *(
                "ATAN2",
                "DILATE",
                "MATRIX_SET_DIAG",
                "MIRROR_PAD",
                "NumericVerify",
                "RESIZE_BILINEAR",
                "RESIZE_NEAREST_NEIGHBOR",
            ),
            *(
                "REVERSE_V2",
                "SLICE",
                "SPARSE_TO_DENSE",
                "STABLEHLO_ADD",
                "STABLEHLO_AND",
                "STABLEHLO_GATHER",
                "STABLEHLO_MAXIMUM",
            ),
            *(
                "STABLEHLO_MINIMUM",
                "STABLEHLO_MULTIPLY",
                "STABLEHLO_SCATTER",
                "STABLEHLO_SHIFT_LEFT",
                "TFLite_Detection_PostProcess",
            ),
        )
    ),
    Crash(
        "*CONV_2D/*/short side *#*",
        "XNNPACK takes a filter larger than its image, whose windows number less than 0",
        TENSORFLOW,
    ),
    *(
        Crash(f"STABLEHLO_{op}/*/short side *#*", "indices that are too short lead it outside of memory", TENSORFLOW)
        for op in ("GATHER", "SCATTER")
    ),
    Crash(
        "*CONV_2D/*/zero size *#*",
        "an image without channels is divided by, and what a filter larger than an empty image overlaps is read",
        TENSORFLOW,
    ),
    # ---- `python -m compat --options`
    Crash(
        "CONV_2D/*/Conv2DOptions.padding=1#*",
        "XNNPACK takes a filter larger than its image, whose windows number less than 0",
        TENSORFLOW,
    ),
    Crash("SPLIT/*/SplitOptions absent#*", "XNNPACK is given a split into no parts", TENSORFLOW),
    Crash(
        "STABLEHLO_*/*Options.* of 9#*", "lists longer than eight are copied across the end of their room", TENSORFLOW
    ),
    Crash(
        "STABLEHLO_*/*Options absent#*",
        "without options the kernel reads dimensions from memory that nobody wrote",
        TENSORFLOW,
    ),
    Crash("*/CallOnceOptions absent#*", "without options the graph calls itself without end"),
    Crash("WHILE/*/WhileOptions absent#*", "without options the graph calls itself without end"),
    Crash("SVDF/*/SVDFOptions absent#*", "without options the rank is 0, by which TFLM divides", ("MICRO",)),
    Crash("SOFTMAX/*/SoftmaxOptions absent#*", "without options beta is 0, of which no multiplier above 1 can be made"),
    # ---- `python -m compat --placeholders`
    *(
        Crash(f"{op}/*, {caller}#*", "IF and CASE free a value that is known when the branch is prepared", TENSORFLOW)
        for op in ("RANK", "SHAPE")
        for caller in ("IF", "CASE")
    ),
    *(
        Crash(cases, "attention computes in the shapes of the first allocation", TENSORFLOW)
        for cases in ("odml.scaled_dot_product_attention/*, *#*", "STABLEHLO_COMPOSITE/*/attention*, *#*")
    ),
    Crash("aeq.hadamard_rotation/*, *#*", "an output of the file's size is written across its end", TENSORFLOW),
    Crash("*/zero batch, *#*", "XNNPACK's windows over no images read outside of their memory", TENSORFLOW),
    Crash(
        "*, ones: but channels#*", "at a placeholder kernels read and write what lies behind their tensors", TENSORFLOW
    ),
    # ---- TensorFlow Lite Micro
    Crash("ADD_N/int8/*#*", "TFLM ends the process when it prepares ADD_N of int8", ("MICRO",)),
    Crash("MEAN/float32/zero size#*", "TFLM dies in a reduction of nothing", ("MICRO",)),
    Crash("SVDF/float32/no bias#*", "TFLM gives back a bias that is not there", ("MICRO",)),
)


def crash_reason(case_id, mode, crashes=CRASHES):
    """Why the deciding side dies on a case, None where that is not known."""
    found = (
        c.reason
        for c in crashes
        if (not c.modes or mode in c.modes) and fnmatchcase(case_id, literal_brackets(c.cases))
    )
    return next(found, None)
