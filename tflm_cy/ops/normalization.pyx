# tflm_cy: again=avx2
"""L2_NORMALIZATION (float32, int8, uint8) over the last axis, LOCAL_RESPONSE_NORMALIZATION (float32, rank 4) over channels.

Source: LiteRT:tflite/kernels/{l2norm,local_response_norm}.cc.
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, ACT_SIGN_BIT
from tflm_cy.arithmetic.normalization cimport (
    l2_normalize_row_8,
    l2_normalize_rows_f32,
    local_response_row_f32,
)
from tflm_cy.arithmetic.optimized.normalization cimport local_response_eigen
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, UINT8, Tensor, count_range, type_name
from tflm_cy.ops.operand cimport expect_arity
from tflm_cy.schema.option_slots cimport (
    L2_NORM_FUSED_ACTIVATION_FUNCTION, LOCAL_RESPONSE_NORMALIZATION_ALPHA, LOCAL_RESPONSE_NORMALIZATION_BETA,
    LOCAL_RESPONSE_NORMALIZATION_BIAS, LOCAL_RESPONSE_NORMALIZATION_RADIUS,
)
from tflm_cy.schema.table cimport table_f32, table_i8, table_i32
from tflm_cy.simd.table cimport row_kernels

cdef struct Rows:
    int64_t rows
    int64_t depth

cdef struct LocalResponse:
    int64_t rows
    int64_t depth
    int64_t radius
    float bias
    float alpha
    float beta
    const RowKernels* fast


cdef int prepare_l2(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Tensor* y
    cdef Rows* r
    expect_arity(context, node, 1, 1)
    x = context.input(node, 0)
    y = context.output(node, 0)
    if not 1 <= x.rank <= 4:
        raise ValueError(f"L2_NORMALIZATION: NumDimensions(input) {'>= 1' if x.rank < 1 else '<= 4'} was not true (rank {x.rank})")
    if x.type != y.type:
        raise ValueError(f"input->type != output->type ({type_name(x.type)} != {type_name(y.type)})")
    if <int>ACT_NONE < <int>table_i8(node.options, L2_NORM_FUSED_ACTIVATION_FUNCTION, 0) <= <int>ACT_SIGN_BIT:
        raise ValueError("params->activation != kTfLiteActNone")
    if x.rank > 4:
        raise ValueError(f"NumDimensions(input) <= 4 was not true ({x.rank}).")
    if x.type == FLOAT32:
        node.invoke = l2_f32
    elif x.type == INT8:
        if node.arithmetic != MICRO:            # which writes 1/128 whatever the file says
            expect_output(y, 0)
        node.invoke = l2_s8
    elif x.type == UINT8:
        expect_output(y, 128)
        node.invoke = l2_u8
    else:
        raise ValueError(
            "output->type == kTfLiteFloat32 || output->type == kTfLiteUInt8 || output->type == kTfLiteInt8 was not true."
        )
    r = <Rows*>context.persistent(sizeof(Rows))
    r.depth = x.dims[x.rank - 1]
    r.rows = count_range(x, 0, x.rank - 1) if r.depth else 0
    context.set_shape(y, x.rank, x.dims)
    node.data = r
    return 0


cdef int expect_output(const Tensor* y, int32_t zero_point) except -1:
    if y.scale != 1.0 / 128.0:
        raise ValueError(f"output->params.scale != (1. / 128.) ({y.scale})")
    if y.zero_point != zero_point:
        raise ValueError(f"output->params.zero_point != {zero_point} ({y.zero_point} != {zero_point})")
    return 0


cdef int prepare_local_response(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Tensor* y
    cdef LocalResponse* r
    expect_arity(context, node, 1, 1)
    x = context.input(node, 0)
    y = context.output(node, 0)
    if x.rank != 4:
        raise ValueError(f"NumDimensions(input) != 4 ({x.rank} != 4)")
    if x.type != FLOAT32 or y.type != FLOAT32:
        raise ValueError(f"output->type != kTfLiteFloat32 ({type_name(x.type)}, {type_name(y.type)})")
    r = <LocalResponse*>context.persistent(sizeof(LocalResponse))
    r.depth = x.dims[3]
    r.rows = count_range(x, 0, 3) if r.depth else 0
    r.radius = table_i32(node.options, LOCAL_RESPONSE_NORMALIZATION_RADIUS, 0)
    r.bias = table_f32(node.options, LOCAL_RESPONSE_NORMALIZATION_BIAS, 0)
    r.alpha = table_f32(node.options, LOCAL_RESPONSE_NORMALIZATION_ALPHA, 0)
    r.beta = table_f32(node.options, LOCAL_RESPONSE_NORMALIZATION_BETA, 0)
    r.fast = row_kernels()
    context.set_shape(y, 4, x.dims)
    node.data = r
    node.invoke = local_response_f32_optimized if node.arithmetic == OPTIMIZED else local_response_f32
    return 0


cdef int l2_f32(Context context, Node* node) noexcept nogil:
    cdef Rows* r = <Rows*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    l2_normalize_rows_f32(x, <float*>context.output(node, 0).data, r.rows, r.depth)
    return 0


cdef int l2_s8(Context context, Node* node) noexcept nogil:
    cdef Rows* r = <Rows*>node.data
    cdef Tensor* t = context.input(node, 0)
    cdef const int8_t* x = <const int8_t*>t.data
    cdef int8_t* y = <int8_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(r.rows):
        l2_normalize_row_8(x + row * r.depth, y + row * r.depth, r.depth, t.zero_point)
    return 0


cdef int l2_u8(Context context, Node* node) noexcept nogil:
    cdef Rows* r = <Rows*>node.data
    cdef Tensor* t = context.input(node, 0)
    cdef const uint8_t* x = <const uint8_t*>t.data
    cdef uint8_t* y = <uint8_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(r.rows):
        l2_normalize_row_8(x + row * r.depth, y + row * r.depth, r.depth, t.zero_point)
    return 0


cdef int local_response_f32(Context context, Node* node) noexcept nogil:
    cdef LocalResponse* r = <LocalResponse*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int64_t row
    for row in range(r.rows):
        local_response_row_f32(x + row * r.depth, y + row * r.depth, r.depth, r.radius, r.bias, r.alpha, r.beta)
    return 0


cdef int local_response_f32_optimized(Context context, Node* node) noexcept nogil:
    cdef LocalResponse* r = <LocalResponse*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    local_response_eigen(x, y, r.rows, r.depth, r.radius, r.bias, r.alpha, r.beta, r.fast)
    return 0


OPERATORS = {
    "L2_NORMALIZATION": register(prepare_l2, version=2, reference_version=2),
    "LOCAL_RESPONSE_NORMALIZATION": register(prepare_local_response, version=1, reference_version=1),
}
