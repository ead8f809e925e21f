"""Facts of the .tflite schema as compact tables: operators, enumerations, and every table's fields in slot order.

A line reads `Table: field:type field:type=default ...`. Field order is the wire format: a field's position is its
vtable slot, a union takes two (its type, then its value). `[type]` is a vector; an enumeration is written with its own
width. Option tables without fields appear only in the unions' orders.

Source: the schema that TensorFlow publishes (`tensorflow:tensorflow/compiler/mlir/lite/schema/schema.fbs`).
"""

_OPERATORS = """
    ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
    FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC
    LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH
    SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
    BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
    BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM
    ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE
    TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK
    LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL
    FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL
    REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND
    HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
    BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS
    HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE
    ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU
    DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2
    UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE
    STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
    STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE
    STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG
    STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT
    STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT
    STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL
    STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE
    STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
"""

OPERATORS = _OPERATORS.split()

# Which table stands for which union value; value 0 is "no table".
UNION_ORDER = {
    "BuiltinOptions": """
        Conv2D DepthwiseConv2D ConcatEmbeddings LSHProjection Pool2D SVDF RNN FullyConnected Softmax Concatenation Add
        L2Norm LocalResponseNormalization LSTM ResizeBilinear Call Reshape SkipGram SpaceToDepth EmbeddingLookupSparse
        Mul Pad Gather BatchToSpaceND SpaceToBatchND Transpose Reducer Sub Div Squeeze SequenceRNN StridedSlice Exp
        TopKV2 Split LogSoftmax Cast Dequantize MaximumMinimum ArgMax Less Neg PadV2 Greater GreaterEqual LessEqual
        Select Slice TransposeConv SparseToDense Tile ExpandDims Equal NotEqual Shape Pow ArgMin FakeQuant Pack
        LogicalOr OneHot LogicalAnd LogicalNot Unpack FloorDiv Square ZerosLike Fill BidirectionalSequenceLSTM
        BidirectionalSequenceRNN UnidirectionalSequenceLSTM FloorMod Range ResizeNearestNeighbor LeakyRelu
        SquaredDifference MirrorPad Abs SplitV Unique ReverseV2 AddN GatherNd Cos Where Rank ReverseSequence MatrixDiag
        Quantize MatrixSetDiag HardSwish If While DepthToSpace NonMaxSuppressionV4 NonMaxSuppressionV5 ScatterNd
        SelectV2 Densify SegmentSum BatchMatMul Cumsum CallOnce BroadcastTo Rfft2d Conv3D Hashtable HashtableFind
        HashtableImport HashtableSize VarHandle ReadVariable AssignVariable Random Bucketize Gelu DynamicUpdateSlice
        UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentSum ATan2 Sign Bitcast BitwiseXor
        RightShift
""",
    "BuiltinOptions2": """
        StablehloConcatenate StablehloBroadcastInDim StablehloSlice StablehloConvolution StablehloCustomCall
        StablehloReduce StablehloScatter StablehloCompare StablehloDynamicSlice StablehloPad StablehloIota
        StablehloDotGeneral StablehloReduceWindow StablehloSort StablehloWhile StablehloGather StablehloTranspose Dilate
        StablehloRngBitGenerator ReduceWindow StableHLOComposite StablehloShiftLeft StablehloCase
""",
}

