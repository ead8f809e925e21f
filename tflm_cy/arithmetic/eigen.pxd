"""Eigen's float32 functions and matrix products, whose bits the recurrent operators have in every arithmetic.

Eigen was compiled for AVX without fused multiply-add: eight lanes, every product and every sum rounded; on aarch64 the products of its
functions' polynomials are fused with the sums, and product_ruy.pxd multiplies. The functions are its packet formulas, which it applies to
tails as well. `matrix_product` is W (n x k) times the transpose of X (m x k); the order in which an output sums over k depends on n, k, m
and on its own row and column, and on the size of the L1 data cache (`top_block`).

Source: Eigen's src/Core/{MathFunctionsImpl.h,products/{GeneralBlockPanelKernel,GeneralMatrixVector}.h,arch/Default/GenericPacketMathFunctions.h}.
"""
from libc.math cimport expf, signbit
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.eigen_nan cimport nan_of_dot, nan_of_panel, nan_of_row, nan_of_small
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.fixed_point cimport ACT_RELU, ACT_RELU6, ACT_RELU_N1_TO_1, ACT_SIGN_BIT, ACT_TANH
from tflm_cy.arithmetic.machine cimport AARCH64, product_plus
from tflm_cy.arithmetic.nan_order cimport add_after, add_first
from tflm_cy.arithmetic.product_ruy cimport chain_products, is_lane_product, lane_products
from tflm_cy.platform.denormals cimport flush_denormals, restore_denormals


cdef inline float eigen_tanh(float v) noexcept nogil:
    """An odd over an even polynomial of the clamped argument, which reaches farther with fused multiply-add; NaN passes."""
    cdef float most = <float>8.01773357391357422 if AARCH64 else <float>7.90738964080810547
    cdef float x = most if most < v else v
    cdef float x2, p, q
    x = -most if x < -most else x
    x2 = x * x
    p = <float>1.394553628e-8
    p = product_plus(p, x2, <float>2.102733560e-5)
    p = product_plus(p, x2, <float>3.520756727e-3)
    p = product_plus(p, x2, <float>1.340216100e-1)
    q = <float>8.015776984e-7
    q = product_plus(q, x2, <float>3.326951409e-4)
    q = product_plus(q, x2, <float>2.597254514e-2)
    q = product_plus(q, x2, <float>4.673548340e-1)
    q = product_plus(q, x2, <float>1)
    return product_plus(x2 * x, p, x) / q


cdef inline float eigen_logistic(float v) noexcept nogil:
    """e / (1 + e) with e = exp(v / 2)^2; 0 below -104."""
    cdef float x = <float>16.6355324 if <float>16.6355324 < v else v
    cdef float t, m, r, r2, even, odd, p, power, e
    cdef int32_t exponent
    x = <float>-110 if x < <float>-110 else x
    x = x * <float>0.5
    t = product_plus(x, <float>1.44269504088896341, <float>0.5)
    exponent = <int32_t>t
    exponent = exponent - <int32_t>(<float>exponent > t)
    m = <float>exponent
    r = product_plus(m, <float>2.12194440e-4, product_plus(m, <float>-0.693359375, x))
    r2 = r * r
    even = product_plus(r2, <float>4.1898667812347412109375e-2, <float>0.49999141693115234375)
    odd = product_plus(r2, <float>8.33471305668354034423828125e-3, <float>0.16666877269744873046875)
    p = product_plus(r2, product_plus(r, odd, even), r + <float>1)
    exponent = (exponent + 127) << 23
    memcpy(&power, &exponent, 4)
    e = p * power
    e = e * e
    return <float>0 if v < <float>-104 else e / (<float>1 + e)


cdef inline ptrdiff_t whole_vectors(ptrdiff_t n) noexcept nogil:
    """How many of n values Eigen computes in vectors; the others, on aarch64 the last n % 4, have the C library's functions."""
    return n - n % 4 if AARCH64 else n


cdef inline float scalar_logistic(float v) noexcept nogil:
    """By the C library's exponential."""
    cdef float e = expf(<float>16.6355324 if <float>16.6355324 < v else v)
    return e / (<float>1 + e)


