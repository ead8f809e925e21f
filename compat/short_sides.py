"""Differences of `python -m compat --odd --case "short side"` that we want: inputs of which a dimension has become 1, 2 or 3."""

from .causes import gives_more_than_the_image, multiplies_as_fed, squashes_transposed
from .deviation import Deviation
from .out_of_shape import MISFITS

DEFAULT = ("AUTO", "BUILTIN")
NOT_REFERENCE = (*DEFAULT, "BUILTIN_WITHOUT_DEFAULT_DELEGATES")

SHORT_SIDES = (
    *(
        Deviation(f"{cases}/short side *#*", f"ok  <>  raised RuntimeError in invoke: {text}*", reason, modes)
        for cases, text, reason, modes in (
            *((*misfit, ()) for misfit in MISFITS),
            *(
                (cases, text, f"{what} are refused; TensorFlow reads what lies behind them", ())
                for cases, text, what in (
                    ("ATAN2/*", "ATAN2 wants two inputs of one shape", "operands of two shapes"),
                    ("MATRIX_SET_DIAG/*", "the diagonals have ", "fewer diagonals than matrices"),
                    ("NumericVerify/*", "NumericVerify: ", "fewer reference values than values"),
                    ("SPARSE_TO_DENSE/*", "SPARSE_TO_DENSE: ", "fewer values than indices"),
                    ("STABLEHLO_SHIFT_LEFT/*", "STABLEHLO_SHIFT_LEFT: ", "fewer distances than values"),
                    (
                        "TFLite_Detection_PostProcess/*",
                        "TFLite_Detection_PostProcess: scores and anchors ",
                        "scores or anchors of fewer boxes",
                    ),
                )
            ),
            (
                "CONCATENATION/*",
                "CONCATENATION: shapes ",
                "shapes that do not fit each other are refused; TensorFlow's delegate copies across the ends of the tensors",
                DEFAULT,
            ),
            (
                "DEPTHWISE_CONV_2D/*",
                "DEPTHWISE_CONV_2D: *channels",
                "an image of fewer channels than the filter wants is refused; TensorFlow reads as many as the filter wants",
                (),
            ),
            (
                "FULLY_CONNECTED/shuffled",
                "FULLY_CONNECTED: shuffled weights want ",
                "other numbers of rows than 1 and 4 are refused; TensorFlow leaves the output unwritten",
                (),
            ),
            (
                "SPLIT/*",
                "Not an even split",
                "an uneven split is refused; TensorFlow's delegate gives parts that do not fit their tensors",
                DEFAULT,
            ),
        )
    ),
    Deviation(
        "odml.scaled_dot_product_attention/*/short side *#*",
        "ok  <>  raised RuntimeError in allocate_tensors: odml.scaled_dot_product_attention: values * for * keys*",
        "other numbers of keys and of values are refused; TensorFlow's delegate keeps those of the first allocation",
        DEFAULT,
    ),
    Deviation(
        "FULLY_CONNECTED/shuffled/short side *#*",
        "invoke 0, output 1: uint8 *",
        "the shuffled copy of fewer values is zeros behind them; TensorFlow leaves it unwritten",
    ),
    Deviation(
        "TRANSPOSE_CONV/*/short side *#*",
        "invoke 0, output 0: *",
        "an output with more windows than the input has pixels is computed from those that there are, as by the reference; "
        "TensorFlow's optimized kernel reads what lies behind them",
        NOT_REFERENCE,
        cause=gives_more_than_the_image,
    ),
    Deviation(
        "DEPTHWISE_CONV_2D/*/short side *#*",
        "invoke 0, output 0: *",
        "a depth_multiplier that does not fit the image's channels is not looked at; TensorFlow reads more channels than there are, or "
        "leaves values unwritten",
        cause=multiplies_as_fed,
    ),
    Deviation(
        "BATCH_MATMUL/*/short side *#*",
        "invoke 0, output 0: *",
        "several transposed matrices times one give as many; TensorFlow takes them for the rows of one, and leaves the others unwritten",
        cause=squashes_transposed,
    ),
)
