"""float32 functions of two values of the xnnpack arithmetic; kernels of one run for arithmetic/broadcast.pxd.

    walk(&plan, <BinaryKernel>add_f32, &limits, a, 4, b, 4, y, 4)

One rounding per operation; the fused activation is a clamp of the result (NaN stays NaN). Of two NaNs the first operand's wins.
MAXIMUM and MINIMUM return the second operand when one is NaN or both are zeros.

Source: XNNPACK's f32-vbinary and f32-vprelu microkernels.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.fixed_point cimport RangeF
from tflm_cy.arithmetic.xnnpack.lanes cimport (
    add8, f32x8, less8, load8, load_part8, max8, min8, mul8, select8, select_by_sign8, splat8, store8, store_part8,
)

cdef enum Operation:
    ADD = 0
    SUB = 1
    MUL = 2
    DIV = 3
    SQUARED_DIFFERENCE = 4
    MAXIMUM = 5
    MINIMUM = 6
    PRELU_AVX2 = 7
    PRELU_ONE_AVX2 = 8
    PRELU_AVX512 = 9


cdef inline f32x8 operate8(int operation, f32x8 a, f32x8 b, f32x8 low, f32x8 high) noexcept nogil:
    """With a literal `operation` the compiler leaves one."""
    cdef f32x8 v
    if operation == ADD:
        v = add8(a, b)
    elif operation == SUB:
        v = a - b
    elif operation == MUL:
        v = mul8(a, b)
    elif operation == DIV:
        v = a / b
    elif operation == SQUARED_DIFFERENCE:
        v = a - b
        return v * v
    elif operation == MAXIMUM:
        return max8(a, b)
    elif operation == MINIMUM:
        return min8(a, b)
    elif operation == PRELU_AVX2:                            # by the sign bit: -0 and NaN, too
        return select_by_sign8(a, mul8(a, b), a)
    elif operation == PRELU_ONE_AVX2:
        return select_by_sign8(a, mul8(b, a), a)
    else:                                                    # values that do not take the slope stay as they are
        return select8(less8(a, splat8(0)), mul8(a, b), a)
    return min8(high, max8(low, v))


cdef inline void operate(int operation, const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    cdef f32x8 low = splat8(limits.low)
    cdef f32x8 high = splat8(limits.high)
    cdef int64_t i = 0
    while i + 8 <= n:
        store8(y + i, operate8(operation, load8(a + i), load8(b + i), low, high))
        i += 8
    if i < n:
        store_part8(y + i, operate8(operation, load_part8(a + i, n - i), load_part8(b + i, n - i), low, high), n - i)


cdef inline void add_f32(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(ADD, limits, a, b, y, n)


cdef inline void sub_f32(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(SUB, limits, a, b, y, n)


cdef inline void mul_f32(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(MUL, limits, a, b, y, n)


cdef inline void div_f32(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(DIV, limits, a, b, y, n)


cdef inline void squared_difference_f32(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(SQUARED_DIFFERENCE, limits, a, b, y, n)


cdef inline void maximum_f32(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(MAXIMUM, limits, a, b, y, n)


cdef inline void minimum_f32(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(MINIMUM, limits, a, b, y, n)


cdef inline void prelu_f32_avx2(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(PRELU_AVX2, limits, a, b, y, n)


cdef inline void prelu_f32_avx512(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    operate(PRELU_AVX512, limits, a, b, y, n)


cdef inline void prelu_one_f32_avx2(const RangeF* limits, const float* a, const float* b, float* y, int64_t n) noexcept nogil:
    """One slope for the run."""
    operate(PRELU_ONE_AVX2, limits, a, b, y, n)


cdef inline int repeated_operand(int a_rank, const int32_t* a_dims, int b_rank, const int32_t* b_dims) noexcept nogil:
    """The operand (0, 1) that repeats along the innermost axis in which not both are 1, -1: neither; of single values the first."""
    cdef int d
    cdef int32_t m, n
    for d in range(max(a_rank, b_rank)):
        m = a_dims[a_rank - 1 - d] if d < a_rank else 1
        n = b_dims[b_rank - 1 - d] if d < b_rank else 1
        if m != 1 or n != 1:
            return 0 if m == 1 else 1 if n == 1 else -1
    return 0
