"""Functions of one float16 value, of any shape up to six dimensions, as XNNPACK computes them.

Definitions in arithmetic/xnnpack/half.pxd, half_neon.pxd. These are the only operators that the delegate takes with float16 tensors that are no constants.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint16_t

from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.xnnpack.generation cimport NEON
from tflm_cy.arithmetic.xnnpack.half cimport (
    HalfFunction, HalfLimits, abs_half, ceil_half, clamp_half, cos_half, exp_half, floor_half, gelu_half, gelu_tanh_half, hard_swish_half,
    map_half, neg_half, round_half, rsqrt_half, sin_half, sqrt_half, square_half,
)
from tflm_cy.arithmetic.xnnpack.half_neon cimport (
    ceil_fp16, ceil_wide, clamp_fp16, clamp_wide, cos_fp16, cos_wide, exp_fp16, exp_wide, floor_fp16, floor_wide, gelu_fp16,
    gelu_tanh_fp16, gelu_tanh_wide, gelu_wide, hard_swish_fp16, hard_swish_wide, round_fp16, round_wide, rsqrt_fp16, rsqrt_wide,
    sin_fp16, sin_wide, sqrt_fp16, sqrt_wide, square_fp16, square_wide,
)
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT16, Tensor, type_name
from tflm_cy.ops.elementwise cimport Unary, prepare_unary
from tflm_cy.ops.generation cimport generation
from tflm_cy.ops.value_space cimport Values, share_single, values_of_units
from tflm_cy.ops.xnnpack.rank cimport check_rank
from tflm_cy.schema.option_slots cimport GELU_APPROXIMATE
from tflm_cy.schema.table cimport table_bool
from tflm_cy.simd.table cimport kernels

cdef double FUNCTION_TIME = 0.3  # nanoseconds a value
cdef HalfLimits NO_LIMITS

cdef struct HalfMapping:
    Unary unary                  # first: node.data is this one
    HalfFunction function
    HalfLimits limits
    UnaryKernel run              # the vector kernel; NULL: `function`, value by value


cdef HalfFunction form(HalfFunction x86, HalfFunction wide, HalfFunction fp16) except NULL:
    """What this CPU takes. All that have dot products have float16 arithmetic."""
    cdef int g = generation()
    return x86 if g < NEON else wide if g == NEON else fp16


cdef HalfMapping* prepare_function(Context context, Node* node, HalfFunction function, UnaryKernel run) except NULL:
    cdef str name = context.operator_name(node)
    cdef Unary* unary = prepare_unary(context, node)
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef HalfMapping* m = <HalfMapping*>context.persistent(sizeof(HalfMapping))
    if x.type != FLOAT16 or y.type != FLOAT16:
        raise ValueError(f"{name}: types {type_name(x.type)} -> {type_name(y.type)} are not supported")
    check_rank(x, name)
    m.unary = unary[0]
    m.function = function
    m.run = run
    m.limits.low = -INFINITY
    m.limits.high = INFINITY
    node.data = m
    node.invoke = map_values
    share_single(context, node, 0, map_range, FUNCTION_TIME)
    return m


cdef int map_values(Context context, Node* node) noexcept nogil:
    map_run(<HalfMapping*>node.data, context.input(node, 0).data, context.output(node, 0).data, (<HalfMapping*>node.data).unary.count)
    return 0


cdef inline void map_run(const HalfMapping* m, const void* x, void* y, int64_t n) noexcept nogil:
    if m.run != NULL:
        m.run(&m.limits, x, y, n)
    else:
        map_half(m.function, m.limits, <const uint16_t*>x, <uint16_t*>y, n)


cdef void map_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Values values = values_of_units(context.output(node, 0), first, end)
    map_run(
        <HalfMapping*>node.data, <const uint16_t*>context.input(node, 0).data + values.first,
        <uint16_t*>context.output(node, 0).data + values.first, values.count)


# ---- one loop for each of two, which the compiler makes vectors of
cdef void abs_run(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        (<uint16_t*>y)[i] = abs_half(NO_LIMITS, (<const uint16_t*>x)[i])


cdef void neg_run(const void* params, const void* x, void* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        (<uint16_t*>y)[i] = neg_half(NO_LIMITS, (<const uint16_t*>x)[i])


cdef int prepare_clamp(Context context, Node* node, float low, float high) except -1:
    cdef HalfMapping* m = prepare_function(context, node, form(clamp_half, clamp_wide, clamp_fp16), kernels().halves.clamp)
    m.limits.low = low
    m.limits.high = high
    return 0


cdef int prepare_relu(Context context, Node* node) except -1:
    return prepare_clamp(context, node, 0, INFINITY)


cdef int prepare_relu6(Context context, Node* node) except -1:
    return prepare_clamp(context, node, 0, 6)


cdef int prepare_relu_n1_to_1(Context context, Node* node) except -1:
    return prepare_clamp(context, node, -1, 1)


cdef int prepare_abs(Context context, Node* node) except -1:
    prepare_function(context, node, abs_half, abs_run)
    return 0


cdef int prepare_neg(Context context, Node* node) except -1:
    prepare_function(context, node, neg_half, neg_run)
    return 0


cdef int prepare_square(Context context, Node* node) except -1:
    prepare_function(context, node, form(square_half, square_wide, square_fp16), kernels().halves.square)
    return 0


cdef int prepare_floor(Context context, Node* node) except -1:
    prepare_function(context, node, form(floor_half, floor_wide, floor_fp16), kernels().halves.floor)
    return 0


cdef int prepare_ceil(Context context, Node* node) except -1:
    prepare_function(context, node, form(ceil_half, ceil_wide, ceil_fp16), kernels().halves.ceil)
    return 0


cdef int prepare_round(Context context, Node* node) except -1:
    prepare_function(context, node, form(round_half, round_wide, round_fp16), kernels().halves.round)
    return 0


cdef int prepare_sqrt(Context context, Node* node) except -1:
    prepare_function(context, node, form(sqrt_half, sqrt_wide, sqrt_fp16), kernels().halves.sqrt)
    return 0


cdef int prepare_rsqrt(Context context, Node* node) except -1:
    prepare_function(context, node, form(rsqrt_half, rsqrt_wide, rsqrt_fp16), kernels().halves.rsqrt)
    return 0


cdef int prepare_exp(Context context, Node* node) except -1:
    prepare_function(context, node, form(exp_half, exp_wide, exp_fp16), kernels().halves.exp)
    return 0


cdef int prepare_sin(Context context, Node* node) except -1:
    prepare_function(context, node, form(sin_half, sin_wide, sin_fp16), kernels().halves.sin)
    return 0


cdef int prepare_cos(Context context, Node* node) except -1:
    prepare_function(context, node, form(cos_half, cos_wide, cos_fp16), kernels().halves.cos)
    return 0


cdef int prepare_hard_swish(Context context, Node* node) except -1:
    prepare_function(context, node, form(hard_swish_half, hard_swish_wide, hard_swish_fp16), kernels().halves.hard_swish)
    return 0


cdef int prepare_gelu(Context context, Node* node) except -1:
    if table_bool(node.options, GELU_APPROXIMATE, False):
        prepare_function(context, node, form(gelu_tanh_half, gelu_tanh_wide, gelu_tanh_fp16), kernels().halves.gelu_tanh)
    else:
        prepare_function(context, node, form(gelu_half, gelu_wide, gelu_fp16), kernels().halves.gelu)
    return 0


OPERATORS = {
    "ABS": register(prepare_abs, version=99),
    "CEIL": register(prepare_ceil, version=99),
    "COS": register(prepare_cos, version=99),
    "EXP": register(prepare_exp, version=99),
    "FLOOR": register(prepare_floor, version=99),
    "GELU": register(prepare_gelu, version=99),
    "HARD_SWISH": register(prepare_hard_swish, version=99),
    "NEG": register(prepare_neg, version=99),
    "RELU": register(prepare_relu, version=99),
    "RELU6": register(prepare_relu6, version=99),
    "RELU_N1_TO_1": register(prepare_relu_n1_to_1, version=99),
    "ROUND": register(prepare_round, version=99),
    "RSQRT": register(prepare_rsqrt, version=99),
    "SIN": register(prepare_sin, version=99),
    "SQRT": register(prepare_sqrt, version=99),
    "SQUARE": register(prepare_square, version=99),
}
