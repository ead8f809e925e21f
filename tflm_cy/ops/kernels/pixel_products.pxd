"""Products of pixels with whole filters in Eigen's order, as the optimized transposed convolutions make them before they add them up.

    plan_pixel_products(context, &op.products, product)                      # prepare
    pack_pixel_products(&op.products, w)                                     # before the first run, and whenever a fed filter is another one
    multiply_pixels(context, &op.products, w, x, first, end)                 # returns the products of some pixels of an image, `product.n` each

`served` says whether a vector kernel computes them: panels (arithmetic/optimized/product.pxd) of weights that are packed once. Else the definition does.
"""
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.eigen cimport panel_row
from tflm_cy.arithmetic.optimized.product cimport PANELS, Product
from tflm_cy.arithmetic.shapes cimport matrix_shape
from tflm_cy.graph.context cimport Context
from tflm_cy.ops.kernels.packed cimport plan_packed, reserve_packed
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused

cdef enum:
    TOGETHER_FLOATS = 8192       # of products that are made at a time, about
    TOGETHER_PIXELS = 16         # a multiple of so many pixels

cdef struct PixelProducts:
    Product product              # of one image
    ConvF32Unfused fast
    bint served
    bint packed
    ptrdiff_t together           # pixels
    int scratch


cdef inline int plan_pixel_products(Context context, PixelProducts* p, Product product) except -1:
    cdef ConvF32Unfused* c = &p.fast
    p.product = product
    p.served = p.packed = False
    if product.method != PANELS:
        return 0
    p.together = min(max(TOGETHER_FLOATS / product.n / TOGETHER_PIXELS, <ptrdiff_t>1) * TOGETHER_PIXELS, product.m)
    c.window.shape = matrix_shape(product.m, product.k, product.n)
    c.window.low, c.window.high = -INFINITY, INFINITY
    c.panels = True
    c.block = product.block
    c.bias = <const float*>context.persistent(product.n * sizeof(float))
    c.column_stride, c.k_stride = product.k, 1
    if not plan_packed(c):
        return 0
    reserve_packed(context, c)
    p.served = True
    p.scratch = context.request_scratch(p.together * product.n * sizeof(float) + 64 + c.scratch_bytes)
    return 0


cdef inline void pack_pixel_products(PixelProducts* p, const float* w) noexcept nogil:
    """w: `n` rows of `k` weights."""
    p.packed = True
    p.fast.pack(&p.fast, w)


cdef inline const float* multiply_pixels(
    Context context, const PixelProducts* p, const float* w, const float* x, ptrdiff_t first, ptrdiff_t end,
) noexcept nogil:
    """x: of the image; end - first: at most `together`."""
    cdef ConvF32Unfused c = p.fast
    cdef ptrdiff_t n = p.product.n
    cdef ptrdiff_t k = p.product.k
    cdef ptrdiff_t m = p.product.m
    cdef float* y = <float*>context.scratch(p.scratch)
    cdef ptrdiff_t i
    c.window.shape.batches = end - first
    c.last_positions = min(max(m - m % 4 - first, <ptrdiff_t>0), end - first)
    if p.fast.run(&c, x + first * k, y + (p.together * n + 15) / 16 * 16, y):       # which NaN?
        for i in range(first, end):
            panel_row(w, x + i * k, n, n, k, p.product.block, i, m, y + (i - first) * n)
    return y