_TABLES = """
    CustomQuantization: custom:[ubyte]
    BlockwiseQuantization: scales:int zero_points:int block_size:int
    MultiAxisQuantization: scales:int zero_points:int block_size:int quantized_dimensions:[int]
    QuantizationParameters: min:[float] max:[float] scale:[float] zero_point:[long] details:QuantizationDetails
        quantized_dimension:int
    Int32Vector: values:[int]
    Uint16Vector: values:[ushort]
    Uint8Vector: values:[ubyte]
    DimensionMetadata: format:DimensionType dense_size:int array_segments:SparseIndexVector
        array_indices:SparseIndexVector
    SparsityParameters: traversal_order:[int] block_map:[int] dim_metadata:[DimensionMetadata]
    VariantSubType: shape:[int] type:TensorType has_rank:bool
    Tensor: shape:[int] type:TensorType buffer:uint name:string quantization:QuantizationParameters is_variable:bool
        sparsity:SparsityParameters shape_signature:[int] has_rank:bool variant_tensors:[VariantSubType]
        external_buffer:uint
    OperatorCode: deprecated_builtin_code:byte custom_code:string version:int=1 builtin_code:BuiltinOperator
    Operator: opcode_index:uint inputs:[int] outputs:[int] builtin_options:BuiltinOptions custom_options:[ubyte]
        custom_options_format:CustomOptionsFormat mutating_variable_inputs:[bool] intermediates:[int]
        large_custom_options_offset:ulong large_custom_options_size:ulong builtin_options_2:BuiltinOptions2
        debug_metadata_index:int=-1
    SubGraph: tensors:[Tensor] inputs:[int] outputs:[int] operators:[Operator] name:string
        debug_metadata_index:int=-1
    Buffer: data:[ubyte] offset:ulong size:ulong
    ExternalBufferGroup: name:string
    ExternalBuffer: id:uint group:uint offset:ulong length:ulong packing:string
    Metadata: name:string buffer:uint
    TensorMap: name:string tensor_index:uint
    SignatureDef: inputs:[TensorMap] outputs:[TensorMap] signature_key:string deprecated_tag:string
        subgraph_index:uint
    Model: version:uint operator_codes:[OperatorCode] subgraphs:[SubGraph] description:string buffers:[Buffer]
        metadata_buffer:[int] metadata:[Metadata] signature_defs:[SignatureDef]
        external_buffer_groups:[ExternalBufferGroup] external_buffers:[ExternalBuffer]
    Conv2DOptions: padding:Padding stride_w:int stride_h:int fused_activation_function:Activation
        dilation_w_factor:int=1 dilation_h_factor:int=1 quantized_bias_type:TensorType
    DepthwiseConv2DOptions: padding:Padding stride_w:int stride_h:int depth_multiplier:int
        fused_activation_function:Activation dilation_w_factor:int=1 dilation_h_factor:int=1
    ConcatEmbeddingsOptions: num_channels:int num_columns_per_channel:[int] embedding_dim_per_channel:[int]
    LSHProjectionOptions: type:LSHProjectionType
    Pool2DOptions: padding:Padding stride_w:int stride_h:int filter_width:int filter_height:int
        fused_activation_function:Activation
    SVDFOptions: rank:int fused_activation_function:Activation asymmetric_quantize_inputs:bool
    RNNOptions: fused_activation_function:Activation asymmetric_quantize_inputs:bool
    FullyConnectedOptions: fused_activation_function:Activation weights_format:WeightsFormat keep_num_dims:bool
        asymmetric_quantize_inputs:bool quantized_bias_type:TensorType
    SoftmaxOptions: beta:float
    ConcatenationOptions: axis:int fused_activation_function:Activation
    AddOptions: fused_activation_function:Activation pot_scale_int16:bool=true
    L2NormOptions: fused_activation_function:Activation
    LocalResponseNormalizationOptions: radius:int bias:float alpha:float beta:float
    LSTMOptions: fused_activation_function:Activation cell_clip:float proj_clip:float kernel_type:LSTMKernelType
        asymmetric_quantize_inputs:bool
    ResizeBilinearOptions: new_height:int new_width:int align_corners:bool half_pixel_centers:bool
    CallOptions: subgraph:uint
    ReshapeOptions: new_shape:[int]
    SkipGramOptions: ngram_size:int max_skip_size:int include_all_ngrams:bool
    SpaceToDepthOptions: block_size:int
    EmbeddingLookupSparseOptions: combiner:CombinerType
    MulOptions: fused_activation_function:Activation
    GatherOptions: axis:int batch_dims:int
    ReducerOptions: keep_dims:bool
    SubOptions: fused_activation_function:Activation pot_scale_int16:bool=true
    DivOptions: fused_activation_function:Activation
    SqueezeOptions: squeeze_dims:[int]
    SequenceRNNOptions: time_major:bool fused_activation_function:Activation asymmetric_quantize_inputs:bool
    StridedSliceOptions: begin_mask:int end_mask:int ellipsis_mask:int new_axis_mask:int shrink_axis_mask:int
        offset:bool
    SplitOptions: num_splits:int
    CastOptions: in_data_type:TensorType out_data_type:TensorType
    ArgMaxOptions: output_type:TensorType
    TransposeConvOptions: padding:Padding stride_w:int stride_h:int fused_activation_function:Activation
        quantized_bias_type:TensorType
    SparseToDenseOptions: validate_indices:bool
    ShapeOptions: out_type:TensorType
    ArgMinOptions: output_type:TensorType
    FakeQuantOptions: min:float max:float num_bits:int narrow_range:bool
    PackOptions: values_count:int axis:int
    OneHotOptions: axis:int
    UnpackOptions: num:int axis:int
    BidirectionalSequenceLSTMOptions: fused_activation_function:Activation cell_clip:float proj_clip:float
        merge_outputs:bool time_major:bool=true asymmetric_quantize_inputs:bool
    BidirectionalSequenceRNNOptions: time_major:bool fused_activation_function:Activation merge_outputs:bool
        asymmetric_quantize_inputs:bool
    UnidirectionalSequenceLSTMOptions: fused_activation_function:Activation cell_clip:float proj_clip:float
        time_major:bool asymmetric_quantize_inputs:bool diagonal_recurrent_tensors:bool
    ResizeNearestNeighborOptions: align_corners:bool half_pixel_centers:bool
    LeakyReluOptions: alpha:float
    MirrorPadOptions: mode:MirrorPadMode
    SplitVOptions: num_splits:int
    UniqueOptions: idx_out_type:TensorType=INT32
    ReverseSequenceOptions: seq_dim:int batch_dim:int
    IfOptions: then_subgraph_index:int else_subgraph_index:int
    WhileOptions: cond_subgraph_index:int body_subgraph_index:int
    DepthToSpaceOptions: block_size:int
    BatchMatMulOptions: adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool
    CumsumOptions: exclusive:bool reverse:bool
    CallOnceOptions: init_subgraph_index:int
    Conv3DOptions: padding:Padding stride_d:int stride_w:int stride_h:int fused_activation_function:Activation
        dilation_d_factor:int=1 dilation_w_factor:int=1 dilation_h_factor:int=1
    HashtableOptions: table_id:int key_dtype:TensorType value_dtype:TensorType
    VarHandleOptions: container:string shared_name:string
    RandomOptions: seed:long seed2:long
    BucketizeOptions: boundaries:[float]
    GeluOptions: approximate:bool
    StablehloConcatenateOptions: dimension:long
    StablehloBroadcastInDimOptions: broadcast_dimensions:[long]
    StablehloSliceOptions: start_indices:[long] limit_indices:[long] strides:[long]
    StablehloConvolutionOptions: window_strides:[long] padding:[long] lhs_dilation:[long] rhs_dilation:[long]
        window_reversal:[bool] input_batch_dimension:long input_feature_dimension:long
        input_spatial_dimensions:[long] kernel_input_feature_dimension:long kernel_output_feature_dimension:long
        kernel_spatial_dimensions:[long] output_batch_dimension:long output_feature_dimension:long
        output_spatial_dimensions:[long] feature_group_count:long batch_group_count:long
        precision_config:[StablehloPrecisionConfig]
    StablehloCustomCallOptions: call_target_name:string has_side_effect:bool backend_config:string api_version:int
        called_computations:[int] custom_attributes:[ubyte]
    StablehloReduceOptions: dimensions:[long] body_subgraph_index:int
    StablehloScatterOptions: indices_are_sorted:bool update_window_dims:[long] inserted_window_dims:[long]
        scatter_dims_to_operand_dims:[long] index_vector_dim:long unique_indices:bool
        update_computation_subgraph_index:int
    StablehloCompareOptions: comparison_direction:StablehloComparisonDirection compare_type:StablehloComparisonType
    StablehloDynamicSliceOptions: slice_sizes:[long]
    StablehloPadOptions: edge_padding_low:[long] edge_padding_high:[long] interior_padding:[long]
    StablehloIotaOptions: iota_dimension:long
    StablehloDotGeneralOptions: lhs_batching_dimensions:[long] rhs_batching_dimensions:[long]
        lhs_contracting_dimensions:[long] rhs_contracting_dimensions:[long]
        precision_config:[StablehloPrecisionConfig]
    StablehloReduceWindowOptions: window_dimensions:[long] window_strides:[long] base_dilations:[long]
        window_dilations:[long] padding:[long] body_subgraph_index:int
    StablehloSortOptions: dimension:long is_stable:bool comparator_subgraph_index:int
    StablehloWhileOptions: cond_subgraph_index:int body_subgraph_index:int
    StablehloGatherOptions: offset_dims:[long] collapsed_slice_dims:[long] start_index_map:[long]
        index_vector_dim:long slice_sizes:[long] indices_are_sorted:bool
    StablehloTransposeOptions: permutation:[long]
    StablehloRngBitGeneratorOptions: algorithm:RngAlgorithm
    ReduceWindowOptions: reduce_function:ReduceWindowFunction
    StableHLOCompositeOptions: name:string decomposition_subgraph_index:int composite_attributes:[ubyte]
        composite_attributes_format:CustomOptionsFormat version:int
    StablehloCaseOptions: branch_subgraph_indices:[int]
"""

