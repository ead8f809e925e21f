"""CONV_3D and CONV_3D_TRANSPOSE on float32: images [batch, depth, height, width, channel].

CONV_3D's filter is [depth, height, width, input channel, output channel]; taps outside of the image are left out of the sums.
CONV_3D_TRANSPOSE's is [depth, height, width, output channel, input channel]; each input value is added to the outputs in the order of the input.

Source: LiteRT:tflite/kernels/internal/reference/{conv3d,conv3d_transpose}.h.
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.machine cimport plus_product
from tflm_cy.arithmetic.nan_order cimport add_first

cdef struct Volume:              # sizes by axis: depth, height, width
    ptrdiff_t batches
    ptrdiff_t[3] size            # of the input
    ptrdiff_t[3] out
    ptrdiff_t[3] kernel
    ptrdiff_t[3] stride
    ptrdiff_t[3] dilation
    ptrdiff_t[3] pad             # in front
    ptrdiff_t[3] pad_behind      # as the optimized transposed convolution sees it
    ptrdiff_t ic, oc
    float low, high


cdef struct Place:               # of an output: its image, and where its window begins, by axis
    ptrdiff_t image
    ptrdiff_t[3] first


cdef inline Place place_of(const Volume* v, ptrdiff_t position) noexcept nogil:
    """Positions are counted over images, depth, height and width."""
    cdef Place p
    cdef int axis
    for axis in range(2, -1, -1):
        p.first[axis] = position % v.out[axis] * v.stride[axis] - v.pad[axis]
        position //= v.out[axis]
    p.image = position
    return p


cdef inline const float* pixel_at(const Volume* v, const float* x, const Place* p, ptrdiff_t kd, ptrdiff_t kh, ptrdiff_t kw) noexcept nogil:
    """What a tap meets; NULL outside of the image."""
    cdef ptrdiff_t d = p.first[0] + kd * v.dilation[0]
    cdef ptrdiff_t h = p.first[1] + kh * v.dilation[1]
    cdef ptrdiff_t w = p.first[2] + kw * v.dilation[2]
    if d < 0 or d >= v.size[0] or h < 0 or h >= v.size[1] or w < 0 or w >= v.size[2]:
        return NULL
    return x + (((p.image * v.size[0] + d) * v.size[1] + h) * v.size[2] + w) * v.ic


cdef inline void copy_windows_3d(const Volume* v, const float* x, ptrdiff_t first, ptrdiff_t end, float* windows) noexcept nogil:
    """What the filter meets at some positions, one after the other, with zeros outside of the image."""
    cdef ptrdiff_t position, kd, kh, kw
    cdef const float* pixel
    cdef Place p
    for position in range(first, end):
        p = place_of(v, position)
        for kd in range(v.kernel[0]):
            for kh in range(v.kernel[1]):
                pixel = pixel_at(v, x, &p, kd, kh, 0)
                if pixel != NULL and v.dilation[2] == 1 and p.first[2] + v.kernel[2] <= v.size[2]:
                    memcpy(windows, pixel, v.kernel[2] * v.ic * sizeof(float))
                    windows += v.kernel[2] * v.ic
                    continue
                for kw in range(v.kernel[2]):
                    pixel = pixel_at(v, x, &p, kd, kh, kw)
                    if pixel == NULL:
                        memset(windows, 0, v.ic * sizeof(float))
                    else:
                        memcpy(windows, pixel, v.ic * sizeof(float))
                    windows += v.ic


cdef inline void conv_3d_f32(
    const Volume* v, const float* x, const float* w, const float* bias, ptrdiff_t first, ptrdiff_t end, float* sums, float* y,
) noexcept nogil:
    """Some positions, of which y is the first. sums: oc floats. bias: NULL when there is none."""
    cdef ptrdiff_t position, kd, kh, kw, c, o
    cdef const float* pixel
    cdef const float* row
    cdef float value
    cdef Place p
    for position in range(first, end):
        p = place_of(v, position)
        for o in range(v.oc):
            sums[o] = 0
        row = w
        for kd in range(v.kernel[0]):
            for kh in range(v.kernel[1]):
                for kw in range(v.kernel[2]):
                    pixel = pixel_at(v, x, &p, kd, kh, kw)
                    if pixel == NULL:
                        row += v.ic * v.oc
                        continue
                    for c in range(v.ic):
                        value = pixel[c]
                        for o in range(v.oc):
                            sums[o] = plus_product(sums[o], value, row[o])
                        row += v.oc
        for o in range(v.oc):
            y[o] = clamp_f32(sums[o] + (<float>0 if bias == NULL else bias[o]), v.low, v.high)
        y += v.oc


cdef inline void add_bias_3d(const Volume* v, const float* bias, float* y) noexcept nogil:
    """Of two NaN the sum's comes out."""
    cdef ptrdiff_t i, o
    for i in range(v.batches * v.out[0] * v.out[1] * v.out[2]):
        for o in range(v.oc):
            y[o] = clamp_f32(y[o] if bias == NULL else add_first(y[o], bias[o]), v.low, v.high)
        y += v.oc


cdef inline void transpose_conv_3d_f32(const Volume* v, const float* x, const float* w, const float* bias, float* y) noexcept nogil:
    cdef ptrdiff_t outputs = v.out[0] * v.out[1] * v.out[2]
    cdef ptrdiff_t b, id, ih, iw, kd, kh, kw, od, oh, ow, c, o
    cdef const float* row
    cdef float* out
    cdef float value
    memset(y, 0, v.batches * outputs * v.oc * sizeof(float))
    for b in range(v.batches):
        for id in range(v.size[0]):
            for ih in range(v.size[1]):
                for iw in range(v.size[2]):
                    for c in range(v.ic):
                        value = x[c]
                        row = w + c
                        for kd in range(v.kernel[0]):
                            od = id * v.stride[0] - v.pad[0] + kd * v.dilation[0]
                            for kh in range(v.kernel[1]):
                                oh = ih * v.stride[1] - v.pad[1] + kh * v.dilation[1]
                                for kw in range(v.kernel[2]):
                                    ow = iw * v.stride[2] - v.pad[2] + kw * v.dilation[2]
                                    if od >= 0 and od < v.out[0] and oh >= 0 and oh < v.out[1] and ow >= 0 and ow < v.out[2]:
                                        out = y + (b * outputs + (od * v.out[1] + oh) * v.out[2] + ow) * v.oc
                                        for o in range(v.oc):
                                            out[o] = plus_product(out[o], value, row[o * v.ic])
                                    row += v.oc * v.ic
                    x += v.ic
    add_bias_3d(v, bias, y)
