"""float32 matrix products in Eigen's order: y[j][i] = w[i] . x[j] for n rows of weights and m rows of values, k long each.

    cdef Product p = plan_product(n, k, m, top_block(l1_data_bytes()))
    if p.method == PANELS:
        pack_panels(&p, w, packed)                        # packed_panels(&p) floats
    multiply_rows_eigen(&p, w, packed, x[j], NULL, j, sums, NULL)     # one row of values, or two neighbours

| case | method |
| --- | --- |
| m == 1 and n == 1, m == 1, n == 1 | inner product, matrix times vector (rows of w, rows of x): `eigen.pxd` |
| k + n + m < 20 | each output by itself: `small_product` |
| else | panels: stretches of k of at most `block`, whose sums are added; within one the order depends on i and j |

Panels: the first n / 16 * 16 outputs, and all of the last m % 4 rows of values, are sums in the order of k. The outputs from there to
n / 4 * 4 add even and odd k apart, the last n % 4 by k mod 8. Which of them a row of values gets depends on its number j.

On aarch64 another library multiplies: methods CHAIN and LANES (product_ruy.pxd), whatever the thread count. CHAIN takes denormals for
zeros, in what is added and clamped, too, where the library does it: between `enter_product` and `leave_product`.

Source: Eigen's src/Core/products/GeneralBlockPanelKernel.h, compiled for AVX without fused multiply-add.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.eigen cimport (
    dot_f32, k_block, matrix_vector_f32, row_f32, small_product, sum_by_eight, sum_in_order,
)
from tflm_cy.arithmetic.eigen_nan cimport nan_of_dot, nan_of_panel, nan_of_row, nan_of_small
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport add_first
from tflm_cy.arithmetic.product_ruy cimport chain_products, is_lane_product, lane_products
from tflm_cy.platform.denormals cimport flush_denormals, restore_denormals
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.product_f32 cimport Run, columns4, columns8, columns16, columns16_one, f32x4, finish_f32, pack_columns

cdef enum Method:
    DOT = 0
    MATRIX_VECTOR = 1
    VECTOR_MATRIX = 2
    SMALL = 3
    PANELS = 4
    CHAIN = 5
    LANES = 6

cdef struct Product:
    ptrdiff_t n
    ptrdiff_t k
    ptrdiff_t m
    ptrdiff_t block              # of k
    int method


cdef inline unsigned long long enter_product(const Product* p) noexcept nogil:
    """What `leave_product` wants."""
    return flush_denormals() if p.method == CHAIN else 0


cdef inline void leave_product(const Product* p, unsigned long long mode) noexcept nogil:
    if p.method == CHAIN:
        restore_denormals(mode)


cdef inline Product plan_product(ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, ptrdiff_t top) noexcept nogil:
    cdef Product p
    p.n = n
    p.k = k
    p.m = m
    p.block = max(k_block(k, m, n, top), 1)
    p.method = PANELS
    if AARCH64:
        p.method = LANES if is_lane_product(n, k, m) else CHAIN
    elif m == 1:
        p.method = DOT if n == 1 else MATRIX_VECTOR
    elif n == 1:
        p.method = VECTOR_MATRIX
    elif k + n + m < 20:
        p.method = SMALL
    return p


cdef inline ptrdiff_t packed_panels(const Product* p) noexcept nogil:
    """Floats; none for the other methods."""
    return (p.n - p.n % 4) * p.k if p.method == PANELS else 0


cdef inline void pack_panels(const Product* p, const float* w, float* packed) noexcept nogil:
    """All but the last n % 4 rows, in blocks of 16, 8 and 4."""
    if p.method == PANELS:
        pack_columns(w, p.n - p.n % 4, p.k, p.k, 1, packed)


cdef inline void even_odd_4(const float* x, const float* x2, ptrdiff_t n, const float* w, float* sums, float* sums2) noexcept nogil:
    """Four columns of two rows."""
    cdef float[4] zeros = [0, 0, 0, 0]
    cdef f32x4 a0 = (<f32x4*>zeros)[0]
    cdef f32x4 a1 = a0
    cdef f32x4 b0 = a0
    cdef f32x4 b1 = a0
    cdef const f32x4* v = <const f32x4*>w
    cdef ptrdiff_t i
    for i in range(0, n - n % 8, 2):
        a0 = a0 + v[i] * x[i]
        a1 = a1 + v[i + 1] * x[i + 1]
        b0 = b0 + v[i] * x2[i]
        b1 = b1 + v[i + 1] * x2[i + 1]
    a0 = a0 + a1
    b0 = b0 + b1
    for i in range(n - n % 8, n):
        a0 = a0 + v[i] * x[i]
        b0 = b0 + v[i] * x2[i]
    (<f32x4*>sums)[0] = a0
    (<f32x4*>sums2)[0] = b0


cdef inline void even_odd_8(const float* x, const float* x2, ptrdiff_t n, const float* w, float* sums, float* sums2) noexcept nogil:
    """Eight columns of two rows."""
    cdef float[4] zeros = [0, 0, 0, 0]
    cdef f32x4 a0 = (<f32x4*>zeros)[0]
    cdef f32x4 a1 = a0
    cdef f32x4 a2 = a0
    cdef f32x4 a3 = a0
    cdef f32x4 b0 = a0
    cdef f32x4 b1 = a0
    cdef f32x4 b2 = a0
    cdef f32x4 b3 = a0
    cdef const f32x4* v = <const f32x4*>w
    cdef ptrdiff_t i
    for i in range(0, n - n % 8, 2):
        a0 = a0 + v[0] * x[i]
        a1 = a1 + v[1] * x[i]
        a2 = a2 + v[2] * x[i + 1]
        a3 = a3 + v[3] * x[i + 1]
        b0 = b0 + v[0] * x2[i]
        b1 = b1 + v[1] * x2[i]
        b2 = b2 + v[2] * x2[i + 1]
        b3 = b3 + v[3] * x2[i + 1]
        v += 4
    a0 = a0 + a2
    a1 = a1 + a3
    b0 = b0 + b2
    b1 = b1 + b3
    for i in range(n - n % 8, n):
        a0 = a0 + v[0] * x[i]
        a1 = a1 + v[1] * x[i]
        b0 = b0 + v[0] * x2[i]
        b1 = b1 + v[1] * x2[i]
        v += 2
    (<f32x4*>sums)[0] = a0
    (<f32x4*>sums)[1] = a1
    (<f32x4*>sums2)[0] = b0
    (<f32x4*>sums2)[1] = b1


cdef inline void panel_columns(
    const float* x, const float* x2, const float* w, ptrdiff_t width, ptrdiff_t start, ptrdiff_t length, bint in_order,
    float* sums, float* sums2,
) noexcept nogil:
    """`width` columns (16, 8 or 4) over the stretch of k; w: the block from k = 0 on."""
    cdef Run run
    run.x = start
    run.k = start
    run.n = length
    run.rounded = length
    if width == 16 and x2 == x:
        columns16_one(x, &run, 1, w, sums)
    elif width == 16:
        columns16(x, x2, &run, 1, w, sums, sums2)
    elif width == 8 and in_order:
        columns8(x, x2, &run, 1, w, sums, sums2)
    elif width == 8:
        even_odd_8(x + start, x2 + start, length, w + 8 * start, sums, sums2)
    elif in_order:
        columns4(x, x2, &run, 1, w, sums, sums2)
    else:
        even_odd_4(x + start, x2 + start, length, w + 4 * start, sums, sums2)


cdef inline float last_column(const Product* p, const float* w, const float* x, bint in_order) noexcept nogil:
    """One of the last n % 4 outputs."""
    cdef float total = 0
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t length
    while start < p.k:
        length = min(p.block, p.k - start)
        total = total + (sum_in_order(w + start, x + start, length) if in_order else sum_by_eight(w + start, x + start, length))
        start += length
    return total


cdef inline void multiply_panels(
    const Product* p, const float* w, const float* packed, const float* x, const float* x2, ptrdiff_t j, float* sums, float* sums2,
) noexcept nogil:
    """x2 == x: one row, and what goes to sums2 is of no use."""
    cdef float[16] part
    cdef float[16] part2
    cdef bint in_order = j >= p.m - p.m % 4
    cdef ptrdiff_t n4 = p.n - p.n % 4
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t width, start, length, i
    while c < n4:
        width = 16 if n4 - c >= 16 else 8 if n4 - c >= 8 else 4
        length = min(p.block, p.k)
        panel_columns(x, x2, packed, width, 0, length, in_order, part, part2)
        start = length
        for i in range(width):
            sums[c + i] = part[i]
            sums2[c + i] = part2[i]
        while start < p.k:
            length = min(p.block, p.k - start)
            panel_columns(x, x2, packed, width, start, length, in_order, part, part2)
            for i in range(width):
                sums[c + i] = sums[c + i] + part[i]
                sums2[c + i] = sums2[c + i] + part2[i]
            start += length
        packed += width * p.k
        c += width
    for c in range(n4, p.n):
        sums[c] = last_column(p, w + c * p.k, x, in_order)
        if x2 != x:
            sums2[c] = last_column(p, w + c * p.k, x2, in_order)


cdef inline void multiply_row(const Product* p, const float* w, const float* x, ptrdiff_t j, float* sums) noexcept nogil:
    """The methods without panels."""
    cdef ptrdiff_t i
    cdef bint wide
    if p.method == DOT:
        sums[0] = dot_f32(w, x, p.k)
        if sums[0] != sums[0]:
            sums[0] = nan_of_dot(x, w, p.k)
    elif p.method == MATRIX_VECTOR:
        matrix_vector_f32(w, p.n, p.k, x, True, sums)
    elif p.method == CHAIN:
        chain_products(w, p.n, p.k, x, j, sums)
    elif p.method == LANES:
        lane_products(w, p.n, p.k, x, sums)
    elif p.method == VECTOR_MATRIX:
        wide = j == p.m - 1 and p.m & 1
        sums[0] = row_f32(x, w, p.k, wide)
        if sums[0] != sums[0]:
            sums[0] = nan_of_row(x, w, p.k, j % 8 != 7 and j < p.m - p.m % 8 and 4 * p.k <= 32000, wide, True)
    else:
        for i in range(p.n):
            sums[i] = small_product(w + i * p.k, x, p.k)
            if sums[i] != sums[i]:
                sums[i] = nan_of_small(w + i * p.k, x, p.k)


cdef inline void finish_eigen(const float* sums, const float* bias, ptrdiff_t n, float low, float high, float* y) noexcept nogil:
    """finish_f32; of two NaN the bias's comes out in the blocks of four, but on aarch64."""
    cdef ptrdiff_t i
    if finish_f32(sums, bias, n, low, high, y):
        for i in range(n):
            if y[i] != y[i]:
                y[i] = add_first(bias[i], sums[i]) if i < n - n % 4 and not AARCH64 else add_first(sums[i], bias[i])


