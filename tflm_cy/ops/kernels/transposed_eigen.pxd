"""TRANSPOSE_CONV in float32 as the optimized kernels compute it (arithmetic/optimized/conv.pxd): products of pixels with the whole filter, added up.

    prepare_eigen(context, &op.eigen, &shape, pixels, w)                     # prepare; pixels: of an image in memory
    run_eigen(context, &op.eigen, &shape, x, w, bias, low, high, y)          # invoke; w: what is fed

By the vector kernel of pixel_products.pxd, or by the definition.
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memset

from tflm_cy.arithmetic.bias_rows cimport finish_rows
from tflm_cy.arithmetic.eigen cimport top_block
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.arithmetic.optimized.conv cimport order_by_tap, scatter, transpose_conv_f32_eigen
from tflm_cy.arithmetic.optimized.product cimport Product, pack_panels, packed_panels, plan_product
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.ops.kernels.pixel_products cimport PixelProducts, multiply_pixels, pack_pixel_products, plan_pixel_products

cdef struct TransposedEigen:
    PixelProducts products
    float* ordered               # the filter by taps; for the definition with room for the packed one behind; NULL when it is fed
    int packing                  # scratch, then
    int sums                     # scratch: the definition's


cdef inline int prepare_eigen(Context context, TransposedEigen* op, const ConvShape* g, ptrdiff_t pixels, Tensor* w) except -1:
    cdef Product product = plan_product(g.kh * g.kw * g.oc, g.ic, pixels, top_block(l1_data_bytes()))
    cdef ptrdiff_t size = product.n * product.k
    plan_pixel_products(context, &op.products, product)
    if not op.products.served:
        size += packed_panels(&product)
        op.sums = context.request_scratch(2 * sizeof(float) * product.n)
    if is_constant(w):
        op.ordered = <float*>context.unfilled(sizeof(float) * size)
        order_filter(op, g, <const float*>w.data, op.ordered)
    else:
        op.ordered = NULL
        op.packing = context.request_scratch(sizeof(float) * size)
    return 0


cdef inline void order_filter(TransposedEigen* op, const ConvShape* g, const float* w, float* ordered) noexcept nogil:
    cdef const Product* product = &op.products.product
    order_by_tap(w, g.oc, g.kh * g.kw, g.ic, ordered)
    if op.products.served:
        pack_pixel_products(&op.products, ordered)
    else:
        pack_panels(product, ordered, ordered + product.n * product.k)


cdef inline void run_eigen(
    Context context, TransposedEigen* op, const ConvShape* g, const float* x, const float* w, const float* bias, float low, float high, float* y,
) noexcept nogil:
    cdef const Product* product = &op.products.product
    cdef ptrdiff_t size = g.oh * g.ow * g.oc
    cdef ptrdiff_t pixels = min(product.m, g.ih * g.iw)
    cdef float* ordered = op.ordered
    cdef ptrdiff_t first, end
    if ordered == NULL:
        ordered = <float*>context.scratch(op.packing)
        order_filter(op, g, w, ordered)
    if not op.products.served:
        transpose_conv_f32_eigen(
            g, product, x, ordered, ordered + product.n * product.k, bias, low, high, <float*>context.scratch(op.sums), y)
        return
    memset(y, 0, g.batches * size * sizeof(float))
    for _ in range(g.batches):
        first = 0
        while first < pixels:
            end = min(first + op.products.together, pixels)
            scatter(g, multiply_pixels(context, &op.products, ordered, x, first, end), first, end, y)
            first = end
        finish_rows(bias, g.oh * g.ow, g.oc, low, high, True, y)
        x += product.m * product.k
        y += size
