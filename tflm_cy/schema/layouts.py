"""The fields of every table of the .tflite schema, in the order that counts their slots, and the members of its unions.

A table is one line of `name:kind` words. Kinds: `i8 u8 bool i16 u16 i32 u32 f32 i64 u64` a scalar; `str` a string;
`[i32]` a vector of scalars; `Tensor` a table; `[Tensor]` a vector of tables; `<BuiltinOptions>` a union, which takes
two slots: its type (u8), then the value. The verifier walks files by these tables; operators name the slots they read.

Source: google-ai-edge/LiteRT:tflite/converter/schema/schema.fbs (enumerations stand as their widths, deprecated fields
keep their slots); OPTIONS_OF: which member an operator's parser takes, tflite/core/api/flatbuffer_conversions.cc.
"""

TABLES = {
    "Model": (
        "version:u32 operator_codes:[OperatorCode] subgraphs:[SubGraph] description:str buffers:[Buffer] "
        "metadata_buffer:[i32] metadata:[Metadata] signature_defs:[SignatureDef] "
        "external_buffer_groups:[ExternalBufferGroup] external_buffers:[ExternalBuffer]"
    ),
    "OperatorCode": "deprecated_builtin_code:i8 custom_code:str version:i32 builtin_code:i32",
    "SubGraph": "tensors:[Tensor] inputs:[i32] outputs:[i32] operators:[Operator] name:str debug_metadata_index:i32",
    "Tensor": (
        "shape:[i32] type:i8 buffer:u32 name:str quantization:QuantizationParameters is_variable:bool "
        "sparsity:SparsityParameters shape_signature:[i32] has_rank:bool variant_tensors:[VariantSubType] "
        "external_buffer:u32"
    ),
    "Operator": (
        "opcode_index:u32 inputs:[i32] outputs:[i32] builtin_options:<BuiltinOptions> custom_options:[u8] "
        "custom_options_format:i8 mutating_variable_inputs:[bool] intermediates:[i32] large_custom_options_offset:u64 "
        "large_custom_options_size:u64 builtin_options_2:<BuiltinOptions2> debug_metadata_index:i32"
    ),
    "Buffer": "data:[u8] offset:u64 size:u64",
    "Metadata": "name:str buffer:u32",
    "SignatureDef": "inputs:[TensorMap] outputs:[TensorMap] signature_key:str deprecated_tag:str subgraph_index:u32",
    "TensorMap": "name:str tensor_index:u32",
    "QuantizationParameters": (
        "min:[f32] max:[f32] scale:[f32] zero_point:[i64] details:<QuantizationDetails> quantized_dimension:i32"
    ),
    "CustomQuantization": "custom:[u8]",
    "BlockwiseQuantization": "scales:i32 zero_points:i32 block_size:i32",
    "MultiAxisQuantization": "scales:i32 zero_points:i32 block_size:i32 quantized_dimensions:[i32]",
    "SparsityParameters": "traversal_order:[i32] block_map:[i32] dim_metadata:[DimensionMetadata]",
    "DimensionMetadata": (
        "format:i8 dense_size:i32 array_segments:<SparseIndexVector> array_indices:<SparseIndexVector>"
    ),
    "Int32Vector": "values:[i32]",
    "Uint16Vector": "values:[u16]",
    "Uint8Vector": "values:[u8]",
    "VariantSubType": "shape:[i32] type:i8 has_rank:bool",
    "ExternalBufferGroup": "name:str",
    "ExternalBuffer": "id:u32 group:u32 offset:u64 length:u64 packing:str",
    "Conv2DOptions": (
        "padding:i8 stride_w:i32 stride_h:i32 fused_activation_function:i8 dilation_w_factor:i32 dilation_h_factor:i32 "
        "quantized_bias_type:i8"
    ),
    "DepthwiseConv2DOptions": (
        "padding:i8 stride_w:i32 stride_h:i32 depth_multiplier:i32 fused_activation_function:i8 dilation_w_factor:i32 "
        "dilation_h_factor:i32"
    ),
    "ConcatEmbeddingsOptions": "num_channels:i32 num_columns_per_channel:[i32] embedding_dim_per_channel:[i32]",
    "LSHProjectionOptions": "type:i8",
    "Pool2DOptions": (
        "padding:i8 stride_w:i32 stride_h:i32 filter_width:i32 filter_height:i32 fused_activation_function:i8"
    ),
    "SVDFOptions": "rank:i32 fused_activation_function:i8 asymmetric_quantize_inputs:bool",
    "RNNOptions": "fused_activation_function:i8 asymmetric_quantize_inputs:bool",
    "FullyConnectedOptions": (
        "fused_activation_function:i8 weights_format:i8 keep_num_dims:bool asymmetric_quantize_inputs:bool "
        "quantized_bias_type:i8"
    ),
    "SoftmaxOptions": "beta:f32",
    "ConcatenationOptions": "axis:i32 fused_activation_function:i8",
    "AddOptions": "fused_activation_function:i8 pot_scale_int16:bool",
    "L2NormOptions": "fused_activation_function:i8",
    "LocalResponseNormalizationOptions": "radius:i32 bias:f32 alpha:f32 beta:f32",
    "LSTMOptions": (
        "fused_activation_function:i8 cell_clip:f32 proj_clip:f32 kernel_type:i8 asymmetric_quantize_inputs:bool"
    ),
    "ResizeBilinearOptions": "new_height:i32 new_width:i32 align_corners:bool half_pixel_centers:bool",
    "CallOptions": "subgraph:u32",
    "ReshapeOptions": "new_shape:[i32]",
    "SkipGramOptions": "ngram_size:i32 max_skip_size:i32 include_all_ngrams:bool",
    "SpaceToDepthOptions": "block_size:i32",
    "EmbeddingLookupSparseOptions": "combiner:i8",
    "MulOptions": "fused_activation_function:i8",
    "PadOptions": "",
    "GatherOptions": "axis:i32 batch_dims:i32",
    "BatchToSpaceNDOptions": "",
    "SpaceToBatchNDOptions": "",
    "TransposeOptions": "",
    "ReducerOptions": "keep_dims:bool",
    "SubOptions": "fused_activation_function:i8 pot_scale_int16:bool",
    "DivOptions": "fused_activation_function:i8",
    "SqueezeOptions": "squeeze_dims:[i32]",
    "SequenceRNNOptions": "time_major:bool fused_activation_function:i8 asymmetric_quantize_inputs:bool",
    "StridedSliceOptions": (
        "begin_mask:i32 end_mask:i32 ellipsis_mask:i32 new_axis_mask:i32 shrink_axis_mask:i32 offset:bool"
    ),
    "ExpOptions": "",
    "TopKV2Options": "",
    "SplitOptions": "num_splits:i32",
    "LogSoftmaxOptions": "",
    "CastOptions": "in_data_type:i8 out_data_type:i8",
    "DequantizeOptions": "",
    "MaximumMinimumOptions": "",
    "ArgMaxOptions": "output_type:i8",
    "LessOptions": "",
    "NegOptions": "",
    "PadV2Options": "",
    "GreaterOptions": "",
    "GreaterEqualOptions": "",
    "LessEqualOptions": "",
    "SelectOptions": "",
    "SliceOptions": "",
    "TransposeConvOptions": "padding:i8 stride_w:i32 stride_h:i32 fused_activation_function:i8 quantized_bias_type:i8",
    "SparseToDenseOptions": "validate_indices:bool",
    "TileOptions": "",
    "ExpandDimsOptions": "",
    "EqualOptions": "",
    "NotEqualOptions": "",
    "ShapeOptions": "out_type:i8",
    "PowOptions": "",
    "ArgMinOptions": "output_type:i8",
    "FakeQuantOptions": "min:f32 max:f32 num_bits:i32 narrow_range:bool",
    "PackOptions": "values_count:i32 axis:i32",
    "LogicalOrOptions": "",
    "OneHotOptions": "axis:i32",
    "LogicalAndOptions": "",
    "LogicalNotOptions": "",
    "UnpackOptions": "num:i32 axis:i32",
    "FloorDivOptions": "",
    "SquareOptions": "",
    "ZerosLikeOptions": "",
    "FillOptions": "",
    "BidirectionalSequenceLSTMOptions": (
        "fused_activation_function:i8 cell_clip:f32 proj_clip:f32 merge_outputs:bool time_major:bool "
        "asymmetric_quantize_inputs:bool"
    ),
    "BidirectionalSequenceRNNOptions": (
        "time_major:bool fused_activation_function:i8 merge_outputs:bool asymmetric_quantize_inputs:bool"
    ),
    "UnidirectionalSequenceLSTMOptions": (
        "fused_activation_function:i8 cell_clip:f32 proj_clip:f32 time_major:bool asymmetric_quantize_inputs:bool "
        "diagonal_recurrent_tensors:bool"
    ),
    "FloorModOptions": "",
    "RangeOptions": "",
    "ResizeNearestNeighborOptions": "align_corners:bool half_pixel_centers:bool",
    "LeakyReluOptions": "alpha:f32",
    "SquaredDifferenceOptions": "",
    "MirrorPadOptions": "mode:i8",
    "AbsOptions": "",
    "SplitVOptions": "num_splits:i32",
    "UniqueOptions": "idx_out_type:i8",
    "ReverseV2Options": "",
    "AddNOptions": "",
    "GatherNdOptions": "",
    "CosOptions": "",
    "WhereOptions": "",
    "RankOptions": "",
    "ReverseSequenceOptions": "seq_dim:i32 batch_dim:i32",
    "MatrixDiagOptions": "",
    "QuantizeOptions": "",
    "MatrixSetDiagOptions": "",
    "HardSwishOptions": "",
    "IfOptions": "then_subgraph_index:i32 else_subgraph_index:i32",
    "WhileOptions": "cond_subgraph_index:i32 body_subgraph_index:i32",
    "DepthToSpaceOptions": "block_size:i32",
    "NonMaxSuppressionV4Options": "",
    "NonMaxSuppressionV5Options": "",
    "ScatterNdOptions": "",
    "SelectV2Options": "",
    "DensifyOptions": "",
    "SegmentSumOptions": "",
    "BatchMatMulOptions": "adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool",
    "CumsumOptions": "exclusive:bool reverse:bool",
    "CallOnceOptions": "init_subgraph_index:i32",
    "BroadcastToOptions": "",
    "Rfft2dOptions": "",
    "Conv3DOptions": (
        "padding:i8 stride_d:i32 stride_w:i32 stride_h:i32 fused_activation_function:i8 dilation_d_factor:i32 "
        "dilation_w_factor:i32 dilation_h_factor:i32"
    ),
    "HashtableOptions": "table_id:i32 key_dtype:i8 value_dtype:i8",
    "HashtableFindOptions": "",
    "HashtableImportOptions": "",
    "HashtableSizeOptions": "",
    "VarHandleOptions": "container:str shared_name:str",
    "ReadVariableOptions": "",
    "AssignVariableOptions": "",
    "RandomOptions": "seed:i64 seed2:i64",
    "BucketizeOptions": "boundaries:[f32]",
    "GeluOptions": "approximate:bool",
    "DynamicUpdateSliceOptions": "",
    "UnsortedSegmentProdOptions": "",
    "UnsortedSegmentMaxOptions": "",
    "UnsortedSegmentMinOptions": "",
    "UnsortedSegmentSumOptions": "",
    "ATan2Options": "",
    "SignOptions": "",
    "BitcastOptions": "",
    "BitwiseXorOptions": "",
    "RightShiftOptions": "",
    "StablehloConcatenateOptions": "dimension:i64",
    "StablehloBroadcastInDimOptions": "broadcast_dimensions:[i64]",
    "StablehloSliceOptions": "start_indices:[i64] limit_indices:[i64] strides:[i64]",
    "StablehloConvolutionOptions": (
        "window_strides:[i64] padding:[i64] lhs_dilation:[i64] rhs_dilation:[i64] window_reversal:[bool] "
        "input_batch_dimension:i64 input_feature_dimension:i64 input_spatial_dimensions:[i64] "
        "kernel_input_feature_dimension:i64 kernel_output_feature_dimension:i64 kernel_spatial_dimensions:[i64] "
        "output_batch_dimension:i64 output_feature_dimension:i64 output_spatial_dimensions:[i64] "
        "feature_group_count:i64 batch_group_count:i64 precision_config:[u32]"
    ),
    "StablehloCustomCallOptions": (
        "call_target_name:str has_side_effect:bool backend_config:str api_version:i32 called_computations:[i32] "
        "custom_attributes:[u8]"
    ),
    "StablehloReduceOptions": "dimensions:[i64] body_subgraph_index:i32",
    "StablehloScatterOptions": (
        "indices_are_sorted:bool update_window_dims:[i64] inserted_window_dims:[i64] "
        "scatter_dims_to_operand_dims:[i64] index_vector_dim:i64 unique_indices:bool "
        "update_computation_subgraph_index:i32"
    ),
    "StablehloCompareOptions": "comparison_direction:u32 compare_type:u32",
    "StablehloDynamicSliceOptions": "slice_sizes:[i64]",
    "StablehloPadOptions": "edge_padding_low:[i64] edge_padding_high:[i64] interior_padding:[i64]",
    "StablehloIotaOptions": "iota_dimension:i64",
    "StablehloDotGeneralOptions": (
        "lhs_batching_dimensions:[i64] rhs_batching_dimensions:[i64] lhs_contracting_dimensions:[i64] "
        "rhs_contracting_dimensions:[i64] precision_config:[u32]"
    ),
    "StablehloReduceWindowOptions": (
        "window_dimensions:[i64] window_strides:[i64] base_dilations:[i64] window_dilations:[i64] padding:[i64] "
        "body_subgraph_index:i32"
    ),
    "StablehloSortOptions": "dimension:i64 is_stable:bool comparator_subgraph_index:i32",
    "StablehloWhileOptions": "cond_subgraph_index:i32 body_subgraph_index:i32",
    "StablehloGatherOptions": (
        "offset_dims:[i64] collapsed_slice_dims:[i64] start_index_map:[i64] index_vector_dim:i64 slice_sizes:[i64] "
        "indices_are_sorted:bool"
    ),
    "StablehloTransposeOptions": "permutation:[i64]",
    "DilateOptions": "",
    "StablehloRngBitGeneratorOptions": "algorithm:i8",
    "ReduceWindowOptions": "reduce_function:i32",
    "StableHLOCompositeOptions": (
        "name:str decomposition_subgraph_index:i32 composite_attributes:[u8] composite_attributes_format:i8 version:i32"
    ),
    "StablehloShiftLeftOptions": "",
    "StablehloCaseOptions": "branch_subgraph_indices:[i32]",
}

