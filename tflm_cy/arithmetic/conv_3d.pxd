"""CONV_3D and CONV_3D_TRANSPOSE on float32: images [batch, depth, height, width, channel].

CONV_3D's filter is [depth, height, width, input channel, output channel]; taps outside of the image are left out of the sums.
CONV_3D_TRANSPOSE's is [depth, height, width, output channel, input channel]; each input value is added to the outputs in the order of the input.

On aarch64 products are fused with their sum. With one output channel the weights of a tap lie together: that compiler makes blocks of
eight of them, which it must not fuse (product_f32.pxd).

Source: LiteRT:tflite/kernels/internal/reference/{conv3d,conv3d_transpose}.h.
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.bias_rows cimport finish_rows
from tflm_cy.arithmetic.copy_runs cimport copy_runs
from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.machine cimport AARCH64, plus_product
from tflm_cy.arithmetic.nan_order cimport add_after, add_first, mul_first
from tflm_cy.arithmetic.product_f32 cimport whole_eights

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


cdef inline void next_row(const Volume* v, Place* p) noexcept nogil:
    """The place in the next of the output's rows, of the same column."""
    cdef int axis
    for axis in range(1, -1, -1):
        p.first[axis] += v.stride[axis]
        if p.first[axis] < v.out[axis] * v.stride[axis] - v.pad[axis]:
            return
        p.first[axis] = -v.pad[axis]
    p.image += 1


cdef inline const float* pixel_at(const Volume* v, const float* x, const Place* p, ptrdiff_t kd, ptrdiff_t kh, ptrdiff_t kw) noexcept nogil:
    """What a tap meets; NULL outside of the image."""
    cdef ptrdiff_t d = p.first[0] + kd * v.dilation[0]
    cdef ptrdiff_t h = p.first[1] + kh * v.dilation[1]
    cdef ptrdiff_t w = p.first[2] + kw * v.dilation[2]
    if d < 0 or d >= v.size[0] or h < 0 or h >= v.size[1] or w < 0 or w >= v.size[2]:
        return NULL
    return x + (((p.image * v.size[0] + d) * v.size[1] + h) * v.size[2] + w) * v.ic


cdef inline bint is_pointwise_3d(const Volume* v) noexcept nogil:
    """Windows are the input's pixels, in their order."""
    cdef int axis
    for axis in range(3):
        if v.kernel[axis] != 1 or v.stride[axis] != 1 or v.pad[axis] != 0 or v.out[axis] != v.size[axis]:
            return False
    return True


cdef struct Inside:              # windows left .. right - 1 of a row lie within the image
    ptrdiff_t left
    ptrdiff_t right


cdef inline Inside windows_inside(const Volume* v) noexcept nogil:
    cdef Inside row
    cdef ptrdiff_t last = v.size[2] + v.pad[2] - ((v.kernel[2] - 1) * v.dilation[2] + 1)
    row.left = min((v.pad[2] + v.stride[2] - 1) / v.stride[2], v.out[2])
    row.right = max(row.left, min(last / v.stride[2] + 1, v.out[2]) if last >= 0 else 0)
    return row


cdef inline void copy_edge(const Volume* v, const float* row, ptrdiff_t column, float* window) noexcept nogil:
    """One filter row, some of whose taps lie beside the image; `column` is where the first one is. row: NULL when all are outside."""
    cdef ptrdiff_t before, behind, kw
    if row == NULL:
        memset(window, 0, v.kernel[2] * v.ic * sizeof(float))
        return
    if v.dilation[2] == 1:
        before = min(max(-column, 0), v.kernel[2])
        behind = max(before, min(v.size[2] - column, v.kernel[2]))
        memset(window, 0, before * v.ic * sizeof(float))
        memcpy(window + before * v.ic, row + (column + before) * v.ic, (behind - before) * v.ic * sizeof(float))
        memset(window + behind * v.ic, 0, (v.kernel[2] - behind) * v.ic * sizeof(float))
        return
    for kw in range(v.kernel[2]):
        if 0 <= column < v.size[2]:
            memcpy(window, row + column * v.ic, v.ic * sizeof(float))
        else:
            memset(window, 0, v.ic * sizeof(float))
        window += v.ic
        column += v.dilation[2]