cdef inline float eigen_exp(float v) noexcept nogil:
    """2^exponent times a polynomial of what is left; 0 below -104, where the last subnormal lies."""
    cdef float x = <float>88.723 if <float>88.723 < v else v
    cdef float t, m, r, r2, even, odd, p, half, rest
    cdef int32_t exponent, first
    x = <float>-110 if x < <float>-110 else x
    t = product_plus(x, <float>1.44269504088896341, <float>0.5)
    exponent = <int32_t>t
    exponent = exponent - <int32_t>(<float>exponent > t)
    m = <float>exponent
    r = product_plus(m, <float>2.12194440e-4, product_plus(m, <float>-0.693359375, x))
    r2 = r * r
    even = product_plus(r2, <float>1.37449637986719608306884765625e-3, <float>4.166965186595916748046875e-2)
    even = product_plus(r2, even, <float>0.49999988079071044921875)
    odd = product_plus(r2, <float>8.36894474923610687255859375e-3, <float>0.16666518151760101318359375)
    p = product_plus(r2, product_plus(r, odd, even), r + <float>1)
    first = exponent >> 1                # 2^exponent may be no float of its own
    exponent = (exponent - first + 127) << 23
    first = (first + 127) << 23
    memcpy(&half, &first, 4)
    memcpy(&rest, &exponent, 4)
    p = p * half * rest
    p = v if p < v else p                # of infinity and the like
    return <float>0 if v < <float>-104 else p


cdef inline void activate(float* v, ptrdiff_t n, int activation, const RowKernels* fast=NULL) noexcept nogil:
    """A fused activation in place. Unlike the clamps elsewhere RELU and RELU6 turn NaN and -0.0 into 0.0, RELU_N1_TO_1 turns NaN into -1."""
    cdef ptrdiff_t i
    cdef float x
    if activation == ACT_RELU:
        for i in range(n):
            v[i] = v[i] if v[i] > 0 else <float>0
    elif activation == ACT_RELU6:
        for i in range(n):
            x = <float>6 if v[i] > 6 else v[i]
            v[i] = x if x > 0 else <float>0
    elif activation == ACT_RELU_N1_TO_1:
        for i in range(n):
            x = <float>1 if v[i] > 1 else v[i]
            v[i] = x if x > -1 else <float>-1
    elif activation == ACT_TANH and fast != NULL:
        fast.tanh(v, v, n)
    elif activation == ACT_TANH:
        for i in range(n):
            v[i] = eigen_tanh(v[i])
    elif activation == ACT_SIGN_BIT:
        for i in range(n):
            v[i] = <float>1 if signbit(v[i]) else <float>0


cdef inline void logistic_in_place(float* v, ptrdiff_t n, const RowKernels* fast=NULL, ptrdiff_t offset=0) noexcept nogil:
    """`offset`: of TensorFlow's v, in floats from an address on 16 bytes, where on aarch64 its vectors begin."""
    cdef ptrdiff_t head = min(n, -offset & 3) if AARCH64 else 0
    cdef ptrdiff_t body = whole_vectors(n - head)
    cdef ptrdiff_t i
    for i in range(head):
        v[i] = scalar_logistic(v[i])
    v += head
    if fast != NULL:
        fast.logistic(v, v, body)
    for i in range(body if fast == NULL else 0):
        v[i] = eigen_logistic(v[i])
    for i in range(body, n - head):
        v[i] = scalar_logistic(v[i])


# ---- products

cdef extern from *:
    """
    typedef float tflm_cy_eigen_f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
    """
    ctypedef float f32x4 "tflm_cy_eigen_f32x4"       # four floats that are added and multiplied lane by lane


cdef inline float fold4(const float* v) noexcept nogil:
    return add_first(add_first(v[0], v[2]), add_first(v[1], v[3]))


cdef inline float fold8(const float* low, const float* high) noexcept nogil:
    """Of two NaNs the lower half's stays."""
    cdef float[4] v
    cdef int l
    for l in range(4):
        v[l] = add_after(low[l], high[l])
    return fold4(v)


