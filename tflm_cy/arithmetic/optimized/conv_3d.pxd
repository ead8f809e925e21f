"""CONV_3D and CONV_3D_TRANSPOSE as the optimized kernels compute them.

CONV_3D takes ruy's float product, since its filter is stored by columns: each output is a chain of fused multiply-adds over the whole window,
zeros for the taps outside, which begins with the bias; NaN becomes the upper limit (ruy chooses its kernels at run time; on CPUs without fused
multiply-add it would round twice). On aarch64 the chain begins with 0, the bias is added to it, and NaN stays.
CONV_3D_TRANSPOSE multiplies every pixel with the whole filter in Eigen's order, and adds the products to the output in the order of the pixels; the padding
behind the depth is reckoned from that of the height, so that planes of the input are left out where the two differ.

Source: LiteRT:tflite/kernels/internal/optimized/{optimized_ops,im2col_utils}.h, google/ruy:ruy/kernel_avx512.cc.
"""
from libc.math cimport fmaf
from libc.stddef cimport ptrdiff_t
from libc.string cimport memset

from tflm_cy.arithmetic.bias_rows cimport finish_rows
from tflm_cy.arithmetic.conv_3d cimport Place, Volume, pixel_at, place_of
from tflm_cy.arithmetic.eigen cimport matrix_product_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport add_runs
from tflm_cy.arithmetic.product_ruy cimport in_order, last_group


cdef inline void conv_3d_f32_fused(
    const Volume* v, const float* x, const float* w, const float* bias, ptrdiff_t first, ptrdiff_t end, float* sums, float* y,
) noexcept nogil:
    """Some positions, of which y is the first. sums: oc floats. bias: NULL when there is none.

    On aarch64 the value at `last` is held, and added behind the three after it, where the matrix library does so (product_ruy.pxd).
    """
    cdef ptrdiff_t depth = v.kernel[0] * v.kernel[1] * v.kernel[2] * v.ic
    cdef ptrdiff_t last = last_group(depth) if AARCH64 else depth
    cdef ptrdiff_t position, kd, kh, kw, c, o, k
    cdef const float* pixel
    cdef const float* row
    cdef float value
    cdef float held = 0
    cdef Place p
    for position in range(first, end):
        k = 0
        p = place_of(v, position)
        for o in range(v.oc):
            sums[o] = <float>0 if bias == NULL or AARCH64 else bias[o]
        row = w
        for kd in range(v.kernel[0]):
            for kh in range(v.kernel[1]):
                for kw in range(v.kernel[2]):
                    pixel = pixel_at(v, x, &p, kd, kh, kw)
                    for c in range(v.ic):
                        value = <float>0 if pixel == NULL else pixel[c]
                        held = value if k == last else held
                        for o in range(v.oc):
                            if k != last or in_order(o, position):
                                sums[o] = fmaf(value, row[o], sums[o])
                            if k == last + 3 and not in_order(o, position):
                                sums[o] = fmaf(held, row[o - 3 * v.oc], sums[o])
                        row += v.oc
                        k += 1
        for o in range(v.oc if AARCH64 and bias != NULL else 0):
            sums[o] = sums[o] + bias[o]
        clamp_sums(v, sums, 1, y)
        y += v.oc


cdef inline void clamp_sums(const Volume* v, const float* sums, ptrdiff_t positions, float* y) noexcept nogil:
    """y may be the sums. Of NaN, too: the upper limit, but not on aarch64."""
    cdef float low = v.low
    cdef float high = v.high
    cdef ptrdiff_t i
    cdef float value
    for i in range(positions * v.oc):
        if AARCH64 and sums[i] != sums[i]:
            y[i] = sums[i]
            continue
        value = sums[i] if sums[i] < high else high
        y[i] = value if value > low else low


cdef inline ptrdiff_t planes_of(const Volume* v, int axis) noexcept nogil:
    """How many of the input's planes, rows or columns are added to the output."""
    cdef ptrdiff_t planes = (v.out[axis] + v.pad[axis] + v.pad_behind[axis] - v.kernel[axis]) // v.stride[axis] + 1
    return planes


cdef inline void add_patches(const Volume* v, const float* products, ptrdiff_t first, ptrdiff_t end, float* y) noexcept nogil:
    """The products of some pixels of one image, to its output. They are taken one after the other, however many there are in a row; the taps of a
    filter row lie together in the output, too."""
    cdef ptrdiff_t rows = planes_of(v, 1)
    cdef ptrdiff_t columns = planes_of(v, 2)
    cdef ptrdiff_t w, h, d, left, before, taps, kd, kh, od, oh
    cdef float* out
    end = min(end, planes_of(v, 0) * rows * columns)
    if first >= end:
        return
    w = first % columns
    h = first / columns % rows
    d = first / columns / rows * v.stride[0] - v.pad[0]
    while first < end:
        left = w * v.stride[2] - v.pad[2]
        before = min(max(-left, 0), v.kernel[2])
        taps = min(v.kernel[2], v.out[2] - left) - before
        for kd in range(v.kernel[0]):
            od = d + kd
            for kh in range(v.kernel[1]):
                oh = h * v.stride[1] - v.pad[1] + kh
                if taps > 0 and 0 <= od < v.out[0] and 0 <= oh < v.out[1]:
                    out = y + ((od * v.out[1] + oh) * v.out[2] + left + before) * v.oc
                    add_runs(products + before * v.oc, out, out, taps * v.oc)
                products += v.kernel[2] * v.oc
        first += 1
        w += 1
        if w == columns:
            w = 0
            h += 1
        if h == rows:
            h = 0
            d += v.stride[0]


cdef inline void transpose_conv_3d_f32_eigen(
    const Volume* v, const float* x, const float* w, const float* bias, ptrdiff_t top, float* products, float* y,
) noexcept nogil:
    """products: a value per input pixel, tap and output channel."""
    cdef ptrdiff_t inputs = v.size[0] * v.size[1] * v.size[2]
    cdef ptrdiff_t outputs = v.out[0] * v.out[1] * v.out[2] * v.oc
    cdef ptrdiff_t b
    memset(y, 0, v.batches * outputs * sizeof(float))
    for b in range(v.batches):
        matrix_product_f32(w, x + b * inputs * v.ic, products, v.kernel[0] * v.kernel[1] * v.kernel[2] * v.oc, v.ic, inputs, top)
        add_patches(v, products, 0, inputs, y + b * outputs)
    finish_rows(bias, v.batches * v.out[0] * v.out[1] * v.out[2], v.oc, v.low, v.high, False, y)