cdef inline void copy_inside(const Volume* v, const float* row, ptrdiff_t column, ptrdiff_t count, ptrdiff_t depth, float* windows) noexcept nogil:
    """One filter row of windows within the image; taps that lie together are one run."""
    cdef ptrdiff_t taps = v.kernel[2] if v.dilation[2] == 1 else 1
    cdef ptrdiff_t kw = 0
    while kw < v.kernel[2]:
        copy_runs(
            <char*>(windows + kw * v.ic), depth * sizeof(float), <const char*>(row + (column + kw * v.dilation[2]) * v.ic),
            v.stride[2] * v.ic * sizeof(float), taps * v.ic * sizeof(float), count)
        kw += taps


cdef inline void copy_windows_3d(const Volume* v, const float* x, ptrdiff_t first, ptrdiff_t end, float* windows) noexcept nogil:
    """What the filter meets at some positions, one after the other, with zeros outside of the image."""
    cdef ptrdiff_t depth = v.kernel[0] * v.kernel[1] * v.kernel[2] * v.ic
    cdef ptrdiff_t start = first % v.out[2]
    cdef Inside row = windows_inside(v)
    cdef Place p = place_of(v, first)
    cdef ptrdiff_t stop, left, right, kd, kh, i
    cdef const float* pixels
    cdef float* to
    p.first[2] = 0
    while first < end:
        stop = min(start + end - first, v.out[2])
        to = windows - start * depth
        for kd in range(v.kernel[0]):
            for kh in range(v.kernel[1]):
                pixels = pixel_at(v, x, &p, kd, kh, 0)
                left = min(max(start, row.left), stop)
                right = max(left, min(stop, row.right)) if pixels != NULL else left
                for i in range(start, left):
                    copy_edge(v, pixels, i * v.stride[2] - v.pad[2], to + i * depth)
                if right > left:
                    copy_inside(v, pixels, left * v.stride[2] - v.pad[2], right - left, depth, to + left * depth)
                for i in range(right, stop):
                    copy_edge(v, pixels, i * v.stride[2] - v.pad[2], to + i * depth)
                to += v.kernel[2] * v.ic
        windows += (stop - start) * depth
        first += stop - start
        start = 0
        next_row(v, &p)


cdef inline void add_products(float* sums, float value, const float* weights, ptrdiff_t n) noexcept nogil:
    """NaN of the value, of the weight, of the sum."""
    cdef ptrdiff_t o
    if value != value and not AARCH64:
        for o in range(n):
            sums[o] = value + value
        return
    for o in range(n):
        sums[o] = plus_product(sums[o], value, weights[o]) if AARCH64 else add_after(value * weights[o], sums[o])


cdef inline float plus_tap(float total, const float* x, const float* w, ptrdiff_t n) noexcept nogil:
    """The products of one output channel on aarch64."""
    cdef ptrdiff_t blocks = whole_eights(n)
    cdef ptrdiff_t c
    for c in range(blocks):
        total = add_first(total, mul_first(x[c], w[c]))
    for c in range(blocks, n):
        total = plus_product(total, x[c], w[c])
    return total


cdef inline void conv_3d_f32(
    const Volume* v, const float* x, const float* w, const float* bias, ptrdiff_t first, ptrdiff_t end, float* sums, float* y,
) noexcept nogil:
    """Some positions, of which y is the first. sums: oc floats. bias: NULL when there is none."""
    cdef ptrdiff_t position, kd, kh, kw, c, o
    cdef const float* pixel
    cdef const float* row
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
                    if AARCH64 and v.oc == 1:
                        sums[0] = plus_tap(sums[0], pixel, row, v.ic)
                        row += v.ic
                        continue
                    for c in range(v.ic):
                        add_products(sums, pixel[c], row, v.oc)
                        row += v.oc
        for o in range(v.oc):
            y[o] = clamp_f32(sums[o] + (<float>0 if bias == NULL else bias[o]), v.low, v.high)
        y += v.oc


cdef inline float product_first(float total, float value, float weight) noexcept nogil:
    """total + value * weight: NaN of the value, of the weight, of the total."""
    return plus_product(total, value, weight) if AARCH64 else add_first(mul_first(value, weight), total)


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
                                            out[o] = product_first(out[o], value, row[o * v.ic])
                                    row += v.oc * v.ic
                    x += v.ic
    finish_rows(bias, v.batches * outputs, v.oc, v.low, v.high, False, y)
