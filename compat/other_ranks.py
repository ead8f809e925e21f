"""Differences of `python -m compat --placeholders --case "rank:"` that we want: inputs of another rank than at first."""

from .causes import lacks_room_for_sums, reduces_axes_outside, slices_another_rank
from .deviation import Deviation

DEFAULT = ("AUTO", "BUILTIN")

OTHER_RANKS = (
    *(
        Deviation(
            f"*, {kind}rank: *#*",
            f"*ok  <>  raised RuntimeError in invoke: {text}*",
            "an input of another rank is refused when it is reached; TensorFlow's delegate takes four of the dimensions that there are or "
            "were, and may read what is not the tensor's",
            DEFAULT,
        )
        for kind in ("", "to ")
        for text in (
            "* wants * dimensions, the input has the shape ",
            "the permutation must be ",
            "NumDimensions(input) != 4",
            "FULLY_CONNECTED: ",
            "CONCATENATION: ",
        )
    ),
    *(
        Deviation(
            "*rank: *#*",
            difference,
            "a slice of another rank is refused when it is reached, or has the shape of its begin and size; TensorFlow keeps the shape "
            "that the file gives, and reads begins and sizes that are not there",
            cause=slices_another_rank,
            computed_by=operator,
        )
        for difference, operator in (
            ("*  <>  raised RuntimeError in invoke: NumElements(begin) != *", ""),
            ("*  <>  raised RuntimeError in invoke: Invalid begin and size*", ""),
            ("*  <>  raised RuntimeError in allocate_tensors: Slice op only supports *", ""),
            ("*ok  <>  raised RuntimeError in *: *Node number *", "SLICE"),
            ("invoke ?, output ?: *", "SLICE"),
        )
    ),
    *(
        Deviation(
            cases,
            f"*ok  <>  raised RuntimeError in {stage}: *: axis * of an input of rank * is out of range*",
            "an axis outside is refused; TensorFlow's delegate adds the rank to a negative one twice, and leaves outputs unwritten",
            DEFAULT,
        )
        for cases, stage in (("*rank: *#*", "invoke"), ("MEAN/float32/zero size, *rank: *#*", "allocate_tensors"))
    ),
    Deviation(
        "*rank: *#*",
        "invoke ?, output ?: *",
        "a mean over an axis outside is zeros, as the reference's; TensorFlow's optimized kernel leaves its output unwritten",
        ("AUTO", "BUILTIN", "BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
        cause=reduces_axes_outside,
        computed_by="MEAN",
    ),
    *(
        Deviation(
            f"{cases}, *rank: *#*",
            difference,
            "an image of fewer dimensions is not taken; TensorFlow's delegate looks at dimensions that are not there",
            DEFAULT,
            text,
        )
        for cases, text in (("GRAPH/*", "*SPACE_TO_DEPTH(*"), ("SPACE_TO_DEPTH/*", "*"))
        for difference in ("delegate node*", "*failed to delegate SPACE_TO_DEPTH node*  <>  *")
    ),
    *(
        Deviation(
            f"{cases}, *rank: *#*",
            f"ok  <>  raised RuntimeError in invoke: {text}*",
            "what another rank leaves without sizes, indices, scales or dilations is refused; TensorFlow reads what lies behind them",
        )
        for cases, text in (
            ("STABLEHLO_SCATTER/*", ""),
            ("STABLEHLO_GATHER/*", ""),
            ("REDUCE_WINDOW/*", "REDUCE_WINDOW: a window, strides or dilations of fewer values "),
            ("DEQUANTIZE/*/per channel*", "DEQUANTIZE: * scales along dimension "),
            ("NumericVerify/*/per channel*", "DEQUANTIZE: * scales along dimension "),
            ("QUANTIZE/*/per channel*", "QUANTIZE: * scales along dimension "),
        )
    ),
    *(
        Deviation(
            f"{op}/*, *rank: *#*",
            difference,
            "without sizes, indices or dilations for all of the rank it is refused; TensorFlow reads what lies behind, may refuse this",
        )
        for op, difference in (
            *(
                (op, "raised RuntimeError in allocate_tensors: *BytesRequired number of * overflowed.*  <>  *")
                for op in ("STABLEHLO_GATHER", "REDUCE_WINDOW", "DILATE")
            ),
            (
                "REDUCE_WINDOW",
                "raised ValueError in set_tensor: *Tensor is unallocated*  <>  raised RuntimeError in invoke: REDUCE_WINDOW: a window, *",
            ),
        )
    ),
    Deviation(
        "*_POOL_2D/*int*/*, *rank: *#*",
        "*no_integer_overflow_from_quantization*  <>  raised RuntimeError in invoke: no_integer_overflow_from_quantization*",
        "integer pools whose activation is beyond 32 bits at their scale are refused; TensorFlow clamps to limits that nobody wrote",
    ),
    Deviation(
        "CONCATENATION/float32/wrong shape, to rank: *#*",
        "*XNNPack delegate failed to reshape*  <>  raised RuntimeError in invoke: CONCATENATION: shapes *",
        "shapes that do not fit each other are refused; TensorFlow's delegate copies across their ends, until an axis is outside",
        DEFAULT,
    ),
    *(
        Deviation(
            f"LSTM/*, {kind}rank: more#*",
            "ok  <>  raised RuntimeError in allocate_tensors: input->dims->size != 2 *",
            "an input of three dimensions is refused; TensorFlow reads it as a sequence, whose batch is not that of the states",
        )
        for kind in ("", "to ")
    ),
    *(
        Deviation(
            f"{cases}, to rank: *#*",
            "1 <> 0 invokes",
            "sparse weights that are not LSTM's blocks of 16 columns are refused; TensorFlow runs until it comes to the other rank",
        )
        for cases in (
            "UNIDIRECTIONAL_SEQUENCE_LSTM/hybrid_i8/sparse",
            "LSTM/hybrid_i8/sparse other gates",
            "LSTM/hybrid_i8/sparse wrong block",
        )
    ),
    *(
        Deviation(
            "GRAPH/*, *rank: *#*",
            difference,
            "an input of another rank is refused when it is reached; TensorFlow's delegate takes four of the dimensions that there are or "
            "were, and may read what is not the tensor's",
            DEFAULT,
            text,
        )
        for difference, text in (
            (
                "*raised RuntimeError in allocate_tensors: *  <>  raised RuntimeError in invoke: the permutation must be *",
                "*",
            ),
            ("*XNNPack delegate failed to reshape*  <>  raised RuntimeError in invoke: axes[i] >= 0 *", "*TRANSPOSE(*"),
            ("ok  <>  raised RuntimeError in allocate_tensors: CONV_2D: empty image *", "*"),
        )
    ),
    *(
        Deviation(
            f"SPLIT/{dtype}/*, *rank: *#*",
            "ok  <>  raised RuntimeError in invoke: Not an even split*",
            "parts that do not come out even are refused; TensorFlow's delegate runs on memory that is not the tensors', or dies",
            DEFAULT,
        )
        for dtype in ("float32", "int8", "uint8")
    ),
    *(
        Deviation(
            f"{op}/*int8/*, *rank: *#*",
            "invoke ?, output 0: *",
            "a reduction of integers has room for its sums; TensorFlow's delegate keeps the room of the first allocation where the output "
            "does not grow, and writes across its end",
            DEFAULT,
            cause=lacks_room_for_sums,
        )
        for op in ("MEAN", "SUM")
    ),
    *(
        Deviation(
            f"{op}/*/rank 6, to rank: more#*",
            "ok  <>  raised RuntimeError in allocate_tensors: *",
            "an input of seven dimensions is refused; the shapes that TensorFlow's delegate computes of it overrun an array",
            DEFAULT,
        )
        for op in ("CONCATENATION", "TRANSPOSE")
    ),
)
