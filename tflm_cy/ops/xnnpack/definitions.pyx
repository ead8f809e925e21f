"""Which definition a float32 operator of the delegate takes on which generation of CPU, where they differ: one table.

    m.function = of_form(definitions().logistic, logistic8_avx2, logistic8_avx512, logistic8_neon)
    order = order_of_matrix(product_rules(), rows, columns)

A row of the table is a generation; all Arm generations share one, but for the order of products, which follows the core
(`ops/arm_cores.py`). `table()` is what `show_config` tells of it.
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.xnnpack.generation cimport AVX512, DOTPROD, NEON
from tflm_cy.arithmetic.xnnpack.product_order cimport FOUR_CHAINS, ONE_CHAIN, TWO_CHAINS, ProductRules
from tflm_cy.arithmetic.xnnpack.reduction cimport ReduceShape, sum_columns, sum_rows
from tflm_cy.arithmetic.xnnpack.reduction_neon cimport softmax_row_neon, sum_columns_neon, sum_rows_neon
from tflm_cy.arithmetic.xnnpack.softmax cimport softmax_row
from tflm_cy.arithmetic.xnnpack.unary cimport rsqrt_f32_avx2, rsqrt_f32_avx512, sqrt_f32_avx2, sqrt_f32_avx512
from tflm_cy.arithmetic.xnnpack.unary_neon cimport rsqrt_f32_neon, sqrt_f32_neon
from tflm_cy.ops.generation cimport generation

from tflm_cy.ops import arm_cores
from tflm_cy.ops.arm_cores import product_kernels


# ---- SOFTMAX and sums
cdef void softmax_avx2(const float* x, int64_t n, float* y) noexcept nogil:
    softmax_row(x, n, False, y)


cdef void softmax_avx512(const float* x, int64_t n, float* y) noexcept nogil:
    softmax_row(x, n, True, y)


cdef void softmax_neon(const float* x, int64_t n, float* y) noexcept nogil:
    softmax_row_neon(x, n, y)


cdef void sum_rows_avx2(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_rows(s, x, scale, False, False, y)


cdef void sum_rows_avx512(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_rows(s, x, scale, False, True, y)


cdef void sum_rows_of_neon(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_rows_neon(s, x, scale, False, y)


cdef void sum_columns_avx2(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_columns(s, x, scale, False, False, y)


cdef void sum_columns_avx512(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_columns(s, x, scale, False, True, y)


cdef void sum_columns_of_neon(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_columns_neon(s, x, scale, False, y)


cdef void square_rows_avx2(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_rows(s, x, scale, True, False, y)


cdef void square_rows_avx512(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_rows(s, x, scale, True, True, y)


cdef void square_rows_neon(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_rows_neon(s, x, scale, True, y)


cdef void square_columns_avx2(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_columns(s, x, scale, True, False, y)


cdef void square_columns_avx512(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_columns(s, x, scale, True, True, y)


cdef void square_columns_neon(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil:
    sum_columns_neon(s, x, scale, True, y)


# ---- the table
cdef Definitions OF_AVX2 = Definitions(
    FORM_AVX2, FORM_AVX2, FORM_AVX2, FORM_AVX2, <UnaryKernel>rsqrt_f32_avx2, <UnaryKernel>sqrt_f32_avx2, softmax_avx2,
    sum_rows_avx2, sum_columns_avx2, square_rows_avx2, square_columns_avx2, True,
)
cdef Definitions OF_AVX512 = Definitions(
    FORM_AVX512, FORM_AVX512, FORM_AVX512, FORM_AVX2, <UnaryKernel>rsqrt_f32_avx512, <UnaryKernel>sqrt_f32_avx512, softmax_avx512,
    sum_rows_avx512, sum_columns_avx512, square_rows_avx512, square_columns_avx512, False,
)
cdef Definitions OF_NEON = Definitions(
    FORM_NEON, FORM_AVX2, FORM_NEON, FORM_NEON, <UnaryKernel>rsqrt_f32_neon, <UnaryKernel>sqrt_f32_neon, softmax_neon,
    sum_rows_of_neon, sum_columns_of_neon, square_rows_neon, square_columns_neon, True,
)
cdef ProductRules[1] RULES       # of this process

FORMS = {FORM_AVX2: "avx2", FORM_AVX512: "avx512", FORM_NEON: "neon"}
ORDERS = {ONE_CHAIN: "one chain", TWO_CHAINS: "two chains", FOUR_CHAINS: "four chains"}


cdef const Definitions* definitions() except NULL:
    cdef int g = generation()
    return &OF_NEON if g >= NEON else &OF_AVX512 if g == AVX512 else &OF_AVX2


cdef const ProductRules* product_rules() except NULL:
    """The variable is read anew each time, as `generation` reads it."""
    cdef int g = generation()
    RULES[0] = ProductRules(ONE_CHAIN, 0, 0)
    if g >= NEON:
        row, positions, width = product_kernels(g - NEON)
        RULES[0] = ProductRules({"one": ONE_CHAIN, "two": TWO_CHAINS, "four": FOUR_CHAINS}[row], positions, width)
    return RULES


cdef int rounds_twice() except -1:
    return generation() >= NEON and arm_cores.rounds_twice()


def table():
    """Return which definition each operator takes in this process, by name, for those that differ between generations."""
    cdef const Definitions* d = definitions()
    cdef const ProductRules* rules = product_rules()
    rest = FORMS[FORM_NEON if d.softmax == softmax_neon else FORM_AVX512 if d.softmax == softmax_avx512 else FORM_AVX2]
    names = {"ELU": FORMS[d.elu], "LEAKY_RELU": FORMS[d.leaky], "LOGISTIC": FORMS[d.logistic], "NEG": FORMS[d.neg]}
    names |= dict.fromkeys(("MEAN", "RSQRT", "SOFTMAX", "SQRT", "SUM"), rest)
    names["PRELU"] = FORMS[FORM_AVX2 if d.slope_by_sign else FORM_AVX512]
    names["float16"] = "wide" if generation() == NEON else "fp16" if generation() > NEON else "rounded steps"
    names["a product's only row"] = ORDERS[rules.single_row]
    names["uint8 products"] = "rounded twice" if rounds_twice() else "rounded once"
    names["dynamic range, matrices"] = "packed" if generation() >= DOTPROD else "fused"
    names["dynamic range, several positions"] = "rounded" if generation() == DOTPROD else "fused"
    return names
