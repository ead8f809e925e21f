# The multipliers of all columns become vectors of constants once; see requantize_fixed.h.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.multipliers cimport Factor
from tflm_cy.simd.requantize_fixed cimport ROUNDS_AWAY, ROUNDS_MIXED, ROUNDS_UP, RequantizeFixed, RequantizeFixedKernels

cdef extern from "requantize_fixed.h" nogil:
    enum:
        REQUANTIZE_FIXED_VALUES
        REQUANTIZE_FIXED_ADDED
        REQUANTIZE_FIXED_LESS
        REQUANTIZE_FIXED_SHIFTS
        REQUANTIZE_FIXED_LOST
        REQUANTIZE_FIXED_BIAS
    ctypedef struct RequantizeFixedLimits:
        bint is_signed
        vb zero
        vb low
        vb high
    ptrdiff_t REQUANTIZE_FIXED_STEP(int rounding)
    void requantize_fixed_rows_up(
        const RequantizeFixedLimits* k, const int32_t* constants, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n, uint8_t* y,
        ptrdiff_t y_row) noexcept
    void requantize_fixed_rows_mixed(
        const RequantizeFixedLimits* k, const int32_t* constants, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n, uint8_t* y,
        ptrdiff_t y_row) noexcept
    void requantize_fixed_rows_away(
        const RequantizeFixedLimits* k, const int32_t* constants, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n, uint8_t* y,
        ptrdiff_t y_row) noexcept


cdef ptrdiff_t requantize_fixed_vectors(const RequantizeFixed* f) noexcept nogil:
    """Of columns, per group."""
    return (f.columns + VL - 1) / VL


cdef bint plan_requantize_fixed(RequantizeFixed* f) noexcept nogil:
    """False where the scalar definition must serve: left shifts that overflow, limits outside of the type."""
    cdef int32_t lowest = -128 if f.is_signed else 0
    f.pack = pack_requantize_fixed
    if f.groups <= 0 or f.columns <= 0:
        return False
    if not lowest <= f.zero_point <= lowest + 255 or not lowest <= f.low <= f.high <= lowest + 255:
        return False
    if f.factors != NULL and not plan_factors8(f):
        return False
    f.packed_bytes = f.groups * requantize_fixed_vectors(f) * REQUANTIZE_FIXED_STEP(f.rounding) * <ptrdiff_t>sizeof(int32_t) + 64
    return True


cdef bint plan_factors8(RequantizeFixed* f) noexcept nogil:
    """How halves of all columns are rounded (a multiplier of 0 has none), and whether left shifts are in range; a model has thousands of columns."""
    cdef bint up = False
    cdef bint away = False
    cdef bint fit = True
    cdef int32_t left = 0                # the largest
    cdef Factor factor
    cdef ptrdiff_t i
    for i in range(f.groups * f.columns):
        factor = f.factors[i]
        away |= factor.away != 0
        up |= (factor.away == 0) & (factor.value != 0)
        fit &= (factor.value >= 0) & (factor.right <= 31) & ((factor.left <= 0) | (factor.right <= 0))
        left = max(left, factor.left)
    f.rounding = ROUNDS_UP if not away else ROUNDS_MIXED if up else ROUNDS_AWAY
    return fit and left <= 30 and (left == 0 or f.most * (<int64_t>1 << left) < 2147483647.0)


cdef void pack_requantize_fixed(RequantizeFixed* f) noexcept nogil:
    cdef ptrdiff_t group, column, vector
    cdef int32_t* at
    f.packed = <int32_t*>(((<size_t>f.packed) + 63) / 64 * 64)
    at = f.packed
    for group in range(f.groups):
        for vector in range(requantize_fixed_vectors(f)):
            memset(at, 0, REQUANTIZE_FIXED_STEP(f.rounding) * sizeof(int32_t))
            for column in range(vector * VL, min((vector + 1) * VL, f.columns)):
                pack_factor8(&f.factors[group * f.columns + column], column - vector * VL, f.rounding == ROUNDS_MIXED, at)
            at += REQUANTIZE_FIXED_STEP(f.rounding)


cdef void pack_factor8(const Factor* factor, ptrdiff_t lane, bint mixed, int32_t* at) noexcept nogil:
    cdef ptrdiff_t wide = (lane & 1) * (VL / 2) + lane / 2     # among the 64-bit lanes of two vectors
    cdef int64_t* values = <int64_t*>(at + REQUANTIZE_FIXED_VALUES * VL)
    cdef int64_t* added = <int64_t*>(at + REQUANTIZE_FIXED_ADDED * VL)
    cdef int64_t* shifts = <int64_t*>(at + REQUANTIZE_FIXED_SHIFTS * VL)
    cdef int64_t* lost = <int64_t*>(at + REQUANTIZE_FIXED_LOST * VL)
    cdef int shift = 31 + factor.right - factor.left
    values[wide] = factor.value + (<int64_t>shift << 32)
    added[wide] = ((<int64_t>1 << (30 - factor.left)) & ~<int64_t>factor.cut) + (<int64_t>factor.half << 31)
    if mixed:
        lost[wide] = <int64_t>1 << 31 if factor.away else 0
    if REQUANTIZE_FIXED_BIAS:
        added[wide] += <int64_t>1 << 62
        shifts[wide] = shift
        at[REQUANTIZE_FIXED_LESS * VL + lane] = <int32_t><uint32_t>(<int64_t>1 << (62 - shift))


cdef void finish_requantize_fixed(
    const void* params, ptrdiff_t group, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, uint8_t* y,
    ptrdiff_t y_row,
) noexcept nogil:
    cdef const RequantizeFixed* f = <const RequantizeFixed*>params
    cdef const int32_t* constants = f.packed + (group * requantize_fixed_vectors(f) + first / VL) * REQUANTIZE_FIXED_STEP(f.rounding)
    cdef RequantizeFixedLimits k
    k.is_signed = f.is_signed
    k.zero = vb_set1_16(f.zero_point)
    k.low = vb_set1(f.low)
    k.high = vb_set1(f.high)
    if f.rounding == ROUNDS_AWAY:
        requantize_fixed_rows_away(&k, constants, sums, sum_row, rows, n, y, y_row)
    elif f.rounding == ROUNDS_MIXED:
        requantize_fixed_rows_mixed(&k, constants, sums, sum_row, rows, n, y, y_row)
    else:
        requantize_fixed_rows_up(&k, constants, sums, sum_row, rows, n, y, y_row)


cdef void fill_requantize_fixed(RequantizeFixedKernels* table) noexcept:
    table.plan = plan_requantize_fixed
    table.finish = finish_requantize_fixed
