"""float32 CONV_2D with several threads: which sums Eigen's tensor contraction makes, whoever computes them.

    cdef Contraction c = plan_contraction(oc, depth, pixels, threads, gathered, cache_sizes())
    pack_contraction(&c, w, packed)                                     # oc * depth floats
    multiply_contraction(&c, packed, x[j], NULL, j, sums, NULL)         # one row of values, or two neighbours

With two threads or more, a filter that never changes and no dilation, TensorFlow multiplies by a contraction (n outputs, k values of a
window, m pixels) instead of by `product.pxd`. It estimates costs and takes one of four ways:

| way | sums |
| --- | --- |
| one pixel | in the order of k, over stretches of 16 (of 4 from 8,000 outputs on; whole below k = 128), which are added |
| one thread is enough | panels as in `product.pxd`, for every shape |
| threads share outputs or pixels | panels with stretches of k of at most 320; shared outputs come in blocks of a multiple of 4, each with panels of its own |
| threads share k | each computes panels over its part, in stretches of at most 320; four parts are added as (0 + 1) + (2 + 3), fewer in order |

So the bytes depend on the number of threads asked for and on the sizes of all three caches, but on nothing that happens while it runs.
A window of the image's own size without padding before it counts as one multiplication; TensorFlow then leaves the other pixels of an
output with more than one (2x2 filter, SAME, on 2x2) unwritten, which here are computed.

Source: Eigen's unsupported/Eigen/CXX11/src/Tensor/TensorContractionThreadPool.h, TensorCostModel.h and
Eigen/src/Core/products/GeneralBlockPanelKernel.h for AVX without fused multiply-add; 1,390 random convolutions with 2, 3, 4 and 8 threads.
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.eigen cimport k_block, top_block
from tflm_cy.arithmetic.optimized.cache cimport CacheSizes
from tflm_cy.arithmetic.optimized.conv cimport window_at
from tflm_cy.arithmetic.optimized.product cimport PANELS, Product, multiply_rows_eigen
from tflm_cy.arithmetic.product_f32 cimport finish_f32, pack_columns
from tflm_cy.arithmetic.shapes cimport ConvShape

cdef enum:                       # of Eigen's kernel with AVX
    MR = 16                      # outputs
    NR = 4                       # pixels
    PACKET = 8
    STRETCH = 320                # longest of k, with several threads
    GROUP = 4                    # parts of k that are added at once

cdef extern from *:
    """
    #define TFLM_CY_BYTE_CYCLES (11.0 / 64)
    """
    const double BYTE_CYCLES "TFLM_CY_BYTE_CYCLES"       # per byte that is read or written

cdef struct Contraction:
    ptrdiff_t n                  # outputs
    ptrdiff_t k
    ptrdiff_t m                  # pixels
    ptrdiff_t rows               # outputs of a block
    ptrdiff_t blocks             # of outputs
    ptrdiff_t part               # of k
    ptrdiff_t parts
    ptrdiff_t stretch            # of k within a part

cdef struct Blocks:              # of outputs, of k, of pixels
    ptrdiff_t n
    ptrdiff_t k
    ptrdiff_t m


cdef inline ptrdiff_t ceil_div(ptrdiff_t a, ptrdiff_t b) noexcept nogil:
    return (a + b - 1) / b


cdef inline ptrdiff_t round_up(ptrdiff_t a, ptrdiff_t b) noexcept nogil:
    return ceil_div(a, b) * b


# ---- blocks for several threads
cdef inline Blocks cache_blocks(
    ptrdiff_t k, ptrdiff_t sixteens, ptrdiff_t fours, int threads, const CacheSizes* cache, bint by_pixels,
) noexcept nogil:
    """Blocks of k, of the dimension that is cut in multiples of 16, and of the one in multiples of 4, which the threads share."""
    cdef Blocks b
    cdef ptrdiff_t k_cache = max(8, min((cache.l1 - MR * NR * 4) / (MR * 4 + NR * 4), STRETCH))
    cdef ptrdiff_t in_cache, each
    if k_cache < k:
        k = k_cache - k_cache % 8
    in_cache = (cache.l2 - cache.l1) / (NR * 4 * k)
    each = ceil_div(fours, threads)
    if in_cache <= each:
        fours = max(in_cache - in_cache % NR, NR)
    else:
        fours = min(fours, round_up(each, NR))
    if cache.l3 > cache.l2:
        in_cache = (cache.l3 - cache.l2) / (4 * k * threads)
        each = ceil_div(sixteens, threads)
        if in_cache < each and in_cache >= MR:
            sixteens = in_cache - in_cache % MR
        else:
            sixteens = min(sixteens, round_up(each, MR))
    b.k = k
    b.n = sixteens if by_pixels else fours
    b.m = fours if by_pixels else sixteens
    return b


cdef inline Blocks blocks_for(const Contraction* c, int threads, const CacheSizes* cache, bint by_pixels) noexcept nogil:
    if by_pixels:
        return cache_blocks(c.k, c.n, c.m, threads, cache, True)
    return cache_blocks(c.k, c.m, c.n, threads, cache, False)


cdef inline bint shares_pixels(const Contraction* c, int threads) noexcept nogil:
    """True when the threads would share the pixels, False when the outputs."""
    cdef ptrdiff_t n = c.n / threads
    cdef ptrdiff_t m = c.m / threads
    cdef bint even = c.m % (threads * NR) == 0
    if n >= NR and (m < NR or (m < 4 * NR and not even and (c.n % (threads * NR) == 0 or c.n / c.m >= 6))):
        return False
    return not (m < 16 * NR and c.n > c.m * 32)


# ---- estimated cycles
cdef inline double bandwidth(ptrdiff_t fours, ptrdiff_t sixteens, ptrdiff_t k) noexcept nogil:
    if k == 1:
        return 4
    return 2 if fours < NR or sixteens < MR else 1


cdef inline int threads_for(const Contraction* c, int threads, double gathering, const CacheSizes* cache) noexcept nogil:
    """How many threads sharing outputs or pixels are worth their start."""
    cdef bint by_pixels = shares_pixels(c, 2)
    cdef Blocks b = blocks_for(c, 2, cache, by_pixels)
    cdef double k = <double>b.k
    cdef double compute = k * bandwidth(b.n, b.m, b.k) / PACKET + gathering * (k / c.n)
    cdef double loads = 4 * (k / c.n) if by_pixels else 4 * (k / c.m)
    cdef double cycles = (<double>c.m * c.n) * (BYTE_CYCLES * loads + BYTE_CYCLES * 4 + compute)
    cdef double wanted = min((cycles - 100000) / 100000 + 0.9, <double>threads)
    return max(1, <int>wanted)


cdef inline int threads_for_k(const Contraction* c, int threads, double gathering) noexcept nogil:
    cdef double compute = (bandwidth(c.m, c.n, c.k) * c.n) * c.m / PACKET + gathering * c.m
    cdef double whole = c.k * (BYTE_CYCLES * (4.0 * c.m) + BYTE_CYCLES * 4 + compute)
    cdef double reduction = (<double>c.m * c.n) * (BYTE_CYCLES * 2 + BYTE_CYCLES + 1.0 / PACKET)
    cdef double least = whole
    cdef double cycles
    cdef int best = 1
    cdef int t
    for t in range(2, threads + 1, 2):
        cycles = whole / t + (100000 + t * (reduction + 3000))
        if cycles < least:
            best = t
            least = cycles
    return best


cdef inline bint shares_k(const Contraction* c, int threads, int threads_k, const CacheSizes* cache) noexcept nogil:
    cdef ptrdiff_t each = c.k / threads_k
    if c.m == 1 or threads_k < 2 or threads_k < threads or c.n * c.m * 4 > cache.l3 / threads_k or each < 2 * NR:
        return False
    return max(c.n, c.m) / threads < NR or (each > 8 * NR and (min(c.n, c.m) < 2 * NR or threads_k > threads))


# ---- the way
cdef inline Contraction plan_contraction(
    ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, int threads, bint gathered, CacheSizes cache,
) noexcept nogil:
    """gathered: the pixels' values are windows of an image, not rows that lie in memory."""
    cdef Contraction c
    cdef Blocks b
    cdef double gathering = 86.0 / PACKET if gathered else 0
    cdef int shared, shared_k
    cdef bint by_pixels
    c.n, c.k, c.m = n, k, m
    c.rows, c.blocks, c.part, c.parts = n, 1, k, 1
    c.stretch = max(k_block(k, m, n, top_block(cache.l1)), 1)
    if n == 0 or k == 0 or m == 0:
        return c
    shared = threads_for(&c, threads, gathering, &cache)
    shared_k = threads_for_k(&c, threads, gathering)
    if shares_k(&c, shared, shared_k, &cache):
        c.part = min(k, max(12 * PACKET, round_up(ceil_div(k, shared_k), 8)))
        c.parts = ceil_div(k, c.part)
        if c.parts > 1:
            c.stretch = cache_blocks(c.part, n, m, <int>c.parts, &cache, True).k
    elif m == 1:
        if k >= 128:
            c.stretch = 16 if n * 4 < 32000 else 4
    elif shared > 1:
        by_pixels = shares_pixels(&c, shared)
        b = blocks_for(&c, shared, &cache, by_pixels)
        c.stretch = b.k
        if not by_pixels:
            c.rows = b.n
            c.blocks = ceil_div(n, c.rows)
    return c


