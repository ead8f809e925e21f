"""Differences that we want in files that no converter writes: `--retype`, mixtures of types, `--odd`, `--options`."""

from .deviation import Deviation

DEFAULT = ("AUTO", "BUILTIN")
NOT_REFERENCE = (*DEFAULT, "BUILTIN_WITHOUT_DEFAULT_DELEGATES")

ODD_FILES = (
    # ---- `python -m compat --retype` and the mixtures of types: what TensorFlow computes without looking at the type
    *(
        Deviation(
            cases,
            f"ok  <>  raised RuntimeError in {stage}",
            "integer pools whose activation is beyond 32 bits at their scale (0 above all) are refused; TensorFlow clamps to limits that "
            "nobody wrote",
        )
        for cases in (
            "*_POOL_2D/* as *int*/plain#*",
            "*_POOL_2D/*int*/no scale clipped#*",
            "*_POOL_2D/*int*/tiny scale#*",
            "*_POOL_2D/*int*/odd scale *#*",
        )
        for stage in (
            "invoke: no_integer_overflow_from_quantization *",
            "construct: TFLM failed to allocate tensors",
            "allocate_tensors: no_integer_overflow_from_quantization *",
            "invoke: Interpreter invocation failed.",
        )
    ),
    *(
        Deviation(
            cases,
            "invoke ?, output 0: *",
            "an output with more windows than the input has pixels is computed from those that there are, as by the reference; "
            "TensorFlow's optimized kernel reads what lies behind them",
            NOT_REFERENCE,
        )
        for cases in ("TRANSPOSE_CONV/*/larger#*", "TRANSPOSE_CONV/*/TransposeConvOptions.padding=*#*")
    ),
    *(
        Deviation(
            "SLICE/*/larger in the file#*",
            difference,
            "a slice has the shape of its begin and size; TensorFlow keeps one that the file gives without -1, after a resize too, leaves "
            "a part of it unwritten or writes beyond its end",
        )
        for difference in ("invoke ?, output 0: *", "details ?: *", "ok  <>  raised RuntimeError in invoke: *")
    ),
    # ---- `python -m compat --odd`
    Deviation(
        "WHERE/*, odd booleans#*",
        "invoke ?, output 0: int64 [*] <> int64 [*]",
        "a row for each byte that is true; TensorFlow makes room for as many as the sum of the bytes, and leaves the rest unwritten",
    ),
    *(
        Deviation(
            cases,
            difference,
            "a transposed convolution of nothing is its bias, as in the reference; TensorFlow's optimized kernel adds it to memory that "
            "nobody wrote",
            NOT_REFERENCE,
        )
        for cases, difference in (
            ("TRANSPOSE_CONV/*/zero size *#*", "invoke 0, output 0: *"),
            ("TRANSPOSE_CONV/*, to none: inside#*", "invoke 1, output 0: *"),
        )
    ),
    *(
        Deviation(
            f"{op}/{dtype}/{variant}#*",
            difference,
            "a reduction of nothing gives zeros, or a quantized sum its zero point; TensorFlow returns memory that nobody wrote",
            modes,
        )
        for variant, difference in (
            ("zero size *", "invoke 0, output 0: *"),
            ("*, to none: *", "invoke 1, output 0: *"),
        )
        for op, dtype, modes in (
            *(
                (op, dtype, DEFAULT)
                for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
                for dtype in ("float32", "int8", "uint8")
            ),
            *(("SUM", dtype, NOT_REFERENCE) for dtype in ("int8", "uint8")),
            ("REDUCE_PROD", "int8", ()),
            ("REDUCE_PROD", "int16", ()),
        )
    ),
    *(
        Deviation(
            f"{op}/{dtype}/zero size *#*",
            f"invoke ?, output 0: {dtype} *",
            "a reduction after one of nothing is computed; TensorFlow's delegate then writes its sums of 32 bits as they are, across the "
            "end of the output",
            DEFAULT,
        )
        for op in ("MEAN", "SUM")
        for dtype in ("int8", "uint8")
    ),
    *(
        Deviation(
            f"DEPTHWISE_CONV_2D/{dtype}/{variant}#*",
            "ok  <>  raised RuntimeError in invoke: DEPTHWISE_CONV_2D: num_filter_channels % num_input_channels *",
            "an image without channels is refused, as by TensorFlow's other kernels; this one returns memory that nobody wrote",
            modes,
        )
        for dtype, modes in (("int16x8", ()), ("hybrid_i8", ("BUILTIN_REF",)))
        for variant in ("zero size *", "*, to none: last")
    ),
    *(
        Deviation(
            f"PADV2/{dtype}/odd scale {tensor} *#*",
            f"invoke ?, output 0: {dtype} *",
            "a border value that is quantized otherwise than the output is taken as it is; TensorFlow leaves the output unwritten",
        )
        for dtype in ("int8", "uint8", "int16")
        for tensor in ("t2", "t3")
    ),
    *(
        Deviation(
            f"FULLY_CONNECTED/shuffled/{variant}#*",
            "invoke ?, output 1: uint8 *",
            "the shuffled copy of no rows is zeros; TensorFlow leaves it unwritten",
        )
        for variant in ("zero size *", "*, to none: *")
    ),
    *(
        Deviation(
            f"aeq.hadamard_rotation/float32/{variant}#*",
            "invoke ?, output 0: float32 * <> 0.0 (0x00000000)",
            "an output of the file's size is zeros where there is nothing to rotate; TensorFlow leaves it unwritten",
            NOT_REFERENCE,
        )
        for variant in ("zero size *", "*, to none: *")
    ),
    Deviation(
        "TFLite_Detection_PostProcess/uint8/odd scale *#*",
        "invoke ?, output ?: float32 *",
        "boxes that are not there are zeros; TensorFlow returns memory that nobody wrote",
    ),
    # ---- `python -m compat --options`
    Deviation(
        "UNIQUE/*/UniqueOptions.idx_out_type=*#*",
        "ok  <>  raised RuntimeError in allocate_tensors: output_index_tensor*",
        "an index output of another type than the option names is refused; TensorFlow writes the one type into memory of the other",
    ),
    Deviation(
        "STABLEHLO_GATHER/*/StablehloGatherOptions absent#*",
        "raised * in *: *  <>  raised RuntimeError in allocate_tensors:*",
        "without options there are no dimensions; TensorFlow's kernel reads them from memory that nobody wrote",
    ),
    # ---- and with `--mode MICRO`
    *(
        Deviation(
            "*/* as int4/plain#*",
            f"raised ValueError in set_tensor: Cannot set tensor: Got value of type INT8 but expected type INT4 *  <>  {here}",
            "int4 inputs are set as int8 values, and what cannot run says so; the runtime's Python has no type for them",
            ("MICRO",),
        )
        for here in ("ok", "raised RuntimeError in *")
    ),
    *(
        Deviation(
            f"{op}/bool as *#*",
            "ok  <>  raised RuntimeError in *",
            "other types than bool are refused, as by TensorFlow; TFLM reads their bytes as truths",
            ("MICRO",),
        )
        for op in ("LOGICAL_AND", "LOGICAL_OR")
    ),
    Deviation(
        "*Options.padding=1#*",
        "ok  <>  raised RuntimeError in *",
        "a filter larger than its image is refused without padding; TFLM computes with as much as the file's output needs",
        ("MICRO",),
    ),
    Deviation(
        "L2_POOL_2D/*/Pool2DOptions.padding=0#*",
        "invoke ?, output 0: *",
        "an output larger than the file says is computed; TFLM writes it across the end of its memory",
        ("MICRO",),
    ),
    *(
        Deviation(
            f"*/{options} absent#*",
            difference,
            reason,
            ("MICRO",),
        )
        for options, difference, reason in (
            *(
                (
                    options,
                    "ok  <>  raised RuntimeError in *",
                    "without options strides are 0, which is refused; TFLM puts every window at the same place",
                )
                for options in ("Pool2DOptions", "Conv2DOptions", "DepthwiseConv2DOptions", "TransposeConvOptions")
            ),
            (
                "ConcatenationOptions",
                "ok  <>  raised RuntimeError in *",
                "shapes that do not fit are refused; TFLM copies across the tensors' ends",
            ),
            *(
                (
                    options,
                    "ok  <>  raised RuntimeError in *",
                    "without options there are no parts, which is refused; TFLM leaves the outputs as they are",
                )
                for options in ("PackOptions", "UnpackOptions")
            ),
            (
                "GatherOptions",
                "invoke ?, output 0: *",
                "the output has the file's shape and every element; TFLM takes the axis for the first and fills less",
            ),
            (
                "VarHandleOptions",
                "raised AttributeError in construct: *",
                "a variable without a name is one; the runtime's Python fails while it counts names",
            ),
        )
    ),
    *(
        Deviation(
            f"{op}/*/RandomOptions absent#*",
            "invoke ?, output 0: *",
            "without options there are no seeds: two runs differ, as two of TensorFlow's do",
        )
        for op in ("MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM")
    ),
    *(
        Deviation(
            f"STABLEHLO_{op}/*/Stablehlo*Options.* of 9#*",
            difference,
            "lists longer than eight are refused; TensorFlow copies them across the end of their room",
        )
        for op, difference in (
            ("SCATTER", "ok  <>  raised RuntimeError in allocate_tensors: Found too many dimensions*"),
            ("SCATTER", "raised * in *: *  <>  raised RuntimeError in allocate_tensors: Found too many dimensions*"),
            ("GATHER", "ok  <>  raised RuntimeError in allocate_tensors: Found too many dimensions*"),
            ("GATHER", "raised * in *: *  <>  raised RuntimeError in allocate_tensors: *"),
        )
    ),
    Deviation(
        "HASHTABLE_LOOKUP/* as int4/*#*",
        "invoke ?, output 0: int8 *",
        "packed integers are looked up as they are; TensorFlow copies a byte for each, beyond the end of the tensor",
    ),
    Deviation(
        "SVDF/int8 as float32/plain#*",
        "ok  <>  raised RuntimeError in allocate_tensors: SVDF: state of type INT16, expected FLOAT32*",
        "an int16 state of a float32 layer is refused; TensorFlow writes float32 across its end",
    ),
    *(
        Deviation(
            f"{op}/* as */*",
            f"ok  <>  raised RuntimeError in {stage}:*",
            "a type that the kernel does not look at is refused; TensorFlow reads it as another one, and memory beyond it",
        )
        for stage, op in (
            *(("allocate_tensors", op) for op in ("FAKE_QUANT", "LSH_PROJECTION", "MATRIX_DIAG", "MATRIX_SET_DIAG")),
            ("invoke", "CONV_2D"),
        )
    ),
    *(
        Deviation(
            cases,
            "ok  <>  raised RuntimeError in invoke: *",
            text,
            ("MICRO",),
        )
        for text, operators in (
            (
                "a bias or a table of another type than the kernel wants is refused; TFLM reads it as that type, beyond its end",
                (
                    "DEPTHWISE_CONV_2D/* as int8/scaled",
                    "TRANSPOSE_CONV/* as int*/scaled",
                    "TFLM_DECODE/* as int64/plain",
                ),
            ),
            (
                "a root of int16 without a scale is refused; TFLM multiplies by a number that nobody wrote",
                ("RSQRT/* as int16/plain",),
            ),
        )
        for cases in (f"{name}#*" for name in operators)
    ),
    *(
        Deviation(
            f"GRAPH/float32/{variant}#*",
            "ok  <>  raised RuntimeError in invoke: *",
            "a loop whose tensors outgrow the file's shapes is refused; TFLM computes with the file's, short of what is meant",
            ("MICRO",),
        )
        for variant in ("dynamic", "growing", "list", "special values")
    ),
    *(
        Deviation(
            f"{op}/* as int*/plain#*",
            "invoke ?, output 0: int*",
            "a function of integers without a scale gives their zero; TFLM converts quotients by 0 to integers, which C leaves undefined",
            ("MICRO",),
        )
        for op in ("ELU", "RELU6")
    ),
    *(
        Deviation(
            "* as int4/*",
            f"ok  <>  raised RuntimeError in {stage}",
            "packed integers where elements are copied are refused; TensorFlow copies a byte for each, beyond the end of the tensor",
        )
        for stage in ("allocate_tensors:*", "invoke: *types * are not supported*")
    ),
    *(
        Deviation(
            f"{op}/* as {dtype}/plain#*",
            difference,
            "a branch that cannot run is refused when it is prepared, not when it is taken for the first time, if ever",
        )
        for op in ("IF", "STABLEHLO_CASE")
        for dtype in ("uint32", "complex64")
        for difference in ("ok  <>  raised RuntimeError in allocate_tensors:*", "* <> 0 invokes")
    ),
    Deviation(
        "SUM/* as int16/*#*",
        "invoke ?, output 0: int16 *",
        "a sum of int16 is computed; TensorFlow's reference kernel returns memory that nobody wrote",
        ("BUILTIN_REF",),
    ),
    Deviation(
        "NOT_EQUAL/* as int16/plain#*",
        "invoke ?, output 0: bool *",
        "int16 without quantization is compared; TensorFlow returns memory that nobody wrote",
    ),
    *(
        Deviation(
            f"{op}/{x} x * + int32 -> */mixture#*",
            "ok  <>  raised RuntimeError in invoke: *an INT32 bias with int16 activations wants the option*",
            "an int32 bias of int16 activations without quantized_bias_type is refused; TensorFlow reads it as int64, beyond its end",
        )
        for op in ("CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
        for x in ("int16",)
    ),
    Deviation(
        "FULLY_CONNECTED/shuffled/three rows#*",
        "ok  <>  raised RuntimeError in invoke: FULLY_CONNECTED: shuffled weights want *",
        "shuffled weights with neither 1 nor 4 rows of values are refused; TensorFlow returns memory that nobody wrote",
    ),
    Deviation(
        "DEPTHWISE_CONV_2D/float32 x int8 + float32 -> float32/mixture#*",
        "ok  <>  raised RuntimeError in invoke: DEPTHWISE_CONV_2D: affine_quantization->scale->size *",
        "one scale for several channels is refused, as by TensorFlow's reference; its optimized kernel reads beyond the only one",
        NOT_REFERENCE,
    ),
    *(
        Deviation(
            f"{op}/* as float16/plain#*",
            "ok  <>  raised RuntimeError in allocate_tensors:*",
            "float16 functions that XNNPACK approximates with instructions of their own are refused: their arithmetic is not worked out",
            DEFAULT,
        )
        for op in ("COS", "EXP", "GELU", "HARD_SWISH", "RSQRT", "SIN", "SQRT")
    ),
    *(
        Deviation(
            f"{op}/*/mixture#*",
            f"ok  <>  raised RuntimeError in {stage}: {op}: {text}*",
            "a mixture of types that no kernel is made for is refused; TensorFlow's kernels read one type as another, beyond the end, or "
            "leave memory that nobody wrote",
        )
        for op in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
        for stage, text in (
            ("invoke", "types "),
            ("run_signature", "types "),
            ("allocate_tensors", "bias has type INT64"),
        )
    ),
)
