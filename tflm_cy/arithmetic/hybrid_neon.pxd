"""What the hybrid kernels do otherwise on aarch64: arithmetic/hybrid.pxd's steps in NEON.

- A value is rounded half away from zero wherever it lies in a row; what does not fit an int32 saturates, NaN is 0.
- The range of an asymmetric row: NaN within the full blocks of four hides all of them.
- Scale times sum is fused with the result that it is added to, unless a kernel takes four rows of values at once (`by_fours`).
- Products of two halves of 16 columns meet in an int16, where two of -128 * -128 wrap around (`wrap_error`), unless a kernel takes four rows of
  values or the matrix library multiplies (`by_matrix_library`). Nothing else becomes of a weight of -128.
- Sparse weights have dot products where whole blocks of 16 columns fill a row; else rows of which the file has no block are left out, which shows
  where a scale is not finite.
- The float dot product's lanes are fused multiply-adds, added as (l0 + l1) + (l2 + l3), and so are the products of the tail.

Source: LiteRT:tflite/kernels/internal/optimized/neon_tensor_utils.cc.
"""
from libc.math cimport roundf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint32_t

from tflm_cy.arithmetic.machine cimport AARCH64, fmaf
from tflm_cy.arithmetic.nan_order cimport add_first, fused_first
from tflm_cy.arithmetic.rounding cimport cut32

cdef enum:
    LARGE_MATRIX = 16384         # weights from which on rows of values are filled up to four

cdef enum ProductFlags:          # of a product, where it differs from x86-64's
    FUSED = 1                    # scale times sum, and what it is added to
    WRAPS = 2                    # pairs of products, at 16 bits


cdef inline void quantize_values_neon(
    const float* v, ptrdiff_t n, float inverse, int32_t zero_point, int32_t low, int16_t* q,
) noexcept nogil:
    """q = clamp(round(v * inverse) + zero_point, low, 127). The sum is of int32, modulo 2^32, in full blocks of eight; behind them of floats."""
    cdef ptrdiff_t blocks = n - n % 8
    cdef ptrdiff_t i
    cdef int32_t y
    for i in range(n):
        if i < blocks:
            y = <int32_t>(<uint32_t>cut32(roundf(v[i] * inverse)) + <uint32_t>zero_point)
        else:
            y = cut32(<float>zero_point + roundf(v[i] * inverse))
        y = low if y < low else y
        q[i] = <int16_t>(127 if y > 127 else y)


cdef inline float dot_f32_neon(const float* a, const float* b, ptrdiff_t n, float result) noexcept nogil:
    """result + a . b"""
    cdef float[4] lanes = [0, 0, 0, 0]
    cdef ptrdiff_t blocks = n - n % 4
    cdef ptrdiff_t i
    cdef float total
    for i in range(blocks):
        lanes[i & 3] = fmaf(a[i], b[i], lanes[i & 3])
    total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + result
    for i in range(blocks, n):
        total = fmaf(a[i], b[i], total)
    return total if total == total else nan_of_dot_neon(a, b, n, result)


cdef inline float nan_of_dot_neon(const float* a, const float* b, ptrdiff_t n, float result) noexcept nogil:
    """Of a product's two NaN the lanes keep b's, the tail a's; the lanes' sum comes before what it is added to."""
    cdef float[4] lanes = [0, 0, 0, 0]
    cdef ptrdiff_t blocks = n - n % 4
    cdef ptrdiff_t i
    for i in range(blocks):
        lanes[i & 3] = fused_first(lanes[i & 3], b[i], a[i])
    result = add_first(add_first(add_first(lanes[0], lanes[1]), add_first(lanes[2], lanes[3])), result)
    for i in range(blocks, n):
        result = fused_first(result, a[i], b[i])
    return result


# ---- int8 weights

cdef inline int floor_log2(ptrdiff_t n) noexcept nogil:
    cdef int log = 0
    while n > 1:
        n >>= 1
        log += 1
    return log


cdef inline bint by_matrix_library(ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t values, bint dotprod) noexcept nogil:
    """`rows` rows of weights and `values` rows of values; dotprod: the CPU has dot products of bytes."""
    if rows == 0 or rows % 4 != 0 or depth == 0:
        return False
    if not dotprod:
        return values >= 8
    return values >= 16 and floor_log2(values) - floor_log2(rows / depth if rows >= depth else depth / rows) > 2


cdef inline bint by_fours(ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t values, bint dotprod) noexcept nogil:
    """Likewise. The only kernel that rounds the product before it is added."""
    if not dotprod or depth % 16 != 0 or rows % 2 != 0 or rows < values or by_matrix_library(rows, depth, values, dotprod):
        return False
    return values % 4 == 0 or (values >= 2 and rows * depth >= LARGE_MATRIX)


cdef inline int product_flags(ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t values, bint dotprod) noexcept nogil:
    """Of accumulate_rows: 0 on x86-64."""
    if not AARCH64 or by_fours(rows, depth, values, dotprod):
        return 0
    return FUSED if by_matrix_library(rows, depth, values, dotprod) else FUSED | WRAPS


cdef inline bint by_dots(ptrdiff_t depth, bint dotprod) noexcept nogil:
    """Weights that are sparse in the file, with dot products; any other kernel leaves rows without blocks out."""
    return dotprod and depth % 16 == 0


cdef inline int sparse_flags(ptrdiff_t depth, bint dotprod) noexcept nogil:
    """Of weights that are sparse in the file."""
    return 0 if not AARCH64 else FUSED if by_dots(depth, dotprod) else FUSED | WRAPS


cdef inline int32_t wrap_error(const int16_t* q, const int8_t* w, ptrdiff_t n) noexcept nogil:
    """To be added to the exact product: -65536 for each pair of columns, eight apart in a full block of 16, that hold nothing but -128."""
    cdef uint32_t wraps = 0
    cdef ptrdiff_t block, i
    for block in range(0, n - n % 16, 16):
        for i in range(block, block + 8):
            if w[i] == -128 and w[i + 8] == -128 and q[i] == -128 and q[i + 8] == -128:
                wraps += 1
    return <int32_t>(0 - (wraps << 16))
