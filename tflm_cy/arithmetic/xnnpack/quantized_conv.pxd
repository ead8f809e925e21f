"""The convolutions on int8 and uint8 in XNNPACK's arithmetic, and with float32 activations quantized on the way (dynamic range).

    conv_8(&g, x, x_zero_point, w, w_zero_point, &out, patches, sums, y)              # also depthwise_8, transpose_conv_8
    conv_dynamic(&g, x, w, &out, image, patches, sums, y)                             # also transpose_conv_dynamic

The sums are those of the other arithmetics (arithmetic/{conv,depthwise,transpose_conv}.pxd), exact; what differs is how they become
outputs. In a dynamic convolution each image of the batch is one row to quantize.

Quirk (`lost`): SAME padding that would be negative in an axis, because the filter is smaller than the stride, is taken for an enormous
number, so that all taps lie outside of the image and each output is its bias. Filters of 1x1 are right.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.conv cimport position_sums
from tflm_cy.arithmetic.copy_runs cimport copy_on
from tflm_cy.arithmetic.depthwise cimport Taps, depthwise_sums, window_taps
from tflm_cy.arithmetic.multipliers cimport Requantize, Scaling
from tflm_cy.arithmetic.product_f32 cimport Run
from tflm_cy.arithmetic.product_s16 cimport LONGEST_8BIT, accumulate_one, shift_values, weight8
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.transpose_conv cimport transpose_runs
from tflm_cy.arithmetic.window cimport SAME
from tflm_cy.arithmetic.xnnpack.dynamic_range cimport quantize_row, scale_sums, steps_of
from tflm_cy.arithmetic.xnnpack.requantize cimport byte8
from tflm_cy.arithmetic.xnnpack.requantize_products cimport requantize_products


cdef inline bint lost(const ConvShape* g, int padding) noexcept nogil:
    cdef ptrdiff_t total_h = (g.oh - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1 - g.ih
    cdef ptrdiff_t total_w = (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1 - g.iw
    return padding == SAME and g.kh * g.kw > 1 and (total_h < 0 or total_w < 0)


cdef inline void only_bias_8(const ConvShape* g, const Requantize* out, int64_t* sums, byte8* y) noexcept nogil:
    """What a lost convolution gives: the same pixel everywhere."""
    cdef ptrdiff_t i
    if g.batches * g.oh * g.ow <= 0:
        return
    for i in range(g.oc):
        sums[i] = 0
    requantize_products(sums, out, g.oc, y)
    copy_on(<char*>y, g.oc, g.batches * g.oh * g.ow)


cdef inline void only_bias_dynamic(const ConvShape* g, const float* x, const Scaling* out, int64_t* sums, float* y) noexcept nogil:
    """Not even that where the range of an image makes NaN of a sum of 0."""
    cdef ptrdiff_t positions = g.oh * g.ow
    cdef ptrdiff_t size = g.ih * g.iw * g.ic
    cdef ptrdiff_t i
    if positions <= 0:
        return
    for i in range(g.oc):
        sums[i] = 0
    for i in range(g.batches):
        scale_sums(sums, steps_of(x + i * size, size, out.rows).inverse, out, g.oc, y)
        copy_on(<char*>y, g.oc * sizeof(float), positions)
        y += positions * g.oc


cdef inline void conv_8(
    const ConvShape* g, const byte8* x, int32_t x_zero_point, const weight8* w, int32_t w_zero_point, const Requantize* out,
    int16_t* patches, int64_t* sums, byte8* y,
) noexcept nogil:
    """w: rows of g.row values; patches: 2 * g.row; sums: 2 * oc."""
    cdef ptrdiff_t positions = g.oh * g.ow
    cdef ptrdiff_t n, position
    cdef int columns, i
    for n in range(g.batches):
        position = 0
        while position < positions:
            columns = 2 if position + 2 <= positions else 1
            position_sums(g, x, x_zero_point, w, w_zero_point, LONGEST_8BIT, position, columns, patches, sums)
            for i in range(columns):
                requantize_products(sums + i * g.oc, out, g.oc, y)
                y += g.oc
            position += columns
        x += g.ih * g.iw * g.ic


cdef inline void conv_dynamic(
    const ConvShape* g, const float* x, const int8_t* w, const Scaling* out, int16_t* image, int16_t* patches, int64_t* sums, float* y,
) noexcept nogil:
    """As conv_8; image: ih * iw * ic values."""
    cdef ptrdiff_t size = g.ih * g.iw * g.ic
    cdef ptrdiff_t positions = g.oh * g.ow
    cdef ptrdiff_t n, position
    cdef int32_t zero_point
    cdef float inverse
    cdef int columns, i
    for n in range(g.batches):
        inverse = quantize_row(x, size, out.rows, &zero_point, image)
        position = 0
        while position < positions:
            columns = 2 if position + 2 <= positions else 1
            position_sums(g, image, 0, w, 0, LONGEST_8BIT, position, columns, patches, sums)
            for i in range(columns):
                scale_sums(sums + i * g.oc, inverse, out, g.oc, y)
                y += g.oc
            position += columns
        x += size


cdef inline void depthwise_8(
    const ConvShape* g, const byte8* x, int32_t x_zero_point, const weight8* w, int32_t w_zero_point, const Requantize* out,
    uint32_t* sums, byte8* y,
) noexcept nogil:
    """w: [kh, kw, oc]; sums: oc."""
    cdef ptrdiff_t multiplier = g.oc / g.ic
    cdef ptrdiff_t n, oy, ox
    cdef Taps t
    for n in range(g.batches):
        for oy in range(g.oh):
            for ox in range(g.ow):
                t = window_taps(g, oy, ox)
                depthwise_sums(g, &t, multiplier, x, x_zero_point, w, w_zero_point, sums)
                requantize_products(sums, out, g.oc, y)
                y += g.oc
        x += g.ih * g.iw * g.ic


cdef inline void transpose_sums(
    const ConvShape* g, const int16_t* image, const weight8* w, const Run* runs, int count, int64_t* sums,
) noexcept nogil:
    """One output position over an image less its zero point."""
    cdef ptrdiff_t depth = g.kh * g.kw * g.ic
    cdef ptrdiff_t c
    cdef int r
    for c in range(g.oc):
        sums[c] = 0
    for r in range(count):
        accumulate_one(image + runs[r].x, w + runs[r].k, g.oc, depth, g.ic, LONGEST_8BIT, sums)


cdef inline void transpose_conv_8(
    const ConvShape* g, const byte8* x, int32_t x_zero_point, const weight8* w, const Requantize* out,
    Run* runs, int16_t* image, int64_t* sums, byte8* y,
) noexcept nogil:
    """w: rows of kh * kw * ic values, less their zero point; runs: kh * kw; image: ih * iw * ic; sums: oc."""
    cdef ptrdiff_t size = g.ih * g.iw * g.ic
    cdef ptrdiff_t n, oy, ox
    for n in range(g.batches):
        shift_values(x, size, x_zero_point, image)
        for oy in range(g.oh):
            for ox in range(g.ow):
                transpose_sums(g, image, w, runs, transpose_runs(g, oy, ox, runs), sums)
                requantize_products(sums, out, g.oc, y)
                y += g.oc
        x += size


cdef inline void transpose_conv_dynamic(
    const ConvShape* g, const float* x, const int8_t* w, const Scaling* out, Run* runs, int16_t* image, int64_t* sums, float* y,
) noexcept nogil:
    cdef ptrdiff_t size = g.ih * g.iw * g.ic
    cdef ptrdiff_t n, oy, ox
    cdef int32_t zero_point
    cdef float inverse
    for n in range(g.batches):
        inverse = quantize_row(x, size, out.rows, &zero_point, image)
        for oy in range(g.oh):
            for ox in range(g.ow):
                transpose_sums(g, image, w, runs, transpose_runs(g, oy, ox, runs), sums)
                scale_sums(sums, inverse, out, g.oc, y)
                y += g.oc
        x += size