# A member's number is its place, counted from 1; 0 is an absent union.
UNIONS = {
    "QuantizationDetails": "CustomQuantization BlockwiseQuantization MultiAxisQuantization",
    "SparseIndexVector": "Int32Vector Uint16Vector Uint8Vector",
    "BuiltinOptions": (
        "Conv2DOptions DepthwiseConv2DOptions ConcatEmbeddingsOptions LSHProjectionOptions Pool2DOptions SVDFOptions "
        "RNNOptions FullyConnectedOptions SoftmaxOptions ConcatenationOptions AddOptions L2NormOptions "
        "LocalResponseNormalizationOptions LSTMOptions ResizeBilinearOptions CallOptions ReshapeOptions "
        "SkipGramOptions SpaceToDepthOptions EmbeddingLookupSparseOptions MulOptions PadOptions GatherOptions "
        "BatchToSpaceNDOptions SpaceToBatchNDOptions TransposeOptions ReducerOptions SubOptions DivOptions "
        "SqueezeOptions SequenceRNNOptions StridedSliceOptions ExpOptions TopKV2Options SplitOptions LogSoftmaxOptions "
        "CastOptions DequantizeOptions MaximumMinimumOptions ArgMaxOptions LessOptions NegOptions PadV2Options "
        "GreaterOptions GreaterEqualOptions LessEqualOptions SelectOptions SliceOptions TransposeConvOptions "
        "SparseToDenseOptions TileOptions ExpandDimsOptions EqualOptions NotEqualOptions ShapeOptions PowOptions "
        "ArgMinOptions FakeQuantOptions PackOptions LogicalOrOptions OneHotOptions LogicalAndOptions LogicalNotOptions "
        "UnpackOptions FloorDivOptions SquareOptions ZerosLikeOptions FillOptions BidirectionalSequenceLSTMOptions "
        "BidirectionalSequenceRNNOptions UnidirectionalSequenceLSTMOptions FloorModOptions RangeOptions "
        "ResizeNearestNeighborOptions LeakyReluOptions SquaredDifferenceOptions MirrorPadOptions AbsOptions "
        "SplitVOptions UniqueOptions ReverseV2Options AddNOptions GatherNdOptions CosOptions WhereOptions RankOptions "
        "ReverseSequenceOptions MatrixDiagOptions QuantizeOptions MatrixSetDiagOptions HardSwishOptions IfOptions "
        "WhileOptions DepthToSpaceOptions NonMaxSuppressionV4Options NonMaxSuppressionV5Options ScatterNdOptions "
        "SelectV2Options DensifyOptions SegmentSumOptions BatchMatMulOptions CumsumOptions CallOnceOptions "
        "BroadcastToOptions Rfft2dOptions Conv3DOptions HashtableOptions HashtableFindOptions HashtableImportOptions "
        "HashtableSizeOptions VarHandleOptions ReadVariableOptions AssignVariableOptions RandomOptions "
        "BucketizeOptions GeluOptions DynamicUpdateSliceOptions UnsortedSegmentProdOptions UnsortedSegmentMaxOptions "
        "UnsortedSegmentMinOptions UnsortedSegmentSumOptions ATan2Options SignOptions BitcastOptions BitwiseXorOptions "
        "RightShiftOptions"
    ),
    "BuiltinOptions2": (
        "StablehloConcatenateOptions StablehloBroadcastInDimOptions StablehloSliceOptions StablehloConvolutionOptions "
        "StablehloCustomCallOptions StablehloReduceOptions StablehloScatterOptions StablehloCompareOptions "
        "StablehloDynamicSliceOptions StablehloPadOptions StablehloIotaOptions StablehloDotGeneralOptions "
        "StablehloReduceWindowOptions StablehloSortOptions StablehloWhileOptions StablehloGatherOptions "
        "StablehloTransposeOptions DilateOptions StablehloRngBitGeneratorOptions ReduceWindowOptions "
        "StableHLOCompositeOptions StablehloShiftLeftOptions StablehloCaseOptions"
    ),
}

