"""float32 convolutions as the optimized kernels compute them: products in Eigen's order (`product.pxd`) of whole windows.

CONV_2D gathers each window, zeros for the taps outside of the image, which take part in the sum (0 * infinity is NaN). TRANSPOSE_CONV
multiplies every pixel with the whole filter, in the order (fy, fx, output channel), and adds the products to the output in the order of
the pixels. DEPTHWISE_CONV_2D (`depthwise.pxd`) starts its sums with the bias.

Source: LiteRT:tflite/kernels/internal/optimized/optimized_ops.h.
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.bias_rows cimport finish_rows
from tflm_cy.arithmetic.nan_order cimport add_runs
from tflm_cy.arithmetic.optimized.product cimport (
    Product, enter_product, finish_eigen, leave_product, multiply_rows_eigen, pack_panels,
)
from tflm_cy.arithmetic.shapes cimport ConvShape, end_tap, first_tap


cdef inline void gather_window(const ConvShape* g, const float* image, ptrdiff_t oy, ptrdiff_t ox, float* patch) noexcept nogil:
    """The window's values in the order of the filter."""
    cdef ptrdiff_t y = oy * g.stride_h - g.pad_h
    cdef ptrdiff_t x = ox * g.stride_w - g.pad_w
    cdef ptrdiff_t fx0 = first_tap(x, g.dilation_w)
    cdef ptrdiff_t fx1 = end_tap(x, g.dilation_w, g.iw, g.kw)
    cdef ptrdiff_t row_size = g.kw * g.ic
    cdef ptrdiff_t fy, fx, iy
    cdef const float* row
    for fy in range(g.kh):
        iy = y + fy * g.dilation_h
        if iy < 0 or iy >= g.ih or fx0 >= fx1:
            memset(patch, 0, row_size * sizeof(float))
            patch += row_size
            continue
        row = image + (iy * g.iw + x) * g.ic
        memset(patch, 0, fx0 * g.ic * sizeof(float))
        if g.dilation_w == 1:
            memcpy(patch + fx0 * g.ic, row + fx0 * g.ic, (fx1 - fx0) * g.ic * sizeof(float))
        else:
            for fx in range(fx0, fx1):
                memcpy(patch + fx * g.ic, row + fx * g.dilation_w * g.ic, g.ic * sizeof(float))
        memset(patch + fx1 * g.ic, 0, (row_size - fx1 * g.ic) * sizeof(float))
        patch += row_size


cdef inline const float* window_at(const ConvShape* g, const float* x, ptrdiff_t position, float* patch) noexcept nogil:
    """The window of an output position, counted over all images: in place when it is one pixel."""
    cdef ptrdiff_t image = position / (g.oh * g.ow)
    cdef ptrdiff_t oy = position / g.ow % g.oh
    cdef ptrdiff_t ox = position % g.ow
    if g.kh == 1 and g.kw == 1:
        return x + ((image * g.ih + oy * g.stride_h) * g.iw + ox * g.stride_w) * g.ic
    gather_window(g, x + image * g.ih * g.iw * g.ic, oy, ox, patch)
    return patch


cdef inline void conv_f32_eigen(
    const ConvShape* g, const Product* p, const float* x, const float* w, const float* packed, const float* bias, float low, float high,
    float* patches, float* sums, float* y,
) noexcept nogil:
    """patches: 2 windows; sums: 2 * oc floats."""
    cdef const float* first
    cdef const float* second
    cdef ptrdiff_t j = 0
    cdef unsigned long long mode = enter_product(p)
    while j < p.m:
        first = window_at(g, x, j, patches)
        second = window_at(g, x, j + 1, patches + p.k) if j + 1 < p.m else NULL
        multiply_rows_eigen(p, w, packed, first, second, j, sums, sums + p.n)
        finish_eigen(sums, bias, p.n, low, high, y)
        if second != NULL:
            finish_eigen(sums + p.n, bias, p.n, low, high, y + p.n)
        y += 2 * p.n
        j += 2
    leave_product(p, mode)