cdef inline float dot_f32(const float* a, const float* v, ptrdiff_t k) noexcept nogil:
    """One row times one column: four accumulators of eight lanes, taken in turn; a short vector sequentially."""
    cdef float[32] lanes
    cdef ptrdiff_t blocks = k / 8
    cdef ptrdiff_t i
    cdef float total
    cdef int l
    cdef ptrdiff_t t
    if k == 0:
        return 0
    if blocks == 0:
        total = a[0] * v[0]
        for i in range(1, k):
            total = total + a[i] * v[i]
        return total
    for t in range(blocks):
        for l in range(8):
            i = 8 * t + l
            lanes[(t & 3) * 8 + l] = a[i] * v[i] if t < 4 else lanes[(t & 3) * 8 + l] + a[i] * v[i]
    for t in range(min(blocks, 4) - 1, 0, -1):
        for l in range(8):
            lanes[(t - 1) * 8 + l] = lanes[(t - 1) * 8 + l] + lanes[t * 8 + l]
    total = fold8(lanes, lanes + 4)
    for i in range(8 * blocks, k):
        total = total + a[i] * v[i]
    return total


cdef inline float finish_row(const float* a, const float* v, ptrdiff_t k, const float* low, const float* high, bint wide_tail) noexcept nogil:
    """The lanes' sum, then what is left of k; with a wide tail four products at once before the single ones."""
    cdef float[4] extra
    cdef ptrdiff_t i = k - k % 8
    cdef float total = fold8(low, high)
    cdef int l
    if wide_tail and k - i >= 4:
        for l in range(4):
            extra[l] = a[i + l] * v[i + l]
        total = total + fold4(extra)
        i += 4
    while i < k:
        total = total + a[i] * v[i]
        i += 1
    return total


cdef inline float row_f32(const float* a, const float* v, ptrdiff_t k, bint wide_tail) noexcept nogil:
    """One row of a matrix-vector product: eight lanes."""
    cdef float[8] lanes = [0, 0, 0, 0, 0, 0, 0, 0]
    cdef f32x4 low = (<f32x4*>lanes)[0]
    cdef f32x4 high = low
    cdef ptrdiff_t i
    for i in range(0, k - k % 8, 8):
        low = low + (<const f32x4*>(a + i))[0] * (<const f32x4*>(v + i))[0]
        high = high + (<const f32x4*>(a + i))[1] * (<const f32x4*>(v + i))[1]
    (<f32x4*>lanes)[0] = low
    (<f32x4*>lanes)[1] = high
    return finish_row(a, v, k, lanes, lanes + 4, wide_tail)


cdef inline void four_rows_f32(const float* a, const float* v, ptrdiff_t k, float* y) noexcept nogil:
    """Four neighbouring rows at once, for speed only."""
    cdef float[32] lanes
    cdef float[4] zeros = [0, 0, 0, 0]
    cdef f32x4 l0 = (<f32x4*>zeros)[0]
    cdef f32x4 h0 = l0
    cdef f32x4 l1 = l0
    cdef f32x4 h1 = l0
    cdef f32x4 l2 = l0
    cdef f32x4 h2 = l0
    cdef f32x4 l3 = l0
    cdef f32x4 h3 = l0
    cdef f32x4 vl, vh
    cdef const float* a1 = a + k
    cdef const float* a2 = a + 2 * k
    cdef const float* a3 = a + 3 * k
    cdef ptrdiff_t i
    for i in range(0, k - k % 8, 8):
        vl = (<const f32x4*>(v + i))[0]
        vh = (<const f32x4*>(v + i))[1]
        l0 = l0 + (<const f32x4*>(a + i))[0] * vl
        h0 = h0 + (<const f32x4*>(a + i))[1] * vh
        l1 = l1 + (<const f32x4*>(a1 + i))[0] * vl
        h1 = h1 + (<const f32x4*>(a1 + i))[1] * vh
        l2 = l2 + (<const f32x4*>(a2 + i))[0] * vl
        h2 = h2 + (<const f32x4*>(a2 + i))[1] * vh
        l3 = l3 + (<const f32x4*>(a3 + i))[0] * vl
        h3 = h3 + (<const f32x4*>(a3 + i))[1] * vh
    (<f32x4*>lanes)[0] = l0
    (<f32x4*>lanes)[1] = h0
    (<f32x4*>lanes)[2] = l1
    (<f32x4*>lanes)[3] = h1
    (<f32x4*>lanes)[4] = l2
    (<f32x4*>lanes)[5] = h2
    (<f32x4*>lanes)[6] = l3
    (<f32x4*>lanes)[7] = h3
    y[0] = finish_row(a, v, k, lanes, lanes + 4, False)
    y[1] = finish_row(a1, v, k, lanes + 8, lanes + 12, False)
    y[2] = finish_row(a2, v, k, lanes + 16, lanes + 20, False)
    y[3] = finish_row(a3, v, k, lanes + 24, lanes + 28, False)