cdef inline Product piece(const Contraction* c, ptrdiff_t block, ptrdiff_t part) noexcept nogil:
    """The panels of one block of outputs over one part of k."""
    cdef Product p
    p.n = min(c.rows, c.n - block * c.rows)
    p.k = min(c.part, c.k - part * c.part)
    p.m = c.m
    p.block = c.stretch
    p.method = PANELS
    return p


cdef inline void pack_contraction(const Contraction* c, const float* w, float* packed) noexcept nogil:
    """Piece after piece: the panels, then the last outputs as they are, so that output i of those lies at i * its k."""
    cdef Product p
    cdef const float* first
    cdef ptrdiff_t part, block, i, n4
    for part in range(c.parts):
        for block in range(c.blocks):
            p = piece(c, block, part)
            first = w + block * c.rows * c.k + part * c.part
            n4 = p.n - p.n % 4
            pack_columns(first, n4, p.k, c.k, 1, packed)
            for i in range(n4, p.n):
                memcpy(packed + i * p.k, first + i * c.k, p.k * sizeof(float))
            packed += p.n * p.k


cdef inline float four_sums(const float* v, ptrdiff_t distance, bint tail) noexcept nogil:
    """The sum of four values; `tail`: one of the last, which Eigen adds without vectors."""
    cdef float a = v[distance]
    cdef float b = v[2 * distance]
    cdef float c = v[3 * distance]
    return v[0] + ((a + b) + c) if tail else (v[0] + a) + (b + c)


