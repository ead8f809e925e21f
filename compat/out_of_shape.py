"""Differences of `python -m compat --placeholders` that we want: shapes that do not belong together, branches and loops."""

from .causes import (
    assigns_another_rank,
    assigns_another_shape,
    attends_otherwise,
    branch_knows_its_output,
    gives_a_tensor_twice,
    gives_more_than_the_image,
    gives_nothing_first,
    has_fewer_than_no_windows,
    has_no_images,
    lacks_room_for_sums,
    makes_of_nothing,
    merges_an_extremum,
    multiplies_otherwise_when_shaped,
)
from .deviation import Deviation

DEFAULT = ("AUTO", "BUILTIN")
NOT_REFERENCE = (*DEFAULT, "BUILTIN_WITHOUT_DEFAULT_DELEGATES")

# Shapes that do not belong together, where TensorFlow runs: which cases, what is said here, why.
MISFITS = (
    (
        "MIRROR_PAD/*",
        "MirrorPad paddings ",
        "a border larger than its image is refused; TensorFlow reads outside of it",
    ),
    (
        "GRAPH/*",
        "MirrorPad paddings * Node number * (MIRROR_PAD)*",
        "a border larger than its image is refused; TensorFlow reads outside of it",
    ),
    (
        "FULLY_CONNECTED/shuffled/*",
        "FULLY_CONNECTED: * operands are too few for ",
        "room of the file's size that is too small is refused; TensorFlow writes across its end",
    ),
    (
        "GRAPH/*",
        "Not an even split",
        "parts that do not come out even are refused; TensorFlow's delegate runs on memory that is not the tensors', or dies",
    ),
    (
        "SPLIT/float32/random",
        "Not an even split",
        "parts that do not come out even are refused; TensorFlow's delegate runs on memory that is not the tensors', or dies",
    ),
    (
        "GRAPH/float32/*",
        "TRANSPOSE_CONV: a filter of the shape * for an image *",
        "an image of fewer channels than the filter wants is refused; TensorFlow's delegate reads as many as the filter wants",
    ),
    (
        "REVERSE_SEQUENCE/*",
        "*seq_lengths",
        "lengths beyond the sequence are refused; TensorFlow looks at the first one only",
    ),
    (
        "SLICE/*",
        "Invalid begin and size",
        "a part outside of its tensor is refused; TensorFlow copies what lies behind",
    ),
    (
        "GRAPH/*",
        "Invalid begin and size. Node number * (SLICE)*",
        "a part outside of its tensor is refused; TensorFlow copies what lies behind",
    ),
    (
        "STABLEHLO_GATHER/*",
        "STABLEHLO_GATHER: a slice ",
        "slices outside of the operand are refused; TensorFlow copies them",
    ),
    (
        "STABLEHLO_*",
        "index vectors ",
        "index vectors that are too short are refused; TensorFlow reads what lies behind",
    ),
    (
        "STABLEHLO_SCATTER/*",
        "updates ",
        "updates of other shapes are refused; TensorFlow reads indices that are not there",
    ),
    (
        "STRIDED_SLICE/*",
        "slice index ",
        "an index outside of its axis is refused; TensorFlow leaves the output unwritten",
    ),
    (
        "aeq.hadamard_rotation/*",
        "aeq.hadamard",
        "an output of the file's size is refused; TensorFlow writes across its end",
    ),
    (
        "*VARIABLE*",
        "the variable has ",
        "a variable smaller than what is read is refused; TensorFlow reads beyond it",
    ),
    (
        "VAR_HANDLE/*",
        "the variable has ",
        "a variable smaller than what is read is refused; TensorFlow reads beyond it",
    ),
    (
        "CALL_ONCE/*",
        "the variable has ",
        "a variable smaller than what is read is refused; TensorFlow reads beyond it",
    ),
    (
        "GRAPH/*/variables",
        "the variable has ",
        "a variable smaller than what is read is refused; TensorFlow reads beyond it",
    ),
)