cdef inline void conv_f32_eigen_slices(
    const ConvShape* g, const Product* p, const float* x, const float* w, const float* bias, float low, float high, float* packed,
    float* patches, float* sums, float* y,
) noexcept nogil:
    """conv_f32_eigen for panels, sixteen output channels after the other, with little memory: packed: 16 * k floats; sums: 32."""
    cdef Product some = p[0]
    cdef ptrdiff_t first, j
    cdef const float* at
    cdef const float* next_at
    for first in range(0, p.n, 16):
        some.n = min(16, p.n - first)
        pack_panels(&some, w + first * p.k, packed)
        for j in range(0, p.m, 2):
            at = window_at(g, x, j, patches)
            next_at = window_at(g, x, j + 1, patches + p.k) if j + 1 < p.m else NULL
            multiply_rows_eigen(&some, w + first * p.k, packed, at, next_at, j, sums, sums + 16)
            finish_eigen(sums, bias + first, some.n, low, high, y + j * p.n + first)
            if next_at != NULL:
                finish_eigen(sums + 16, bias + first, some.n, low, high, y + (j + 1) * p.n + first)


cdef inline void scatter(const ConvShape* g, const float* products, ptrdiff_t first, ptrdiff_t end, float* y) noexcept nogil:
    """Adds the products of some pixels to one image of the output; of two NaN the product's comes out. The taps of a filter row lie together there, too."""
    cdef ptrdiff_t top = first / g.iw * g.stride_h - g.pad_h
    cdef ptrdiff_t ix = first % g.iw
    cdef ptrdiff_t pixel, left, before, taps, fy
    cdef float* out
    for pixel in range(first, end):
        left = ix * g.stride_w - g.pad_w
        before = min(max(-left, 0), g.kw)
        taps = min(g.kw, g.ow - left) - before
        for fy in range(g.kh if taps > 0 else 0):
            if 0 <= top + fy < g.oh:
                out = y + ((top + fy) * g.ow + left + before) * g.oc
                add_runs(products + (fy * g.kw + before) * g.oc, out, out, taps * g.oc)
        products += g.kh * g.kw * g.oc
        ix += 1
        if ix == g.iw:
            ix = 0
            top += g.stride_h


cdef inline void transpose_conv_f32_eigen(
    const ConvShape* g, const Product* p, const float* x, const float* w, const float* packed, const float* bias, float low, float high,
    float* sums, float* y,
) noexcept nogil:
    """p: of one image, with kh * kw * oc rows of weights; sums: 2 of them. g may have fewer pixels: the others are not added."""
    cdef ptrdiff_t size = g.oh * g.ow * g.oc
    cdef ptrdiff_t read = g.ih * g.iw
    cdef ptrdiff_t image, j, count
    cdef unsigned long long mode
    memset(y, 0, g.batches * size * sizeof(float))
    for image in range(g.batches):
        for j in range(0, p.m, 2):
            count = min(<ptrdiff_t>2, p.m - j)
            mode = enter_product(p)
            multiply_rows_eigen(p, w, packed, x, x + p.k if count > 1 else NULL, j, sums, sums + p.n)
            leave_product(p, mode)
            scatter(g, sums, j, min(j + count, read), y)
            x += count * p.k
        finish_rows(bias, g.oh * g.ow, g.oc, low, high, True, y)
        y += size


cdef inline void order_by_tap(const float* w, ptrdiff_t oc, ptrdiff_t taps, ptrdiff_t ic, float* ordered) noexcept nogil:
    """Filters [output channel, tap, channel] to [tap, output channel, channel]."""
    cdef ptrdiff_t c, t
    for c in range(oc):
        for t in range(taps):
            memcpy(ordered + (t * oc + c) * ic, w + (c * taps + t) * ic, ic * sizeof(float))
