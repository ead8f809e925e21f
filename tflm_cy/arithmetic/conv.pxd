"""CONV_2D on images [batch, height, width, channel] with filters [output channel, filter height, filter width, channel].

    conv_f32(&g, x, packed, bias, low, high, runs, sums, y)                    # float32
    conv_quantized(&g, x, x_zero_point, w, w_zero_point, &out, patches, sums, y)   # int8, uint8, int16 activations
    conv_sums(&g, x16, 0, w, 0, ..., sums)                                     # what the hybrid kernels scale themselves

Taps outside of the image contribute nothing. Groups: output channel c sees the input channels of group c / (oc / groups).
The float sum runs over (fy, fx, channel), the bias is added after it; the quantized one is exact and is rescaled per output channel.

Source: LiteRT:tflite/kernels/internal/reference/{conv.h,integer_ops/conv.h}.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.product_f32 cimport Run, finish_f32, multiply_rows, nan_sum, packed_size, repair_nans, whole_eights
from tflm_cy.arithmetic.product_s16 cimport (
    accumulate_one, accumulate_two, activation, shift_values, subtract_weight_zero, sum_values, weight8,
)
from tflm_cy.arithmetic.shapes cimport ConvShape, end_tap, first_tap
from tflm_cy.arithmetic.sum_rescale cimport Rescale, rescale_sums


cdef inline int window_runs(const ConvShape* g, ptrdiff_t group, ptrdiff_t oy, ptrdiff_t ox, Run* runs) noexcept nogil:
    """The stretches of one window, offsets from the start of the image; returns their number (at most kh * kw): on aarch64 one per tap."""
    cdef ptrdiff_t y = oy * g.stride_h - g.pad_h
    cdef ptrdiff_t x = ox * g.stride_w - g.pad_w
    cdef ptrdiff_t fy0 = first_tap(y, g.dilation_h)
    cdef ptrdiff_t fy1 = end_tap(y, g.dilation_h, g.ih, g.kh)
    cdef ptrdiff_t fx0 = first_tap(x, g.dilation_w)
    cdef ptrdiff_t fx1 = end_tap(x, g.dilation_w, g.iw, g.kw)
    cdef ptrdiff_t fy, fx, row
    cdef int count = 0
    if fx0 >= fx1:
        return 0
    for fy in range(fy0, fy1):
        row = (y + fy * g.dilation_h) * g.iw
        if g.dilation_w == 1 and g.groups == 1 and not AARCH64:
            runs[count].x = (row + x + fx0) * g.ic
            runs[count].k = (fy * g.kw + fx0) * g.ic
            runs[count].n = (fx1 - fx0) * g.ic
            runs[count].rounded = whole_eights(runs[count].n)
            count += 1
            continue
        for fx in range(fx0, fx1):
            runs[count].x = (row + x + fx * g.dilation_w) * g.ic + group * g.group_ic
            runs[count].k = (fy * g.kw + fx) * g.group_ic
            runs[count].n = g.group_ic
            runs[count].rounded = whole_eights(g.group_ic)
            count += 1
    return count


cdef inline bint spans_filter(const ConvShape* g, ptrdiff_t ox) noexcept nogil:
    """True when all columns of the window lie inside."""
    cdef ptrdiff_t x = ox * g.stride_w - g.pad_w
    return x >= 0 and x + (g.kw - 1) * g.dilation_w < g.iw


cdef inline void conv_f32(
    const ConvShape* g, const float* x, const float* packed, const float* bias, float low, float high, Run* runs, float* sums, float* y,
) noexcept nogil:
    """packed: each group's columns by pack_columns; runs: kh * kw; sums: 2 * (oc / groups + 3) floats."""
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t depth = g.kh * g.kw * g.group_ic
    cdef ptrdiff_t group_size = packed_size(group_oc, depth)
    cdef float* sums2 = sums + group_oc + 3
    cdef const float* image = x
    cdef const float* filters
    cdef float* out
    cdef ptrdiff_t n, oy, ox, group, columns
    cdef int count
    for n in range(g.batches):
        for oy in range(g.oh):
            ox = 0
            while ox < g.ow:
                columns = 2 if ox + 2 <= g.ow and spans_filter(g, ox) and spans_filter(g, ox + 1) else 1
                for group in range(g.groups):
                    count = window_runs(g, group, oy, ox, runs)
                    multiply_rows(
                        image, image + g.stride_w * g.ic if columns == 2 else NULL, runs, count,
                        packed + group * group_size, group_oc, depth, sums, sums2,
                    )
                    filters = packed + group * group_size
                    out = y + group * group_oc
                    if finish_f32(sums, bias + group * group_oc, group_oc, low, high, out):
                        repair_nans(image, runs, count, filters, group_oc, depth, False, sums, bias + group * group_oc, out)
                    out += g.oc
                    if columns == 2 and finish_f32(sums2, bias + group * group_oc, group_oc, low, high, out):
                        repair_nans(image + g.stride_w * g.ic, runs, count, filters, group_oc, depth, False, sums2, bias + group * group_oc, out)
                y += columns * g.oc
                ox += columns
        image += g.ih * g.iw * g.ic