OUT_OF_SHAPE = (
    # ---- `python -m compat --placeholders`: in shapes that do not belong together, where TensorFlow runs
    *(
        Deviation(f"{cases}, *#*", f"ok  <>  raised RuntimeError in invoke: {text}*", f"{reason} at a placeholder")
        for cases, text, reason in MISFITS
    ),
    Deviation(
        "GRAPH/*, *#*",
        "invoke ?, output ?: * of * elements: *",
        "an output with more windows than the input has pixels is computed from those that there are, as by the reference; "
        "TensorFlow's optimized kernel reads what lies behind them",
        NOT_REFERENCE,
        cause=gives_more_than_the_image,
        computed_by="TRANSPOSE_CONV",
    ),
    *(
        Deviation(
            "TFLite_Detection_PostProcess/*/fast, *#*",
            f"invoke ?, output {output}: float32 *",
            "where fewer boxes than wanted are found the other boxes and scores are 0; TensorFlow returns memory that nobody wrote",
        )
        for output in (0, 1, 2)
    ),
    *(
        Deviation(
            cases,
            difference,
            "attention has the shapes of its operands; TensorFlow's delegate keeps heads, groups and depth of the first allocation",
            DEFAULT,
            cause=attends_otherwise,
        )
        for cases in ("odml.scaled_dot_product_attention/*, *#*", "STABLEHLO_COMPOSITE/*/attention*, *#*")
        for difference in (
            "raised RuntimeError in allocate_tensors: XNNPack delegate failed to reshape*  <>  ok",
            "invoke ?, output ?: *",
        )
    ),
    *(
        Deviation(
            cases,
            "invoke ?, output 0: *",
            "a branch gives the value that is known when it is prepared; TensorFlow's IF leaves memory that nobody wrote",
            cause=branch_knows_its_output,
        )
        for cases in ("RANGE/*/constant, IF#*", "RANK/*, IF#*", "SHAPE/*, IF#*")
    ),
    Deviation(
        "*/zero size, IF#*",
        "raised ValueError in get_tensor: Invalid tensor size.  <>  raised RuntimeError in invoke: *",
        "what the branch cannot do is refused when it is taken; TensorFlow refuses to read the other branch's empty output before",
        cause=gives_nothing_first,
    ),
    Deviation(
        "LSTM/*/basic*, IF#*",
        "raised RuntimeError in invoke: *dst_tensor->allocation_type != kTfLiteCustom*  <>  ok",
        "an LSTM of the basic kernel runs as a branch; TensorFlow's IF cannot copy its scratch outputs",
    ),
    Deviation(
        "*",
        "*stablehlo_case.cc*  <>  *",
        "STABLEHLO_CASE runs in a model with other subgraphs; TensorFlow takes all of them for its branches",
    ),
    *(
        Deviation(cases, difference, "a loop whose state is empty runs; TensorFlow's WHILE refuses it")
        for cases in ("*REDUCE_WINDOW/*, WHILE#*", "SLICE/*, WHILE#*", "STRIDED_SLICE/*, WHILE#*")
        for difference in (
            "raised RuntimeError in invoke: Node number 0 (WHILE) failed to invoke.*  <>  *",
            "0 <> 1 invokes",
        )
    ),
    Deviation(
        "GRAPH/*/outputs, IF#*",
        "invoke ?, output ?: * of * elements: *",
        "a branch that gives a tensor twice gives it twice; TensorFlow's IF leaves memory that nobody wrote",
        cause=gives_a_tensor_twice,
    ),
    Deviation(
        "GRAPH/*/variables, *rank: *#*",
        "invoke ?, output ?: *",
        "a variable of another rank has the shape of what was assigned; TensorFlow's delegate mixes it with the one before",
        DEFAULT,
        cause=assigns_another_rank,
    ),
    *(
        Deviation(
            "GRAPH/*/variables, *#*",
            "invoke ?, output ?: * of * elements: *",
            "an operand that has become smaller than the result is broadcast; TensorFlow's delegate still writes the result over it, as it "
            "did when they had one size",
            DEFAULT,
            f"*{op}(*",
            assigns_another_shape,
        )
        for op in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU")
    ),
    *(
        Deviation(
            cases,
            "raised ValueError in get_tensor: Malloc to copy tensor failed.*  <>  ok",
            "fewer than no windows are none; TensorFlow counts bytes below 0 and cannot copy them",
            cause=has_fewer_than_no_windows,
        )
        for cases in ("GRAPH/*, *#*", "*_POOL_2D/*int8/*, *#*")
    ),
    Deviation(
        "BATCH_TO_SPACE_ND/*int8/*",
        "raised ValueError in get_tensor: Malloc to copy tensor failed.*  <>  ok",
        "fewer than no rows are none; TensorFlow counts bytes below 0 and cannot copy them",
        ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
    ),
    Deviation(
        "BATCH_TO_SPACE_ND/*/fed, to none: *#*",
        "raised ValueError in get_tensor: Invalid tensor size.  <>  raised RuntimeError in invoke: a dimension of the output of *",
        "a number of rows below 0 is refused when it is reached; TensorFlow refuses to read what it gives",
    ),
    Deviation(
        "GRAPH/*, *#*",
        "raised RuntimeError in allocate_tensors: *BytesRequired number of * overflowed.*  <>  ok",
        "fewer than no windows are none; TensorFlow counts on with a number below 0, and a later node refuses it",
        cause=has_fewer_than_no_windows,
    ),
    *(
        Deviation(
            "GRAPH/*, *#*",
            "invoke ?, output ?: *",
            "a reduction of integers has room for its sums; TensorFlow's delegate keeps the room of the first allocation where the output "
            "does not grow, and writes across its end",
            DEFAULT,
            f"*{op}(*int8[*",
            lacks_room_for_sums,
        )
        for op in ("MEAN", "SUM")
    ),
    *(
        Deviation(
            cases,
            "invoke ?, output ?: * [0, *] <> * [0, *]",
            "an output of no images has the shape that it has with some; TensorFlow's delegate returns a shape that nobody computed",
            DEFAULT,
            cause=has_no_images,
        )
        for cases in ("*/zero batch, *#*", "*, to none: first#*")
    ),
    # ---- inputs that become empty after a run
    *(
        Deviation(
            "*, to none: *#*",
            f"raised RuntimeError in allocate_tensors: {refusal}*  <>  raised RuntimeError in invoke: {text}",
            "what does not fit an image of nothing is refused when it is reached; TensorFlow refuses shapes that its delegate computes, "
            "which overflow",
            DEFAULT,
        )
        for refusal in ("XNNPack delegate failed to reshape runtime", "*BytesRequired number of elements overflowed.")
        for text in (
            "CONV_2D: a * filter with dilations * does not fit the * image.*",
            "DEPTHWISE_CONV_2D: a * filter with dilations * does not fit the * image.*",
            "gather index out of bounds: *",
        )
    ),
    *(
        Deviation(
            "*, to none: *#*",
            f"ok  <>  raised RuntimeError in invoke: {text}",
            "an image of fewer channels than the filter wants, or a row without values, is refused; TensorFlow's delegate reads as many "
            "as the filter wants, of memory that is not the input's",
            DEFAULT,
        )
        for text in (
            "CONV_2D: * channels do not fit a filter of *",
            "CONV_2D: * input channels, filters of *",
            "DEPTHWISE_CONV_2D: *channels*",
            "TRANSPOSE_CONV: input [*, 0] does not fit *",
            "TRANSPOSE_CONV: a filter of the shape * for an image *x0.*",
            "FULLY_CONNECTED: keep_num_dims wants rows of *, the input has the shape [*, 0].*",
        )
    ),
    *(
        Deviation(
            cases,
            "invoke ?, output ?: *",
            "a reduction of nothing gives zeros, or a quantized sum its zero point; TensorFlow returns memory that nobody wrote",
            modes,
            text,
            makes_of_nothing(*operators),
        )
        for cases in ("GRAPH/*, to none: *#*", "GRAPH/*, *rank: *#*")
        for modes, text, operators in (
            (DEFAULT, "*", ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")),
            (("BUILTIN_WITHOUT_DEFAULT_DELEGATES",), "*", ("SUM",)),
        )
    ),
    Deviation(
        "GRAPH/*, to none: *#*",
        "invoke 1, output ?: *",
        "a transposed convolution of nothing is its bias, as in the reference; TensorFlow's optimized kernel adds it to memory that "
        "nobody wrote",
        NOT_REFERENCE,
        cause=makes_of_nothing("TRANSPOSE_CONV"),
    ),
    *(
        Deviation(
            "GRAPH/*, ones: *#*",
            f"ok  <>  raised RuntimeError in allocate_tensors: {text}",
            "fewer than no windows are none; TensorFlow counts on with a number below 0, which a later node takes",
            cause=has_fewer_than_no_windows,
        )
        for text in ("*CONV_2D: a * filter with dilations * does not fit the * image.*", "CONV_2D: *: 0 channels, *")
    ),
    Deviation(
        "PAD/float32/*, to none: *#*",
        "invoke 1, output 0: * of * elements: *",
        "the border around nothing is written; TensorFlow's optimized kernel leaves a part of it as it was",
        NOT_REFERENCE,
        cause=makes_of_nothing("PAD"),
    ),
    Deviation(
        "GRAPH/*, to none: inside#*",
        "invoke 1, output ?: * [*] <> * [*]",
        "fewer than no windows are none; TensorFlow counts on with a number below 0, of which a later node makes another one",
        text="*CONV_2D(*",
        cause=has_fewer_than_no_windows,
    ),
    Deviation(
        "GRAPH/*, to none: inside#*",
        "details of tensor *: shape int32 [*] <> int32 [*]",
        "fewer than no windows are none; TensorFlow's details show a number below 0",
        cause=has_fewer_than_no_windows,
    ),
    *(
        Deviation(
            f"GRAPH/{dtype}/*, ones: *#*",
            "invoke ?, output ?: *",
            "a depth_multiplier that does not fit the shapes is not looked at, as by the other kernels; TensorFlow's kernel writes "
            "across the end of the output, or leaves values of it unwritten",
            cause=multiplies_otherwise_when_shaped,
            computed_by="DEPTHWISE_CONV_2D",
        )
        for dtype in ("dynamic_range", "mixed")
    ),
    *(
        Deviation(
            f"GRAPH/*/rewrite extrema, {what}#*",
            "0 <> 1 invokes",
            "MAXIMUM or MINIMUM with a constant behind a convolution or pooling runs; TensorFlow's delegate spoils the padding",
            DEFAULT,
        )
        for what in ("to none: *", "*rank: *")
    ),
    *(
        Deviation(
            "GRAPH/*/rewrite extrema, *rank: *#*",
            f"*raised RuntimeError in allocate_tensors: {theirs}*  <>  raised RuntimeError in invoke: *_2D wants 4 *",
            "MAXIMUM or MINIMUM with a constant behind a convolution or pooling runs; TensorFlow's delegate spoils the padding",
            DEFAULT,
            cause=merges_an_extremum,
        )
        for theirs in ("failed to create XNNPACK", "XNNPack delegate failed to reshape")
    ),
    Deviation(
        "GRAPH/*, to none: last#*",
        "raised RuntimeError in invoke: *num_input_channels != 0 was not true.*  <>  raised RuntimeError in allocate_tensors: CONV_2D: *",
        "a convolution of an image without channels is refused when it is allocated; TensorFlow refuses another node of that image first",
        ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
    ),
    Deviation(
        "*, to none: last#*",
        "raised RuntimeError in invoke: Invalid tensor index *  <>  raised RuntimeError in allocate_tensors: CONV_2D: input_channel % *",
        "a hybrid convolution of an image without channels is refused when it is allocated; TensorFlow's kernel looks for scratch "
        "tensors whose numbers nobody wrote",
    ),
    Deviation(
        "*LSTM/hybrid_i8/sparse*, to none: *#*",
        "1 <> 0 invokes",
        "sparse weights are refused where they are not the blocks of 16 columns of LSTM's one step; TensorFlow reads what is stored "
        "as if they were, or as dense ones, beyond the end",
    ),
)