cdef inline void multiply_rows_eigen(
    const Product* p, const float* w, const float* packed, const float* x, const float* x2, ptrdiff_t j, float* sums, float* sums2,
) noexcept nogil:
    """Row j of the values, and row j + 1 unless x2 is NULL: then j must be even. Room for n floats each, also without a second row."""
    cdef ptrdiff_t i
    if p.method == PANELS:
        multiply_panels(p, w, packed, x, x if x2 == NULL else x2, j, sums, sums2)
        for i in range(p.n):
            if sums[i] != sums[i]:
                sums[i] = nan_of_panel(w + i * p.k, x, p.k, p.block, i, p.n, j, p.m)
            if x2 != NULL and sums2[i] != sums2[i]:
                sums2[i] = nan_of_panel(w + i * p.k, x2, p.k, p.block, i, p.n, j + 1, p.m)
        return
    multiply_row(p, w, x, j, sums)
    if x2 != NULL:
        multiply_row(p, w, x2, j + 1, sums2)


cdef inline bint multiply_together_eigen(
    const Product* p, const float* w, const float* x, ptrdiff_t j, ptrdiff_t count, const RowKernels* fast, float* sums,
) noexcept nogil:
    """Rows j .. j + count - 1 of the values (whole fours, or the last ones) by the vector kernel, which needs nothing packed; False: not so."""
    cdef ptrdiff_t i, c
    cdef bint in_order
    cdef float* out
    if p.method != PANELS or not fast.multiply_panels(w, x, sums, p.n, p.k, count, p.block):
        return False
    for i in range(count):
        out = sums + i * p.n
        in_order = j + i >= p.m - p.m % 4
        for c in range(p.n if in_order else p.n - p.n % 4, p.n):
            out[c] = last_column(p, w + c * p.k, x + i * p.k, in_order)
        for c in range(p.n):
            if out[c] != out[c]:
                out[c] = nan_of_panel(w + c * p.k, x + i * p.k, p.k, p.block, c, p.n, j + i, p.m)
    return True