cdef inline void add_parts(const Contraction* c, ptrdiff_t j, float* sums) noexcept nogil:
    """The sums of all parts of k, n floats each, into the first: in groups of four, then four groups at once."""
    cdef ptrdiff_t vectors = c.n * c.m - c.n * c.m % PACKET - j * c.n     # of this row's outputs
    cdef ptrdiff_t groups = ceil_div(c.parts, GROUP)
    cdef ptrdiff_t step = GROUP * c.n
    cdef ptrdiff_t i, g, part
    cdef float* v
    cdef float* group
    for i in range(c.n):
        v = sums + i
        for g in range(groups):
            group = v + g * step
            if GROUP * (g + 1) <= c.parts:
                group[0] = four_sums(group, c.n, i >= vectors)
            else:
                for part in range(1, c.parts - GROUP * g):
                    group[0] = group[0] + group[part * c.n]
        g = 1
        while g + 2 < groups:
            v[(g - 1) * step] = v[0]
            v[0] = four_sums(v + (g - 1) * step, step, i >= vectors)
            g += 3
        while g < groups:
            v[0] = v[0] + v[g * step]
            g += 1


cdef inline void multiply_contraction(
    const Contraction* c, const float* packed, const float* x, const float* x2, ptrdiff_t j, float* sums, float* sums2,
) noexcept nogil:
    """Row j of the values, and row j + 1 unless x2 is NULL: then j must be even. Room for parts * n floats each, also without a second row."""
    cdef Product p
    cdef ptrdiff_t part, block, at
    for part in range(c.parts):
        for block in range(c.blocks):
            p = piece(c, block, part)
            at = part * c.n + block * c.rows
            multiply_rows_eigen(
                &p, packed, packed, x + part * c.part, NULL if x2 == NULL else x2 + part * c.part, j, sums + at, sums2 + at)
            packed += p.n * p.k
    if c.parts > 1:
        add_parts(c, j, sums)
        if x2 != NULL:
            add_parts(c, j + 1, sums2)


cdef inline void conv_f32_contraction(
    const ConvShape* g, const Contraction* c, const float* x, const float* packed, const float* bias, float low, float high,
    float* patches, float* sums, float* y,
) noexcept nogil:
    """patches: 2 windows; sums: 2 * parts * oc floats."""
    cdef float* sums2 = sums + c.parts * c.n
    cdef const float* first
    cdef const float* second
    cdef ptrdiff_t j = 0
    while j < c.m:
        first = window_at(g, x, j, patches)
        second = window_at(g, x, j + 1, patches + c.k) if j + 1 < c.m else NULL
        multiply_contraction(c, packed, first, second, j, sums, sums2)
        finish_f32(sums, bias, c.n, low, high, y)
        if second != NULL:
            finish_f32(sums2, bias, c.n, low, high, y + c.n)
        y += 2 * c.n
        j += 2