cdef inline void matrix_vector_f32(
    const float* a, ptrdiff_t rows, ptrdiff_t k, const float* v, bint a_first, float* y, const RowKernels* fast=NULL,
) noexcept nogil:
    """Of several NaN in a row the first one's bits come out; in the first seven of each full eight rows, the last one's."""
    cdef ptrdiff_t eights = rows - rows % 8 if 4 * k <= 32000 else 0
    cdef ptrdiff_t r = 0
    if rows == 1:
        y[0] = dot_f32(a, v, k)
        if y[0] != y[0]:
            y[0] = nan_of_dot(a, v, k)
        return
    if fast != NULL:
        fast.multiply_vector(a, rows, k, v, y)
        r = rows
    while r + 4 <= rows:
        four_rows_f32(a + r * k, v, k, y + r)
        r += 4
    while r < rows:
        y[r] = row_f32(a + r * k, v, k, False)
        r += 1
    if rows & 1:
        y[rows - 1] = row_f32(a + (rows - 1) * k, v, k, True)
    for r in range(rows):
        if y[r] != y[r]:
            y[r] = nan_of_row(a + r * k, v, k, r < eights and r % 8 != 7, rows & 1 and r == rows - 1, a_first)


cdef inline float small_product(const float* a, const float* v, ptrdiff_t k) noexcept nogil:
    """Eigen's sum of a short vector of products: two accumulators of eight lanes (k < 20, so at most two blocks)."""
    cdef float[8] lanes
    cdef ptrdiff_t i
    cdef float total
    cdef int l
    if k == 0:
        return 0
    if k < 8:
        total = a[0] * v[0]
        for i in range(1, k):
            total = total + a[i] * v[i]
        return total
    for l in range(8):
        lanes[l] = a[l] * v[l]
        if k >= 16:
            lanes[l] = lanes[l] + a[8 + l] * v[8 + l]
    total = fold8(lanes, lanes + 4)
    for i in range(k - k % 8, k):
        total = total + a[i] * v[i]
    return total


cdef inline float sum_in_order(const float* a, const float* v, ptrdiff_t k) noexcept nogil:
    cdef float total = 0
    cdef ptrdiff_t i
    for i in range(k):
        total = total + a[i] * v[i]
    return total


cdef inline float sum_even_odd(const float* a, const float* v, ptrdiff_t k) noexcept nogil:
    cdef float even = 0
    cdef float odd = 0
    cdef ptrdiff_t i
    for i in range(0, k - k % 8, 2):
        even = even + a[i] * v[i]
        odd = odd + a[i + 1] * v[i + 1]
    even = even + odd
    for i in range(k - k % 8, k):
        even = even + a[i] * v[i]
    return even


