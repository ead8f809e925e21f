"""TRANSPOSE_CONV on images [batch, height, width, channel] with filters [output channel, filter height, filter width, channel].

Every input pixel adds its product with the filter at the output position pixel * stride - padding. TensorFlow scatters; here each output
position gathers the pixels that reach it in the same order (rows, then columns, then channels), which gives the same float sums and needs
no memory for them.

In a `ConvShape` ih, iw, ic describe the input (the smaller image) and oh, ow, oc the output; the padding is that of the forward
convolution over the output. `pixels` is how many an image has in memory, when it has more than are read.

Source: LiteRT:tflite/kernels/internal/reference/{transpose_conv.h,integer_ops/transpose_conv.h}.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

from tflm_cy.arithmetic.machine cimport AARCH64, plus_product
from tflm_cy.arithmetic.optimized.product_pairs cimport subtract_pairs
from tflm_cy.arithmetic.product_f32 cimport Run, finish_f32, multiply_rows, repair_nans
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.product_s16 cimport accumulate_one, activation, shift_values, subtract_weight_zero, weight8
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.sum_rescale cimport Rescale, rescale_sums

cdef enum:
    CHANNELS = 64                # of the hybrid kernel, whose sums are made together

cdef struct Reach:               # pixels first .. last reach an output position; pixel p with the tap tap0 - p * stride
    ptrdiff_t first
    ptrdiff_t last
    ptrdiff_t tap0


cdef inline Reach reach_of(ptrdiff_t position, ptrdiff_t pad, ptrdiff_t stride, ptrdiff_t taps, ptrdiff_t size) noexcept nogil:
    cdef Reach r
    r.tap0 = position + pad
    r.first = (r.tap0 - taps + stride) / stride if r.tap0 >= taps else 0
    r.last = r.tap0 / stride
    if r.last > size - 1:
        r.last = size - 1
    return r


cdef inline int transpose_runs(const ConvShape* g, ptrdiff_t oy, ptrdiff_t ox, Run* runs) noexcept nogil:
    """The pixels that reach an output position, in the order of the image; at most kh * kw."""
    cdef Reach y = reach_of(oy, g.pad_h, g.stride_h, g.kh, g.ih)
    cdef Reach x = reach_of(ox, g.pad_w, g.stride_w, g.kw, g.iw)
    cdef ptrdiff_t iy, ix
    cdef int count = 0
    for iy in range(y.first, y.last + 1):
        for ix in range(x.first, x.last + 1):
            runs[count].x = (iy * g.iw + ix) * g.ic
            runs[count].k = ((y.tap0 - iy * g.stride_h) * g.kw + x.tap0 - ix * g.stride_w) * g.ic
            runs[count].n = g.ic
            runs[count].rounded = 0
            count += 1
    return count


cdef inline void transpose_conv_f32(
    const ConvShape* g, const float* x, const float* packed, const float* bias, float low, float high, Run* runs, float* sums, float* y,
) noexcept nogil:
    """packed: pack_columns over the output channels; runs: kh * kw; sums: oc + 3 floats."""
    cdef ptrdiff_t depth = g.kh * g.kw * g.ic
    cdef ptrdiff_t n, oy, ox
    cdef int count
    for n in range(g.batches):
        for oy in range(g.oh):
            for ox in range(g.ow):
                count = transpose_runs(g, oy, ox, runs)
                multiply_rows(x, NULL, runs, count, packed, g.oc, depth, sums, NULL)
                if finish_f32(sums, bias, g.oc, low, high, y):
                    repair_nans(x, runs, count, packed, g.oc, depth, False, sums, bias, y)
                y += g.oc
        x += g.ih * g.iw * g.ic


cdef inline void rescale_rest(const int64_t* sums, const Rescale* out, ptrdiff_t first, ptrdiff_t n, activation* y) noexcept nogil:
    """The channels first .. n - 1."""
    cdef Rescale rest = out[0]
    rest.bias += first
    rest.factors += first
    rescale_sums(sums + first, &rest, n - first, y + first)


cdef inline void transpose_conv_quantized(
    const ConvShape* g, ptrdiff_t pixels, const activation* x, int32_t x_zero_point, const weight8* w, int32_t w_zero_point, const Rescale* out,
    const Rescale* tail, ptrdiff_t block, int64_t first, int64_t end, bint in_pairs, Run* runs, int16_t* pixel, int64_t* sums, activation* y,
) noexcept nogil:
    """The positions first to end of all images. The elements beyond a multiple of `block`, of the whole output, are rescaled by `tail` (one
    multiplier for all channels). in_pairs: a pixel's product with a tap is product_pairs'.

    pixels: of an image; pixel: ic values; sums: oc.
    """
    cdef ptrdiff_t depth = g.kh * g.kw * g.ic
    cdef ptrdiff_t places = g.oh * g.ow
    cdef ptrdiff_t whole = g.batches * places * g.oc
    cdef const activation* image
    cdef ptrdiff_t c, head
    cdef int64_t at
    cdef int count, r
    whole -= whole % block
    for at in range(first, end):
        image = x + at / places * pixels * g.ic
        count = transpose_runs(g, at % places / g.ow, at % g.ow, runs)
        for c in range(g.oc):
            sums[c] = 0
        for r in range(count):
            shift_values(image + runs[r].x, g.ic, x_zero_point, pixel)
            accumulate_one(pixel, w + runs[r].k, g.oc, depth, g.ic, out.longest, sums)
            subtract_weight_zero(pixel, g.ic, w_zero_point, g.oc, sums)
            if AARCH64 and in_pairs:
                subtract_pairs(pixel, x_zero_point, w + runs[r].k, g.oc, g.ic, depth, w_zero_point, sums)
        head = max(<ptrdiff_t>0, min(g.oc, whole - at * g.oc))
        rescale_sums(sums, out, head, y + at * g.oc)
        if head < g.oc:
            rescale_rest(sums, tail, head, g.oc, y + at * g.oc)


cdef inline void turn_filters(const int8_t* w, ptrdiff_t oc, ptrdiff_t depth, int8_t* turned) noexcept nogil:
    """Filters [output channel, depth] to [depth, output channel]."""
    cdef ptrdiff_t c, k
    for c in range(oc):
        for k in range(depth):
            turned[k * oc + c] = w[c * depth + k]


cdef inline void add_scaled_products(
    const int16_t* q, int32_t zero_point, ptrdiff_t n, const int8_t* turned, ptrdiff_t oc, const float* scales, float scale, float* sums,
    ptrdiff_t columns,
) noexcept nogil:
    cdef ptrdiff_t k, c
    cdef float x
    for k in range(n):
        x = <float>(q[k] - zero_point)
        for c in range(columns):           # a product of both is an integer that a float holds
            sums[c] = plus_product(sums[c], x * <float>turned[c] * scales[c], scale)
        turned += oc


cdef inline void transpose_conv_hybrid_image(
    const ConvShape* g, const int16_t* image, int32_t zero_point, float scale, const int8_t* turned, const float* scales,
    const float* bias, float low, float high, Run* runs, float* sums, float* y, const RowKernels* fast=NULL,
) noexcept nogil:
    """One quantized image; every single product is scaled and added as a float: sum += ((float)(q * w) * weight scale) * image scale.
    turned: turn_filters."""
    cdef ptrdiff_t oy, ox, c, first, n
    cdef float[CHANNELS] some
    cdef int count, r
    for oy in range(g.oh):
        for ox in range(g.ow):
            count = transpose_runs(g, oy, ox, runs)
            first = 0
            while first < g.oc:
                n = min(<ptrdiff_t>CHANNELS, g.oc - first)
                for c in range(n):
                    some[c] = 0
                for r in range(count):
                    if fast != NULL:
                        fast.add_scaled_products(
                            image + runs[r].x, zero_point, g.ic, turned + runs[r].k * g.oc + first, g.oc, scales + first, scale, some, n)
                    else:
                        add_scaled_products(
                            image + runs[r].x, zero_point, g.ic, turned + runs[r].k * g.oc + first, g.oc, scales + first, scale, some, n)
                for c in range(n):
                    sums[first + c] = some[c]
                first += n
            if finish_f32(sums, bias, g.oc, low, high, y):
                for c in range(g.oc):      # a bias that is NaN too loses
                    y[c] = sums[c] if sums[c] != sums[c] else y[c]
            y += g.oc