_ENUMS = """
    TensorType: FLOAT32=0 FLOAT16=1 INT32=2 UINT8=3 INT64=4 STRING=5 BOOL=6 INT16=7 COMPLEX64=8 INT8=9 FLOAT64=10
        COMPLEX128=11 UINT64=12 RESOURCE=13 VARIANT=14 UINT32=15 UINT16=16 INT4=17 BFLOAT16=18 INT2=19 UINT4=20
        FLOAT8_E4M3FN=21 FLOAT8_E5M2=22
    QuantizationDetails: CustomQuantization=1 BlockwiseQuantization=2 MultiAxisQuantization=3
    DimensionType: DENSE=0 SPARSE_CSR=1
    SparseIndexVector: Int32Vector=1 Uint16Vector=2 Uint8Vector=3
    StablehloPrecisionConfig: DEFAULT=0 HIGH=1 HIGHEST=2
    StablehloComparisonDirection: STABLEHLO_COMPARISON_DIRECTION_EQ=0 STABLEHLO_COMPARISON_DIRECTION_NE=1
        STABLEHLO_COMPARISON_DIRECTION_GE=2 STABLEHLO_COMPARISON_DIRECTION_GT=3 STABLEHLO_COMPARISON_DIRECTION_LE=4
        STABLEHLO_COMPARISON_DIRECTION_LT=5
    StablehloComparisonType: STABLEHLO_COMPARISON_TYPE_NOTYPE=0 STABLEHLO_COMPARISON_TYPE_FLOAT=1
        STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER=2 STABLEHLO_COMPARISON_TYPE_SIGNED=3
        STABLEHLO_COMPARISON_TYPE_UNSIGNED=4
    RngAlgorithm: DEFAULT=0 PHILOX=1 THREEFRY=2
    Padding: SAME=0 VALID=1
    Activation: NONE=0 RELU=1 RELU_N1_TO_1=2 RELU6=3 TANH=4 SIGN_BIT=5
    LSHProjectionType: UNKNOWN=0 SPARSE=1 DENSE=2
    WeightsFormat: DEFAULT=0 SHUFFLED4x16INT8=1
    LSTMKernelType: FULL=0 BASIC=1
    CombinerType: SUM=0 MEAN=1 SQRTN=2
    MirrorPadMode: REFLECT=0 SYMMETRIC=1
    ReduceWindowFunction: UNSUPPORTED=0 ADD=1 MUL=2 MINIMUM=3 MAXIMUM=4 ALL=5 ANY=6
    CustomOptionsFormat: FLEXBUFFERS=0
"""

