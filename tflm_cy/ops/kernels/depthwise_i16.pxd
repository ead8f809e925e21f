"""How depthwise convolutions of int16 images with int8 filters use the vector kernels for columns: each output channel is a column with values of its own.

    if plan_depthwise_i16(context, &v, &shape, w, &rescale):                          # else: the scalar definition
    depthwise_positions_i16(context, &v, &shape, x, first, end, worker, y)            # some output positions

The taps of a window are read where they are in the image, those outside of it in a row of zeros. Where a channel has several outputs, or whole vectors
would be read behind the image, they are copied to rows that are long enough.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

from tflm_cy.arithmetic.depthwise cimport Taps, window_taps
from tflm_cy.arithmetic.row_kernels cimport COLUMN_BLOCK
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.sum_rescale cimport Rescale
from tflm_cy.graph.context cimport Context
from tflm_cy.ops.kernels.columns_i16 cimport ColumnsI16, fill_constants, rescale_position
from tflm_cy.ops.kernels.rows_i16 cimport LIMIT_16
from tflm_cy.simd.table cimport row_kernels

cdef struct DepthwiseI16:
    ColumnsI16 columns
    ptrdiff_t multiplier
    const int16_t* zeros         # a pixel outside of the image
    ptrdiff_t patches_at         # where in a worker's scratch memory, behind pointers to the taps
    ptrdiff_t sums_at


cdef inline bint plan_depthwise_i16(Context context, DepthwiseI16* v, const ConvShape* g, const int8_t* w, const Rescale* out) except -1:
    """w: constant, [kh, kw, oc]; out: with its bias."""
    cdef ColumnsI16* c = &v.columns
    cdef ptrdiff_t taps = g.kh * g.kw
    c.rows = row_kernels()
    if c.rows == NULL or w == NULL or g.oc <= 0 or taps <= 0 or taps * 128 >= LIMIT_16:
        return False
    c.groups, c.columns, c.depth, c.longest = 1, g.oc, taps, taps
    c.wide, c.low, c.high = out.wide, out.low, out.high
    c.whole = (g.oc + COLUMN_BLOCK - 1) // COLUMN_BLOCK * COLUMN_BLOCK
    fill_constants(context, c, out)
    if c.constants == NULL:
        return False
    c.packed_step = c.whole * ((taps + 1) // 2 * 2)
    c.packed = <int8_t*>context.unfilled(c.packed_step)
    c.rows.pack_columns(w, 1, g.oc, g.oc, taps, c.packed)
    v.multiplier = g.oc // g.ic
    v.zeros = <const int16_t*>context.same_bytes(0, 2 * c.whole)
    v.patches_at = (sizeof(void*) * taps + 63) // 64 * 64
    v.sums_at = v.patches_at + (2 * taps * c.whole + 63) // 64 * 64
    c.bytes = v.sums_at + 4 * c.whole + 64
    c.scratch = context.request_scratch(context.for_all_workers(c.bytes))
    return True


cdef inline void repeat_channels(const int16_t* x, ptrdiff_t channels, ptrdiff_t times, int16_t* y) noexcept nogil:
    cdef ptrdiff_t c, m
    for c in range(channels):
        for m in range(times):
            y[m] = x[c]
        y += times


cdef inline const int16_t* point_at_taps(
    const DepthwiseI16* v, const ConvShape* g, const Taps* t, const int16_t* image, const int16_t** rows,
) noexcept nogil:
    """Where each tap's values are; the last pixel of them."""
    cdef const int16_t* last = image
    cdef ptrdiff_t fy, fx
    for fy in range(g.kh):
        for fx in range(g.kw):
            if t.fy0 <= fy < t.fy1 and t.fx0 <= fx < t.fx1:
                last = image + ((t.y + fy * g.dilation_h) * g.iw + t.x + fx * g.dilation_w) * g.ic
                rows[fy * g.kw + fx] = last
            else:
                rows[fy * g.kw + fx] = v.zeros
    return last


cdef inline void depthwise_positions_i16(
    Context context, const DepthwiseI16* v, const ConvShape* g, const int16_t* x, int64_t first, int64_t end, int worker, int16_t* y,
) noexcept nogil:
    """Output positions first .. end - 1, counted over all images."""
    cdef char* scratch = <char*>context.worker_scratch(v.columns.scratch, v.columns.bytes, worker)
    cdef const int16_t** rows = <const int16_t**>scratch
    cdef int16_t* patches = <int16_t*>(scratch + v.patches_at)
    cdef int32_t* sums = <int32_t*>(scratch + v.sums_at)
    cdef const ColumnsI16* c = &v.columns
    cdef ptrdiff_t image = g.ih * g.iw * g.ic
    cdef const int16_t* behind = x + g.batches * image
    cdef const int16_t* last
    cdef ptrdiff_t k
    cdef Taps t
    while first < end:
        t = window_taps(g, first / g.ow % g.oh, first % g.ow)
        last = point_at_taps(v, g, &t, x + first / (g.ow * g.oh) * image, rows)
        if v.multiplier > 1 or behind - last < c.whole:
            for k in range(c.depth):
                if rows[k] != v.zeros:
                    repeat_channels(rows[k], g.ic, v.multiplier, patches + k * c.whole)
                    rows[k] = patches + k * c.whole
        c.rows.multiply_taps(rows, c.depth, c.packed, c.columns, sums)
        rescale_position(c, 0, sums, y + first * g.oc)
        first += 1
