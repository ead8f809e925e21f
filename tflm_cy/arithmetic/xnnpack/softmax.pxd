"""float32 SOFTMAX of a row as XNNPACK computes it.

    m = max(x);  e[i] = exp(x[i] - m);  y[i] = e[i] * (1 / sum(e))

The sum has two accumulators that take turns, of 8 lanes (AVX2) or 16, four vectors a turn; then both are added, the vectors left over, the
values left over, and a tree of the lanes. NaN or +inf anywhere gives a row of NaN.

Source: XNNPACK's f32-raddstoreexpminusmax microkernels, rr2_p5.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.xnnpack.lanes cimport (
    add8, bits8, f32x8, floats8, fma8, less8, load8, load_part8, mul8, select8, splat8, store8, store_part8,
)
from tflm_cy.arithmetic.xnnpack.reduction cimport MAXIMUM, part_or_zero, row_extreme, tree_sum
from tflm_cy.arithmetic.xnnpack.unary cimport exp_poly8

ctypedef void (*SoftmaxRow)(const float* x, int64_t n, float* y) noexcept nogil


cdef inline f32x8 exp_minus8(f32x8 x) noexcept nogil:
    """e^x for x <= 0; 0 below -87.34."""
    cdef f32x8 magic = splat8(12583039)                          # 0x1.8000FEp23
    cdef f32x8 n = fma8(x, splat8(<float>1.4426950216293335), magic)
    cdef f32x8 s = floats8(bits8(n) << 23)
    cdef f32x8 t
    n = n - magic
    t = fma8(n, splat8(<float>-0.693145751953125), x)            # -0x1.62E400p-1
    t = fma8(n, splat8(<float>-1.428606765330187e-06), t)        # -0x1.7F7D1Cp-20
    return select8(less8(x, splat8(<float>-87.33654022216797)), splat8(0), exp_poly8(t, s))


cdef inline void softmax_row(const float* x, int64_t n, bint wide, float* y) noexcept nogil:
    cdef f32x8 m = splat8(row_extreme(MAXIMUM, x, n, -INFINITY, wide))
    cdef f32x8 scale
    cdef int64_t i = 0
    while i + 8 <= n:
        store8(y + i, exp_minus8(load8(x + i) - m))
        i += 8
    if i < n:
        store_part8(y + i, exp_minus8(load_part8(x + i, n - i) - m), n - i)
    scale = splat8(<float>1 / (sum_wide(y, n) if wide else sum_narrow(y, n)))
    i = 0
    while i + 8 <= n:
        store8(y + i, mul8(scale, load8(y + i)))
        i += 8
    if i < n:
        store_part8(y + i, mul8(scale, load_part8(y + i, n - i)), n - i)


cdef inline float sum_narrow(const float* e, int64_t n) noexcept nogil:
    """AVX2."""
    cdef f32x8 a = splat8(0)
    cdef f32x8 b = a
    cdef int64_t i = 0
    while i + 32 <= n:
        a = add8(load8(e + i), a)
        b = add8(load8(e + i + 8), b)
        a = add8(load8(e + i + 16), a)
        b = add8(load8(e + i + 24), b)
        i += 32
    a = add8(b, a)
    while i < n:
        a = add8(a, part_or_zero(e + i, n - i))
        i += 8
    return tree_sum(a)


cdef inline float sum_wide(const float* e, int64_t n) noexcept nogil:
    """AVX-512: sixteen lanes as two times eight."""
    cdef f32x8 a = splat8(0)
    cdef f32x8 a2 = a
    cdef f32x8 b = a
    cdef f32x8 b2 = a
    cdef int64_t i = 0
    while i + 64 <= n:
        a = add8(load8(e + i), a)
        a2 = add8(load8(e + i + 8), a2)
        b = add8(load8(e + i + 16), b)
        b2 = add8(load8(e + i + 24), b2)
        a = add8(load8(e + i + 32), a)
        a2 = add8(load8(e + i + 40), a2)
        b = add8(load8(e + i + 48), b)
        b2 = add8(load8(e + i + 56), b2)
        i += 64
    a = add8(b, a)
    a2 = add8(b2, a2)
    while i < n:
        a = add8(a, part_or_zero(e + i, n - i))
        a2 = add8(a2, part_or_zero(e + i + 8, n - i - 8))
        i += 16
    return tree_sum(add8(a, a2))
