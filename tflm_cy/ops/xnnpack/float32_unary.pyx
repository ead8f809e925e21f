"""Functions of one float32 value, of any shape up to six dimensions, as XNNPACK approximates them.

Definitions in arithmetic/xnnpack/unary.pxd and unary_neon.pxd. LOGISTIC, ELU, NEG, SQRT, RSQRT and LEAKY_RELU follow the CPU's generation.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.xnnpack.unary cimport (
    Function8, Parameters, abs8, cos8, elu8_avx2, elu8_avx512, exp8, gelu8, gelu_tanh8, hard_swish8, leaky8_avx2, leaky8_avx512,
    logistic8_avx2, logistic8_avx512, map8, neg8, relu8, round_down8, round_nearest8, round_up8, sin8, square8, tanh8,
)
from tflm_cy.arithmetic.xnnpack.unary_neon cimport elu8_neon, logistic8_neon, neg8_neon
from tflm_cy.graph.context cimport EPILOGUE_CLAMP, EPILOGUE_PRELU, EPILOGUE_PRELU_SIGNED, Context, Node, epilogue_of, register
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, type_name
from tflm_cy.ops.elementwise cimport Unary, prepare_unary, share_function
from tflm_cy.ops.generation cimport generation
from tflm_cy.ops.value_space cimport Values, share_single, values_of_units
from tflm_cy.ops.xnnpack.definitions cimport definitions, of_form
from tflm_cy.ops.xnnpack.rank cimport check_rank
from tflm_cy.schema.option_slots cimport GELU_APPROXIMATE, LEAKY_RELU_ALPHA
from tflm_cy.simd.table cimport kernels
from tflm_cy.schema.table cimport table_bool, table_f32

cdef double CHEAP_TIME = 0.15    # nanoseconds a value
cdef double FUNCTION_TIME = 0.5

cdef struct Mapping:
    Unary unary                  # first: node.data is this one
    Function8 function
    Parameters parameters
    UnaryKernel run


# ---- one loop for each function, which is inlined
cdef void map_abs(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(abs8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_neg(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(neg8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_neg_neon(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(neg8_neon, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_square(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(square8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_round_down(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(round_down8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_round_up(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(round_up8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_round_nearest(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(round_nearest8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_sin(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(sin8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_cos(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(cos8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_relu(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(relu8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_leaky_avx2(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(leaky8_avx2, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_leaky_avx512(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(leaky8_avx512, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_hard_swish(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(hard_swish8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_logistic_avx2(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(logistic8_avx2, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_logistic_avx512(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(logistic8_avx512, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_logistic_neon(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(logistic8_neon, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_tanh(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(tanh8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_exp(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(exp8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_elu_avx2(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(elu8_avx2, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_elu_avx512(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(elu8_avx512, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_elu_neon(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(elu8_neon, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_gelu(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(gelu8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef void map_gelu_tanh(const void* p, const void* x, void* y, int64_t n) noexcept nogil:
    map8(gelu_tanh8, <const Parameters*>p, <const float*>x, <float*>y, n)


cdef UnaryKernel loop_of(Function8 f) noexcept:
    if f == abs8:
        return map_abs
    if f == neg8:
        return map_neg
    if f == neg8_neon:
        return map_neg_neon
    if f == square8:
        return map_square
    if f == round_down8:
        return map_round_down
    if f == round_up8:
        return map_round_up
    if f == round_nearest8:
        return map_round_nearest
    if f == sin8:
        return map_sin
    if f == cos8:
        return map_cos
    if f == relu8:
        return map_relu
    if f == leaky8_avx2:
        return map_leaky_avx2
    if f == leaky8_avx512:
        return map_leaky_avx512
    if f == hard_swish8:
        return map_hard_swish
    if f == logistic8_avx2:
        return map_logistic_avx2
    if f == logistic8_avx512:
        return map_logistic_avx512
    if f == logistic8_neon:
        return map_logistic_neon
    if f == tanh8:
        return map_tanh
    if f == exp8:
        return map_exp
    if f == elu8_avx2:
        return map_elu_avx2
    if f == elu8_avx512:
        return map_elu_avx512
    if f == elu8_neon:
        return map_elu_neon
    if f == gelu8:
        return map_gelu
    return map_gelu_tanh


cdef Mapping* prepare_shapes(Context context, Node* node) except NULL:
    cdef str name = context.operator_name(node)
    cdef Unary* unary = prepare_unary(context, node)
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Mapping* m = <Mapping*>context.persistent(sizeof(Mapping))
    if x.type != FLOAT32 or y.type != FLOAT32:
        raise ValueError(f"{name}: types {type_name(x.type)} -> {type_name(y.type)} are not supported")
    check_rank(x, name)
    m.unary = unary[0]
    m.parameters.low = -INFINITY
    m.parameters.high = INFINITY
    node.data = m
    return m


cdef int prepare_function(Context context, Node* node, Function8 function) except -1:
    prepare_shapes(context, node).function = function
    return choose(context, node)


cdef int choose(Context context, Node* node) except -1:
    """The vector kernel of the function, or its loop here."""
    cdef Mapping* m = <Mapping*>node.data
    m.run = NULL
    if m.function == relu8:
        m.run = kernels().float32.relu
    elif m.function == leaky8_avx512:
        m.run = kernels().float32.leaky
    elif m.function == leaky8_avx2:
        m.run = kernels().float32.leaky_signed
    elif m.function == hard_swish8:
        m.run = kernels().float32.hard_swish
    elif m.function == logistic8_avx512:
        m.run = kernels().float32.logistic
    elif m.function == tanh8:
        m.run = kernels().float32.tanh
    elif m.function == exp8:
        m.run = kernels().float32.exp
    elif m.function == elu8_avx512:
        m.run = kernels().float32.elu
    elif m.function == gelu8:
        m.run = kernels().float32.gelu
    elif m.function == gelu_tanh8:
        m.run = kernels().float32.gelu_tanh
    elif m.function == elu8_avx2:
        m.run = kernels().unary_f32.elu_avx2
    elif m.function == logistic8_avx2:
        m.run = kernels().unary_f32.logistic_avx2
    elif m.function == abs8:
        m.run = kernels().unary_f32.abs
    elif m.function == neg8:
        m.run = kernels().unary_f32.neg
    elif m.function == square8:
        m.run = kernels().unary_f32.square
    elif m.function == round_down8:
        m.run = kernels().unary_f32.round_down
    elif m.function == round_up8:
        m.run = kernels().unary_f32.round_up
    elif m.function == round_nearest8:
        m.run = kernels().unary_f32.round_nearest
    elif m.function == sin8:
        m.run = kernels().unary_f32.sin
    elif m.function == cos8:
        m.run = kernels().unary_f32.cos
    if m.run == NULL:
        m.run = loop_of(m.function)
    node.invoke = map_values
    return share_single(context, node, 0, map_range, CHEAP_TIME if is_cheap(m.function) else FUNCTION_TIME)


cdef bint is_cheap(Function8 f) noexcept:
    return (
        f == relu8 or f == leaky8_avx512 or f == leaky8_avx2 or f == hard_swish8 or f == abs8 or f == neg8 or f == neg8_neon or f == square8
        or f == round_down8 or f == round_up8 or f == round_nearest8
    )


cdef void map_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Mapping* m = <Mapping*>node.data
    cdef Values values = values_of_units(context.output(node, 0), first, end)
    m.run(
        &m.parameters, <const float*>context.input(node, 0).data + values.first, <float*>context.output(node, 0).data + values.first, values.count)


cdef int map_values(Context context, Node* node) noexcept nogil:
    cdef Mapping* m = <Mapping*>node.data
    m.run(&m.parameters, context.input(node, 0).data, context.output(node, 0).data, m.unary.count)
    return 0


cdef int prepare_clamp(Context context, Node* node, float low, float high) except -1:
    cdef Mapping* m = prepare_shapes(context, node)
    m.parameters.low = low
    m.parameters.high = high
    m.function = relu8
    node.epilogue = epilogue_of(EPILOGUE_CLAMP, 0, low, high, 0)
    return choose(context, node)


cdef int prepare_root(Context context, Node* node, UnaryKernel kernel, UnaryKernel vector) except -1:
    cdef Mapping* m = prepare_shapes(context, node)
    m.unary.kernel = kernel
    if vector != NULL and generation() == kernels().unary_f32.roots_of:
        m.unary.kernel = vector
    node.invoke = map_array
    return share_function(context, node, FUNCTION_TIME)


cdef int map_array(Context context, Node* node) noexcept nogil:
    cdef Unary* unary = <Unary*>node.data
    unary.kernel(NULL, context.input(node, 0).data, context.output(node, 0).data, unary.count)
    return 0


cdef int prepare_abs(Context context, Node* node) except -1:
    return prepare_function(context, node, abs8)


cdef int prepare_neg(Context context, Node* node) except -1:
    return prepare_function(context, node, of_form(definitions().neg, neg8, neg8, neg8_neon))


cdef int prepare_square(Context context, Node* node) except -1:
    return prepare_function(context, node, square8)


cdef int prepare_floor(Context context, Node* node) except -1:
    return prepare_function(context, node, round_down8)


cdef int prepare_ceil(Context context, Node* node) except -1:
    return prepare_function(context, node, round_up8)


cdef int prepare_round(Context context, Node* node) except -1:
    return prepare_function(context, node, round_nearest8)


cdef int prepare_relu(Context context, Node* node) except -1:
    return prepare_clamp(context, node, 0, INFINITY)


cdef int prepare_relu6(Context context, Node* node) except -1:
    return prepare_clamp(context, node, 0, 6)


cdef int prepare_relu_n1_to_1(Context context, Node* node) except -1:
    return prepare_clamp(context, node, -1, 1)


cdef int prepare_hard_swish(Context context, Node* node) except -1:
    return prepare_function(context, node, hard_swish8)


cdef int prepare_leaky_relu(Context context, Node* node) except -1:
    cdef Mapping* m = prepare_shapes(context, node)
    m.parameters.slope = table_f32(node.options, LEAKY_RELU_ALPHA, 0)
    m.function = of_form(definitions().leaky, leaky8_avx2, leaky8_avx512, leaky8_avx2)
    node.epilogue = epilogue_of(EPILOGUE_PRELU_SIGNED if definitions().slope_by_sign else EPILOGUE_PRELU, 0, 0, 0, m.parameters.slope)
    return choose(context, node)


cdef int prepare_logistic(Context context, Node* node) except -1:
    return prepare_function(
        context, node, of_form(definitions().logistic, logistic8_avx2, logistic8_avx512, logistic8_neon))


cdef int prepare_tanh(Context context, Node* node) except -1:
    return prepare_function(context, node, tanh8)


cdef int prepare_exp(Context context, Node* node) except -1:
    return prepare_function(context, node, exp8)


cdef int prepare_elu(Context context, Node* node) except -1:
    cdef Mapping* m = prepare_shapes(context, node)
    m.parameters.slope = 1
    m.function = of_form(definitions().elu, elu8_avx2, elu8_avx512, elu8_neon)
    return choose(context, node)


cdef int prepare_gelu(Context context, Node* node) except -1:
    return prepare_function(context, node, gelu_tanh8 if table_bool(node.options, GELU_APPROXIMATE, False) else gelu8)


cdef int prepare_sin(Context context, Node* node) except -1:
    return prepare_function(context, node, sin8)


cdef int prepare_cos(Context context, Node* node) except -1:
    return prepare_function(context, node, cos8)


cdef int prepare_sqrt(Context context, Node* node) except -1:
    return prepare_root(context, node, definitions().sqrt, kernels().unary_f32.sqrt)


cdef int prepare_rsqrt(Context context, Node* node) except -1:
    return prepare_root(context, node, definitions().rsqrt, kernels().unary_f32.rsqrt)


OPERATORS = {
    "ABS": register(prepare_abs, version=99),
    "CEIL": register(prepare_ceil, version=99),
    "COS": register(prepare_cos, version=99),
    "ELU": register(prepare_elu, version=99),
    "EXP": register(prepare_exp, version=99),
    "FLOOR": register(prepare_floor, version=99),
    "GELU": register(prepare_gelu, version=99),
    "HARD_SWISH": register(prepare_hard_swish, version=99),
    "LEAKY_RELU": register(prepare_leaky_relu, version=99),
    "LOGISTIC": register(prepare_logistic, version=99),
    "NEG": register(prepare_neg, version=99),
    "RELU": register(prepare_relu, version=99),
    "RELU6": register(prepare_relu6, version=99),
    "RELU_N1_TO_1": register(prepare_relu_n1_to_1, version=99),
    "ROUND": register(prepare_round, version=99),
    "RSQRT": register(prepare_rsqrt, version=99),
    "SIN": register(prepare_sin, version=99),
    "SQRT": register(prepare_sqrt, version=99),
    "SQUARE": register(prepare_square, version=99),
    "TANH": register(prepare_tanh, version=99),
}