cdef inline void repair_conv_f32(const ConvShape* g, const float* x, const float* w, Run* runs, float* y) noexcept nogil:
    """Replace the outputs that are NaN by conv_f32's choice among NaNs, from filters as they lie in the file. runs: kh * kw."""
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t depth = g.kh * g.kw * g.group_ic
    cdef ptrdiff_t n, oy, ox, group, c
    cdef float total
    cdef int count, r
    for n in range(g.batches):
        for oy in range(g.oh):
            for ox in range(g.ow):
                for group in range(g.groups):
                    count = window_runs(g, group, oy, ox, runs)
                    for c in range(group * group_oc, (group + 1) * group_oc):
                        if y[c] == y[c]:
                            continue
                        total = 0
                        for r in range(count):
                            total = nan_sum(
                                total, x + runs[r].x, 1, w + c * depth + runs[r].k, 1, runs[r].n, runs[r].rounded, False)
                        if total != total:
                            y[c] = total
                y += g.oc
        x += g.ih * g.iw * g.ic


cdef inline void gather_patch(
    const ConvShape* g, const activation* image, int32_t zero_point, ptrdiff_t group, ptrdiff_t oy, ptrdiff_t ox, int16_t* patch,
) noexcept nogil:
    """The window's values less the zero point in the order of the filter; 0 outside of the image."""
    cdef ptrdiff_t y = oy * g.stride_h - g.pad_h
    cdef ptrdiff_t x = ox * g.stride_w - g.pad_w
    cdef ptrdiff_t fx0 = first_tap(x, g.dilation_w)
    cdef ptrdiff_t fx1 = end_tap(x, g.dilation_w, g.iw, g.kw)
    cdef ptrdiff_t row_size = g.kw * g.group_ic
    cdef ptrdiff_t fy, fx, iy, i
    cdef const activation* row
    for fy in range(g.kh):
        iy = y + fy * g.dilation_h
        if iy < 0 or iy >= g.ih or fx0 >= fx1:
            for i in range(row_size):
                patch[i] = 0
            patch += row_size
            continue
        row = image + iy * g.iw * g.ic + group * g.group_ic
        for i in range(fx0 * g.group_ic):
            patch[i] = 0
        if g.dilation_w == 1 and g.groups == 1 and not AARCH64:
            shift_values(row + (x + fx0) * g.ic, (fx1 - fx0) * g.ic, zero_point, patch + fx0 * g.ic)
        else:
            for fx in range(fx0, fx1):
                shift_values(row + (x + fx * g.dilation_w) * g.ic, g.group_ic, zero_point, patch + fx * g.group_ic)
        for i in range(fx1 * g.group_ic, row_size):
            patch[i] = 0
        patch += row_size


cdef inline void position_sums(
    const ConvShape* g, const activation* image, int32_t x_zero_point, const weight8* w, int32_t w_zero_point, ptrdiff_t longest,
    ptrdiff_t position, int columns, int16_t* patches, int64_t* sums,
) noexcept nogil:
    """The sums of one or two output positions (counted along the rows): sums[oc], then the second position's.

    patches: 2 * g.row values.
    """
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t depth = g.row
    cdef ptrdiff_t group, c
    cdef const weight8* filters
    for c in range(columns * g.oc):
        sums[c] = 0
    for c in range(g.kh * g.kw * g.group_ic, depth):
        patches[c] = 0
        patches[depth + c] = 0
    for group in range(g.groups):
        filters = w + group * group_oc * depth
        gather_patch(g, image, x_zero_point, group, position / g.ow, position % g.ow, patches)
        if columns == 1:
            accumulate_one(patches, filters, group_oc, depth, depth, longest, sums + group * group_oc)
        else:
            gather_patch(g, image, x_zero_point, group, (position + 1) / g.ow, (position + 1) % g.ow, patches + depth)
            accumulate_two(
                patches, patches + depth, filters, group_oc, depth, depth, longest,
                sums + group * group_oc, sums + g.oc + group * group_oc,
            )
            subtract_weight_zero(patches + depth, depth, w_zero_point, group_oc, sums + g.oc + group * group_oc)
        subtract_weight_zero(patches, depth, w_zero_point, group_oc, sums + group * group_oc)


cdef inline void conv_quantized(
    const ConvShape* g, const activation* x, int32_t x_zero_point, const weight8* w, int32_t w_zero_point, const Rescale* out,
    int16_t* patches, int64_t* sums, activation* y,
) noexcept nogil:
    """patches: 2 * g.row values; sums: 2 * oc."""
    cdef ptrdiff_t positions = g.oh * g.ow
    cdef ptrdiff_t n, position
    cdef int columns, i
    for n in range(g.batches):
        position = 0
        while position < positions:
            columns = 2 if position + 2 <= positions else 1
            position_sums(g, x, x_zero_point, w, w_zero_point, out.longest, position, columns, patches, sums)
            for i in range(columns):
                rescale_sums(sums + i * g.oc, out, g.oc, y)
                y += g.oc
            position += columns
        x += g.ih * g.iw * g.ic
