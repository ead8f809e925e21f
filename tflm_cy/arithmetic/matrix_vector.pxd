"""int8 matrices times vectors, exact in int32 (modulo 2^32), for the fully quantized recurrent operators.

The vector is widened to int16 once, its zero point subtracted: plain x86-64 multiplies and adds pairs of int16 in one instruction.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t

from tflm_cy.arithmetic.hybrid cimport LONGEST_DOT, dot4_short, dot_s16_s8
from tflm_cy.arithmetic.row_kernels cimport RowKernels


cdef inline void widen_s8(const int8_t* x, ptrdiff_t n, int32_t zero_point, int16_t* wide) noexcept nogil:
    cdef ptrdiff_t i
    for i in range(n):
        wide[i] = <int16_t>(x[i] - zero_point)


cdef inline void multiply_rows_s8(
    const int8_t* w, ptrdiff_t rows, ptrdiff_t n, const int16_t* x, const RowKernels* fast, int32_t* y,
) noexcept nogil:
    """y[r] = w[r] . x, where |x| <= 255."""
    cdef ptrdiff_t r = 0
    if fast != NULL:
        fast.multiply(x, 0, 1, w, n, rows, n, False, y, 0)
        return
    while r + 4 <= rows and n <= LONGEST_DOT:
        dot4_short(x, w + r * n, n, n, y + r)
        r += 4
    while r < rows:
        y[r] = dot_s16_s8(x, w + r * n, n)
        r += 1
