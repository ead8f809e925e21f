"""Differences that we want, each with its reason. The report prints every entry that was met, with how often.

An entry is (case pattern, difference pattern, reason, modes); patterns are fnmatch's, `[` standing for itself. The first
is matched with the case's id, the second with the text of the difference as the report shows it ("a <> b", a being the
side that decides); without modes it holds for all, with a text only for cases whose attributes fit it, with a cause (`causes`) only where
that is there. Keep them narrow: an entry that fits too much hides faults.
"""

from .causes import has_no_images, multiplies_nothing, multiplies_otherwise, multiplies_too_little
from .deviation import Deviation
from .odd_files import ODD_FILES
from .other_ranks import OTHER_RANKS
from .out_of_shape import OUT_OF_SHAPE
from .refused_programs import REFUSED_PROGRAMS
from .short_sides import SHORT_SIDES

DEFAULT = ("AUTO", "BUILTIN")
NOT_REFERENCE = (*DEFAULT, "BUILTIN_WITHOUT_DEFAULT_DELEGATES")

DEVIATIONS = (
    Deviation(
        "*",
        "raised ValueError in get_tensor: Invalid tensor size.*  <>  ok",
        "an output found empty at run time is returned as an empty array; TensorFlow raises on it",
    ),
    Deviation(
        "*flex*.tflite#*",
        "raised RuntimeError in *: *TensorFlow op*  <>  *",
        "TensorFlow's operators run where TensorFlow is installed (compared by compat.flex); its own pip package refuses such models",
    ),
    Deviation(
        "*/person_detect.tflite#*",
        "raised ValueError in construct: *  <>  ok",
        "TensorFlow refuses quantized_dimension 3 on rank-1 tensors that have one scale; it has no meaning there",
    ),
    Deviation(
        "*",
        "raised RuntimeError in invoke: failed to setup XNNPACK runtime*  <>  ok",
        "a partition that holds nothing but unpacked constants runs; TensorFlow's delegate fails whenever it is invoked",
        DEFAULT,
    ),
    # The delegate of TensorFlow 2.21 writes a clamp that it merges into a convolution or pooling also over the first two
    # paddings, as bits: MAXIMUM(0.5) behind CONV_2D makes a padding of 2^30 (mended in google/XNNPACK 76cd487c).
    *(
        Deviation(
            f"GRAPH/{dtype}/*",
            f"raised RuntimeError in allocate_tensors: {text} runtime*  <>  {ours}",
            "MAXIMUM or MINIMUM with a constant behind a convolution or pooling runs; TensorFlow's delegate spoils the padding",
            DEFAULT,
            f"*CONV_2D(*{op}(*" if ours != "ok" else "*",
        )
        for dtype in ("float32", "dynamic_range", "float16")
        for text in ("XNNPack delegate failed to reshape", "failed to create XNNPACK")
        for op, ours in (
            ("", "ok"),
            ("MAXIMUM", "raised RuntimeError in invoke: *CONV_2D: a * filter with dilations * does not fit the *"),
            ("MINIMUM", "raised RuntimeError in invoke: *CONV_2D: a * filter with dilations * does not fit the *"),
        )
    ),
    Deviation(
        "*",
        "ok  <>  raised RuntimeError in invoke: the variable is read before a value is assigned to it*",
        "a variable that is read before it is assigned raises; TensorFlow's delegate returns memory that nobody wrote",
        DEFAULT,
    ),
    Deviation(
        "TILE/float32/negative out of range#*",
        "raised ValueError in get_tensor: Invalid tensor size.*  <>  raised RuntimeError in invoke: Multipliers must be non-negative.*",
        "a negative multiplier is refused beside a 0, too; TensorFlow gives an output of a negative dimension, which nobody can read",
    ),
    *(
        Deviation(
            f"{op}/float32/zero size#*",
            "invoke ?, output 0: float32 *",
            "a reduction of nothing gives zeros; TensorFlow's delegate returns memory that nobody wrote",
            DEFAULT,
        )
        for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
    ),
    *(
        Deviation(
            cases,
            "ok  <>  raised RuntimeError in invoke: CONCATENATION: shapes *",
            "shapes that do not fit each other are refused; TensorFlow's delegate copies across the ends of the tensors",
            DEFAULT,
        )
        for cases in (
            "CONCATENATION/*/*part*#*",
            "CONCATENATION/*/zero size *#*",
            "CONCATENATION/float32/wrong shape#*",
            "CONCATENATION/float32/ConcatenationOptions absent#*",
            "GRAPH/*",
        )
    ),
    *(
        Deviation(
            "*",
            f"ok  <>  raised RuntimeError in invoke: {op}: a * filter with dilations * does not fit the * image.*",
            "a filter that reaches beyond its image is refused; the shapes that TensorFlow's delegate computes overflow",
            DEFAULT,
        )
        for op in ("CONV_2D", "DEPTHWISE_CONV_2D")
    ),
    *(
        Deviation(
            f"DEPTHWISE_CONV_2D/{dtype}/other multiplier*#*",
            "invoke ?, output 0: *",
            "a depth_multiplier that is too small for the shapes is not looked at, as by the other kernels; TensorFlow's delegate "
            "reads more channels than there are",
            DEFAULT,
            cause=multiplies_too_little,
        )
        for dtype in ("float32", "int8", "uint8")
    ),
    *(
        Deviation(
            f"DEPTHWISE_CONV_2D/{dtype}/other multiplier*#*",
            "invoke ?, output 0: *",
            "a depth_multiplier that does not fit the shapes is not looked at, as by the other kernels; TensorFlow's kernel writes "
            "across the end of the output, or leaves values of it unwritten",
            cause=multiplies_otherwise,
        )
        for dtype in ("int16x8", "hybrid_i8")
    ),
    Deviation(
        "SPLIT/float32/not divisible#*",
        "ok  <>  raised RuntimeError in invoke: Not an even split.*",
        "an uneven split is refused; TensorFlow's delegate gives parts that do not fit their tensors",
        DEFAULT,
    ),
    *(
        Deviation(
            "GRAPH/*",
            difference,
            "a window with SAME padding before MAXIMUM or MINIMUM with a constant keeps its padding; TensorFlow's delegate loses it "
            "when it merges the two, and fails or gives another shape",
            DEFAULT,
        )
        for difference in (
            "raised RuntimeError in allocate_tensors: XNNPack delegate failed to reshape runtime*  <>  ok",
            "raised RuntimeError in allocate_tensors: failed to create XNNPACK runtime*  <>  ok",
            "invoke ?, output ?: float32 [*] <> float32 [*]",
        )
    ),
    *(
        Deviation(
            f"{op}/*/zero batch#*",
            "invoke ?, output 0: * [0, *] <> * [0, *]",
            "an output of no images has the shape that it has with some; TensorFlow's delegate returns a shape that nobody computed",
            DEFAULT,
            cause=has_no_images,
        )
        for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D")
    ),
    # Where TFLM runs a model on memory that is not the tensors', or on shapes that do not belong together, it is refused.
    *(
        Deviation(cases, "ok  <>  raised RuntimeError in *", reason, ("MICRO",))
        for cases, reason in (
            (
                "ADD/*/not broadcastable#*",
                "shapes that cannot be broadcast are refused; TFLM reads across the tensors' ends",
            ),
            (
                "SUB/*/not broadcastable#*",
                "shapes that cannot be broadcast are refused; TFLM reads across the tensors' ends",
            ),
            (
                "MUL/*/not broadcastable#*",
                "shapes that cannot be broadcast are refused; TFLM reads across the tensors' ends",
            ),
            (
                "CONCATENATION/float32/wrong shape#*",
                "shapes that do not fit are refused; TFLM copies across the tensors' ends",
            ),
            (
                "RESHAPE/float32/wrong count#*",
                "another number of elements is refused; TFLM copies what lies behind the input",
            ),
            ("SPLIT/float32/not divisible#*", "an uneven split is refused; TFLM leaves elements out"),
            ("PAD/float32/negative#*", "negative paddings are refused; TFLM copies elements from the wrong places"),
            ("STRIDED_SLICE/*", "fewer indices than dimensions are refused; TFLM reads what follows them in the file"),
            (
                "TRANSPOSE_CONV/int16x8/int32 bias*#*",
                "an int32 bias is refused; TFLM reads it as int64, beyond its end",
            ),
            *(
                (
                    f"{op}/int16 x {w} + {bias} -> int16/mixture#*",
                    "a bias of four bytes with int16 activations is refused; TFLM reads it as int64, beyond its end",
                )
                for op, w, bias in (
                    ("FULLY_CONNECTED", "int8", "float32"),
                    ("DEPTHWISE_CONV_2D", "int8", "float32"),
                    ("DEPTHWISE_CONV_2D", "int8", "int32"),
                    ("TRANSPOSE_CONV", "int8", "float32"),
                    ("TRANSPOSE_CONV", "int8", "int32"),
                    ("TRANSPOSE_CONV", "int16", "float32"),
                    ("TRANSPOSE_CONV", "int16", "int32"),
                )
            ),
            *(
                (
                    f"DEPTHWISE_CONV_2D/{x} x {w} + * -> {y}/mixture#*",
                    "an output of another type than the input is refused; TFLM writes the input's type into it, leaves a part "
                    "of it out or writes beyond its end",
                )
                for x, w, y in (
                    ("int8", "int8", "uint8"),
                    ("int8", "int8", "int16"),
                    ("int8", "int4", "uint8"),
                    ("int8", "int4", "int16"),
                    ("int16", "int8", "int8"),
                    ("int16", "int8", "uint8"),
                )
            ),
            (
                "FULLY_CONNECTED/*/sparse *",
                "sparse weights are refused; TFLM reads them as dense ones, beyond their end",
            ),
            *(
                (
                    f"UNIDIRECTIONAL_SEQUENCE_LSTM/{dtype}/*",
                    "weights of a byte of a float LSTM are refused; TFLM reads them as float32, beyond their end",
                )
                for dtype in ("hybrid*8", "hybridu8")
            ),
            ("WHILE/*/growing#*", "a loop whose state grows is refused; TFLM copies it into tensors of the first size"),
        )
    ),
    *(
        Deviation(
            cases,
            f"ok  <>  raised RuntimeError in allocate_tensors: {text}",
            "sparse weights are refused where they are not the blocks of 16 columns of LSTM's one step; TensorFlow reads what is stored "
            "as if they were, or as dense ones, beyond the end",
        )
        for cases, text in (
            ("UNIDIRECTIONAL_SEQUENCE_LSTM/hybrid_i8/sparse#*", "input ? is a sparse constant*"),
            ("LSTM/hybrid_i8/sparse other gates#*", "input ? is a sparse constant*"),
            ("LSTM/hybrid_i8/sparse wrong block#*", "LSTM: input ?: sparse weights want blocks*"),
        )
    ),
    *(
        Deviation(
            f"REDUCE_PROD/{dtype}/*",
            f"invoke ?, output ?: {dtype} *",
            "a product over axes of size 1 has one factor; TensorFlow's optimized kernel reads in front of the axes which is the last",
            NOT_REFERENCE,
            cause=multiplies_nothing,
        )
        for dtype in ("int8", "int16")
    ),
    *(
        Deviation(
            cases,
            "invoke ?, output 0: float32 *",
            "a dilated convolution of images with fewer planes than channels is computed; TensorFlow's optimized kernel copies too few "
            "channels into memory that nobody wrote",
            NOT_REFERENCE,
        )
        for cases in ("CONV_3D/float32/dilated wide#*", "CONV_3D/float32/dilated, ones: *#*")
    ),
    Deviation(
        "TFLite_Detection_PostProcess/uint8/regular equal scores#*",
        "invoke ?, output ?: float32 *",
        "equal scores of several classes, with several threads, come as TensorFlow's threads happen to be ready: its own invokes differ",
    ),
    Deviation(
        "RFFT2D/float32/impulse#*",
        "invoke ?, output 0: complex64 *",
        "where the terms of a transform cancel, what is left (1e-16 of them) is not the rounding error of TensorFlow's split radix",
    ),
    *(
        Deviation(
            f"{op}/float32/special values#*",
            "invoke ?, output ?: *",
            "where NaN and infinities meet, or numbers of which nothing else is left, the order of a transform's sums shows: "
            "TensorFlow's is a split radix",
        )
        for op in ("AudioSpectrogram", "Mfcc", "RFFT2D")
    ),
    *(
        Deviation(
            cases,
            "invoke ?, output ?: * elements, all NaN on both sides: *",
            "which of several NaN comes out of a sum is the choice of TensorFlow's compiler, which may exchange its terms",
            modes,
        )
        for cases, modes in (
            ("*_SEQUENCE_LSTM/float32/special values*#*", ()),
            ("LSTM/float32/special values*#*", ()),
            ("CONV_3D/float32/special values*#*", ("BUILTIN_REF",)),
            ("CONV_3D_TRANSPOSE/float32/special values*#*", NOT_REFERENCE),
            ("CONV_2D/float32/special values*#*", ("BUILTIN_WITHOUT_DEFAULT_DELEGATES",)),
        )
    ),
    # Of a value that is NaN and a weight that is NaN, FULLY_CONNECTED with AVX-512 keeps the value's in a product of one row, and the
    # weight's in one of several; where the columns are a multiple of 32, the value's in the first 16 of each 32, and in all of them in the
    # last row of each seven and of what is left of the rows (measured with 1 to 24 rows of 16 to 80 columns). Of a sum the first stays.
    *(
        Deviation(
            f"{op}/float32/special values*#*",
            "invoke ?, output 0: float32 * elements, all NaN on both sides: *",
            "which of two NaN comes out of one product differs among XNNPACK's kernels, by tile, row and CPU",
            DEFAULT,
        )
        for op in (
            *("BATCH_MATMUL", "CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"),
            *("STABLEHLO_COMPOSITE", "odml.scaled_dot_product_attention"),
        )
    ),
    Deviation(
        "TFLite_Detection_PostProcess/float32/special values#*",
        "invoke ?, output ?: float32 * <> 0.0 (0x00000000)*",
        "boxes that are not there are zeros; TensorFlow returns memory that nobody wrote",
    ),
    Deviation(
        "*/sparse/converted#*",
        "ok  <>  raised ValueError in construct: Tensor * has invalid sparsity parameters: *array_indices[*] is 0, the dimension has 0.*",
        "a sparse matrix of fewer columns than its blocks have, which TensorFlow's converter writes, is refused; its kernel multiplies a "
        "whole block of each row of values, beyond the end of the last one",
    ),
    Deviation(
        "*/int16x8/converted, SUM of int16#*",
        "invoke ?, output ?: *",
        "the sum of int16 is written whole; TensorFlow's reference writes a part of it",
        ("BUILTIN_REF",),
    ),
    Deviation(
        "STABLEHLO_CASE/*, program, *#*",
        "raised ValueError in *Invalid tensor index -1 *  <>  *",
        "inputs that nobody reads stay inputs; TensorFlow's STABLEHLO_CASE takes the main graph for one of its branches and removes them",
        NOT_REFERENCE,
    ),
    Deviation(
        "TFLite_Detection_PostProcess/*, program, *#*",
        "ok  <>  raised RuntimeError in invoke: TFLite_Detection_PostProcess: scores and anchors are not those of *",
        "scores or anchors of fewer boxes are refused; TensorFlow reads what lies behind them",
    ),
    *(
        Deviation(
            "SLICE/*/larger in the file, program, *#*",
            difference,
            "a part has the shape that it has; TensorFlow keeps a larger one that the file gives",
        )
        for difference in ("{name: *  <>  {name: *", "1; *  <>  1; *")
    ),
    Deviation(
        "MATRIX_SET_DIAG/*, program, *#*",
        "ok  <>  raised RuntimeError in invoke: the diagonals have *",
        "fewer diagonals than matrices are refused; TensorFlow reads what lies behind them",
    ),
    Deviation(
        "STRIDED_SLICE/*/fed, program, *#*",
        "ok  <>  raised RuntimeError in invoke: StridedSlice: there are fewer strides than indices*",
        "fewer strides than indices are refused; TensorFlow reads what lies behind them",
    ),
    Deviation(
        "NumericVerify/*, program, *#*",
        "ok  <>  raised RuntimeError in invoke: NumericVerify: * reference values for *",
        "fewer reference values than values are refused; TensorFlow reads what lies behind them",
    ),
    *ODD_FILES,
    *OTHER_RANKS,
    *OUT_OF_SHAPE,
    *REFUSED_PROGRAMS,
    *SHORT_SIDES,
)


def deviation_for(case_id, difference, mode, case, deviations=DEVIATIONS):
    """The first entry that explains a difference of a case, or None; `case_id` is its own or that of one it was made of."""
    return next((d for d in deviations if d.fits(case_id, difference, mode, case)), None)