cdef inline float sum_by_eight(const float* a, const float* v, ptrdiff_t k) noexcept nogil:
    cdef float[8] lanes = [0, 0, 0, 0, 0, 0, 0, 0]
    cdef f32x4 first = (<f32x4*>lanes)[0]
    cdef f32x4 second = first
    cdef ptrdiff_t full = k - k % 8
    cdef ptrdiff_t i
    cdef float low, high
    for i in range(0, full, 8):
        first = first + (<const f32x4*>(a + i))[0] * (<const f32x4*>(v + i))[0]
        second = second + (<const f32x4*>(a + i))[1] * (<const f32x4*>(v + i))[1]
    (<f32x4*>lanes)[0] = first
    (<f32x4*>lanes)[1] = second
    low = (lanes[0] + lanes[2]) + (lanes[4] + lanes[6])
    high = (lanes[1] + lanes[3]) + (lanes[5] + lanes[7])
    for i in range(full, k - k % 2, 2):
        low = low + a[i] * v[i]
        high = high + a[i + 1] * v[i + 1]
    low = low + high
    return low + a[k - 1] * v[k - 1] if k % 2 else low


cdef inline ptrdiff_t top_block(ptrdiff_t l1_bytes) noexcept nogil:
    """The longest stretch of k that Eigen sums at once, from the size of the L1 data cache."""
    return max(((l1_bytes - 256) / 80) & ~<ptrdiff_t>7, 8)


cdef inline ptrdiff_t k_block(ptrdiff_t k, ptrdiff_t m, ptrdiff_t n, ptrdiff_t top) noexcept nogil:
    if max(k, m, n) < 48 or k <= top:
        return k
    if k % top == 0:
        return top
    return top - 8 * ((top - 1 - k % top) / (8 * (k / top + 1)))


cdef inline float panel_sum(const float* a, const float* v, ptrdiff_t k, ptrdiff_t block, ptrdiff_t i, ptrdiff_t n, bint in_order) noexcept nogil:
    """Output i of n: stretches of k of at most `block`, whose sums are added."""
    cdef float total = 0
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t length
    while start < k:
        length = min(block, k - start)
        if in_order or i < n - n % 16:
            total = total + sum_in_order(a + start, v + start, length)
        elif i < n - n % 4:
            total = total + sum_even_odd(a + start, v + start, length)
        else:
            total = total + sum_by_eight(a + start, v + start, length)
        start += length
    return total


cdef inline void panel_row(
    const float* w, const float* x, ptrdiff_t first, ptrdiff_t n, ptrdiff_t k, ptrdiff_t block, ptrdiff_t j, ptrdiff_t m, float* y,
) noexcept nogil:
    """Row j of m: the outputs from `first` on are computed, those before are there; of all of them those that are NaN are computed again."""
    cdef ptrdiff_t i
    for i in range(first, n):
        y[i] = panel_sum(w + i * k, x, k, block, i, n, j >= m - m % 4)
    for i in range(n):
        if y[i] != y[i]:
            y[i] = nan_of_panel(w + i * k, x, k, block, i, n, j, m)


cdef inline void matrix_product_f32(
    const float* w, const float* x, float* y, ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, ptrdiff_t top, const RowKernels* fast=NULL,
) noexcept nogil:
    """y[j][i] = w[i] . x[j] for n rows of w and m rows of x. On aarch64 chains of products take denormals for zeros."""
    cdef ptrdiff_t m4 = m - m % 4
    cdef ptrdiff_t block = max(k_block(k, m, n, top), 1)
    cdef ptrdiff_t i, j
    cdef bint done
    cdef unsigned long long mode
    if AARCH64:
        if is_lane_product(n, k, m):
            for j in range(m):
                lane_products(w, n, k, x + j * k, y + j * n)
            return
        mode = flush_denormals()
        for j in range(m):
            chain_products(w, n, k, x + j * k, j, y + j * n)
        restore_denormals(mode)
        return
    if m == 1:
        matrix_vector_f32(w, n, k, x, False, y, fast)
        return
    if n == 1:
        matrix_vector_f32(x, m, k, w, False, y, fast)
        return
    if k + n + m < 20:
        for j in range(m):
            for i in range(n):
                y[j * n + i] = small_product(w + i * k, x + j * k, k)
                if y[j * n + i] != y[j * n + i]:
                    y[j * n + i] = nan_of_small(w + i * k, x + j * k, k)
        return
    done = fast != NULL and fast.multiply_panels(w, x, y, n, k, m, block)
    for j in range(m):
        panel_row(w, x + j * k, 0 if not done else n if j >= m4 else n - n % 4, n, k, block, j, m, y + j * n)
