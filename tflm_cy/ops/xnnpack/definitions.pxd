from libc.stdint cimport int64_t

from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.xnnpack.product_order cimport ProductRules
from tflm_cy.arithmetic.xnnpack.reduction cimport ReduceShape
from tflm_cy.arithmetic.xnnpack.softmax cimport SoftmaxRow
from tflm_cy.arithmetic.xnnpack.unary cimport Function8

ctypedef void (*SumAxes)(const ReduceShape* s, const float* x, float scale, float* y) noexcept nogil

cdef enum Form:                  # of the functions that have one for each
    FORM_AVX2
    FORM_AVX512
    FORM_NEON

cdef struct Definitions:         # of what differs from one generation to the next
    Form elu
    Form leaky
    Form logistic
    Form neg
    UnaryKernel rsqrt
    UnaryKernel sqrt
    SoftmaxRow softmax
    SumAxes sum_rows             # the last axis is reduced
    SumAxes sum_columns
    SumAxes square_rows
    SumAxes square_columns
    bint slope_by_sign           # PRELU, LEAKY_RELU: the sign bit decides


cdef inline Function8 of_form(Form form, Function8 avx2, Function8 avx512, Function8 neon) noexcept:
    """Inline functions have an address in each module that takes one: the caller's are wanted."""
    return neon if form == FORM_NEON else avx512 if form == FORM_AVX512 else avx2


cdef const Definitions* definitions() except NULL
cdef const ProductRules* product_rules() except NULL
cdef int rounds_twice() except -1