# Enumerations are one byte wide, except these.
_ENUM_WIDTHS = {
    "BuiltinOperator": "int",
    "ReduceWindowFunction": "int",
    "StablehloPrecisionConfig": "uint",
    "StablehloComparisonDirection": "uint",
    "StablehloComparisonType": "uint",
}

# Operators whose options table is not named after them (CONV_2D: Conv2DOptions is; MEAN: ReducerOptions is not).
_SHARED_OPTIONS = {
    "Pool2D": "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D",
    "Reducer": "MEAN SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL",
    "MaximumMinimum": "MAXIMUM MINIMUM",
    "L2Norm": "L2_NORMALIZATION",
    "SequenceRNN": "UNIDIRECTIONAL_SEQUENCE_RNN",
    "Conv3D": "CONV_3D CONV_3D_TRANSPOSE",
    "Random": "RANDOM_STANDARD_NORMAL RANDOM_UNIFORM MULTINOMIAL",
    "StablehloRngBitGenerator": "STABLEHLO_RNG_BIT_GENERATOR",
    "StableHLOComposite": "STABLEHLO_COMPOSITE",
}


def _lines(text):
    """`Name: rest` lines with their indented continuation lines, as (name, [words])."""
    entries = []
    for word in text.split():
        if word.endswith(":"):
            entries.append((word[:-1], []))
        else:
            entries[-1][1].append(word)
    return entries


def _field(word):
    """(name, type, default text or None) of `name:type=default`."""
    name, rest = word.split(":")
    kind, _, default = rest.partition("=")
    return name, kind, default or None


ENUMS = {name: {k: int(v) for k, v in (w.split("=") for w in words)} for name, words in _lines(_ENUMS)}
ENUMS["BuiltinOperator"] = {name: code for code, name in enumerate(OPERATORS)}

UNIONS = {union: [None] + [name + "Options" for name in text.split()] for union, text in UNION_ORDER.items()}
for _name in ("QuantizationDetails", "SparseIndexVector"):
    UNIONS[_name] = [None, *ENUMS.pop(_name)]

TABLES = {name: [_field(word) for word in words] for name, words in _lines(_TABLES)}
for _names in (UNIONS["BuiltinOptions"], UNIONS["BuiltinOptions2"]):
    for _name in _names[1:]:
        TABLES.setdefault(_name, [])


def enum_width(name):
    """The scalar type that an enumeration is stored as."""
    return _ENUM_WIDTHS.get(name, "byte")


def options_of(operator):
    """(union, options table) of a builtin operator, or None when it has none (LOGISTIC, RELU, ...)."""
    return _OPTIONS.get(operator)


def _options_by_operator():
    squeezed = {
        name[:-7].upper(): (union, name)
        for union in ("BuiltinOptions", "BuiltinOptions2")
        for name in UNIONS[union][1:]
    }
    found = {op: squeezed[op.replace("_", "")] for op in OPERATORS if op.replace("_", "") in squeezed}
    for table, operators in _SHARED_OPTIONS.items():
        for operator in operators.split():
            found[operator] = squeezed[table.upper()]
    return found


_OPTIONS = _options_by_operator()
