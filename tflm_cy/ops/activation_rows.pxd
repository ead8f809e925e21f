"""LOGISTIC and TANH of the optimized arithmetic by the kernels for rows (arithmetic/row_kernels.pxd), float32 and float16."""
from libc.stdint cimport int64_t, uint16_t

from tflm_cy.arithmetic.activation cimport tanh_half_run
from tflm_cy.arithmetic.eigen cimport whole_vectors
from tflm_cy.arithmetic.optimized.activation cimport logistic_run_eigen
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.graph.tensor cimport FLOAT16
from tflm_cy.ops.elementwise cimport Unary
from tflm_cy.simd.table cimport row_kernels


cdef inline void logistic_fast(const RowKernels* fast, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t body = whole_vectors(n)
    fast.logistic(x, y, body)
    logistic_run_eigen(NULL, x + body, y + body, n - body)


cdef inline void tanh_fast(const RowKernels* fast, const float* x, float* y, int64_t n) noexcept nogil:
    fast.tanh(x, y, n)


cdef inline void logistic_half_fast(const RowKernels* fast, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    fast.logistic_half(x, y, n)


cdef inline void tanh_half_fast(const RowKernels* fast, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t body = n - n % 8
    fast.tanh_half(x, y, body)
    tanh_half_run(NULL, x + body, y + body, n - body)


cdef inline int use_rows(Unary* op, int type, bint is_tanh) except -1:
    """LOGISTIC and TANH of the optimized arithmetic in vectors, where there are some."""
    cdef const RowKernels* fast = row_kernels()
    if fast == NULL or (type == FLOAT16 and (fast.tanh_half if is_tanh else fast.logistic_half) == NULL):
        return 0
    op.params = fast
    if type == FLOAT16:
        op.kernel = <UnaryKernel>tanh_half_fast if is_tanh else <UnaryKernel>logistic_half_fast
    else:
        op.kernel = <UnaryKernel>tanh_fast if is_tanh else <UnaryKernel>logistic_fast
    return 0