# Builtin operator -> the member whose fields it reads; another member in the file counts as absent, as in TensorFlow.
OPTIONS_OF = {
    "ADD": "AddOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "CONCATENATION": "ConcatenationOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "DEPTH_TO_SPACE": "DepthToSpaceOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "LOCAL_RESPONSE_NORMALIZATION": "LocalResponseNormalizationOptions",
    "LSH_PROJECTION": "LSHProjectionOptions",
    "LSTM": "LSTMOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "MUL": "MulOptions",
    "RESHAPE": "ReshapeOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions",
    "RNN": "RNNOptions",
    "SOFTMAX": "SoftmaxOptions",
    "SPACE_TO_DEPTH": "SpaceToDepthOptions",
    "SVDF": "SVDFOptions",
    "SKIP_GRAM": "SkipGramOptions",
    "EMBEDDING_LOOKUP_SPARSE": "EmbeddingLookupSparseOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "GATHER": "GatherOptions",
    "MEAN": "ReducerOptions",
    "SUB": "SubOptions",
    "DIV": "DivOptions",
    "SQUEEZE": "SqueezeOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "STRIDED_SLICE": "StridedSliceOptions",
    "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNNOptions",
    "SPLIT": "SplitOptions",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTMOptions",
    "CAST": "CastOptions",
    "ARG_MAX": "ArgMaxOptions",
    "TRANSPOSE_CONV": "TransposeConvOptions",
    "SPARSE_TO_DENSE": "SparseToDenseOptions",
    "SUM": "ReducerOptions",
    "SHAPE": "ShapeOptions",
    "ARG_MIN": "ArgMinOptions",
    "FAKE_QUANT": "FakeQuantOptions",
    "REDUCE_PROD": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "PACK": "PackOptions",
    "ONE_HOT": "OneHotOptions",
    "UNPACK": "UnpackOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "MIRROR_PAD": "MirrorPadOptions",
    "SPLIT_V": "SplitVOptions",
    "UNIQUE": "UniqueOptions",
    "REVERSE_SEQUENCE": "ReverseSequenceOptions",
    "IF": "IfOptions",
    "WHILE": "WhileOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "CUMSUM": "CumsumOptions",
    "CALL_ONCE": "CallOnceOptions",
    "CONV_3D": "Conv3DOptions",
    "HASHTABLE": "HashtableOptions",
    "REDUCE_ALL": "ReducerOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "VAR_HANDLE": "VarHandleOptions",
    "RANDOM_STANDARD_NORMAL": "RandomOptions",
    "BUCKETIZE": "BucketizeOptions",
    "RANDOM_UNIFORM": "RandomOptions",
    "MULTINOMIAL": "RandomOptions",
    "GELU": "GeluOptions",
    "STABLEHLO_SCATTER": "StablehloScatterOptions",
    "STABLEHLO_PAD": "StablehloPadOptions",
    "STABLEHLO_REDUCE_WINDOW": "StablehloReduceWindowOptions",
    "STABLEHLO_GATHER": "StablehloGatherOptions",
    "STABLEHLO_RNG_BIT_GENERATOR": "StablehloRngBitGeneratorOptions",
    "REDUCE_WINDOW": "ReduceWindowOptions",
    "STABLEHLO_COMPOSITE": "StableHLOCompositeOptions",
    "STABLEHLO_CASE": "StablehloCaseOptions",
}
