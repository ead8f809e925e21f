"""TRANSPOSE_CONV of int16 images as convolutions (columns_i16.pxd), one for each phase: the output positions that the same taps of the filter reach.
Bytes whose output gets its shape only while invoking are read as int16, too.

    if plan_phases_i16(context, &p, &shape, w, &rescale):                              # else: the scalar definition
    run_phases_i16(context, &p, &shape, pixels, x, &rescale, first, end, worker, y)    # some rows of the output
    run_phases_bytes(context, &p, &shape, pixels, x, x_zero_point, &rescale, zero_point, room, y)    # all; rescale: without zero point

With a stride of s every s-th tap of an axis reaches a position, from tap (position + padding) % s on.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.sum_rescale cimport Rescale
from tflm_cy.graph.context cimport Context
from tflm_cy.ops.kernels.columns_i16 cimport POSITIONS_16, ColumnsI16, multiply_columns_i16, plan_columns_i16, sums_at
from tflm_cy.simd.table cimport row_kernels

cdef enum:
    MOST_PHASES_16 = 64

cdef struct Phases16:
    ColumnsI16* phases           # stride_h * stride_w
    ptrdiff_t depth              # of the longest


cdef inline ptrdiff_t taps_of(ptrdiff_t phase, ptrdiff_t stride, ptrdiff_t taps) noexcept nogil:
    """How many taps of an axis belong to a phase."""
    return (taps - phase + stride - 1) / stride if taps > phase else 0


cdef inline bint plan_phases_i16(Context context, Phases16* p, const ConvShape* g, const int8_t* w, const Rescale* out) except -1:
    """w: constant; out: with its bias."""
    cdef ptrdiff_t count = g.stride_h * g.stride_w
    cdef ptrdiff_t row, column, fy, fx, c, depth
    cdef int8_t* at
    if row_kernels() == NULL or w == NULL or count > MOST_PHASES_16:
        return False
    p.phases = <ColumnsI16*>context.persistent(count * sizeof(ColumnsI16))
    p.depth = 0
    room = bytearray(g.oc * taps_of(0, g.stride_h, g.kh) * taps_of(0, g.stride_w, g.kw) * g.ic + 1)
    for row in range(g.stride_h):
        for column in range(g.stride_w):
            depth = taps_of(row, g.stride_h, g.kh) * taps_of(column, g.stride_w, g.kw) * g.ic
            p.depth = max(p.depth, depth)
            at = <int8_t*><char*>room
            for c in range(g.oc):
                for fy in range(row, g.kh, g.stride_h):
                    for fx in range(column, g.kw, g.stride_w):
                        memcpy(at, w + ((c * g.kh + fy) * g.kw + fx) * g.ic, g.ic)
                        at += g.ic
            if not plan_columns_i16(
                    context, &p.phases[row * g.stride_w + column], <int8_t*><char*>room, depth, g.oc, 1, depth, out):
                return False
    return True


cdef inline const int16_t* gather_pixels(
    const ConvShape* g, const int16_t* image, ptrdiff_t oy, ptrdiff_t ox, ptrdiff_t row, ptrdiff_t column, int16_t* values,
) noexcept nogil:
    """What meets the taps of a phase at an output position, in the order of the taps; 0 outside of the image."""
    cdef ptrdiff_t iy = (oy + g.pad_h) / g.stride_h
    cdef ptrdiff_t fy = row
    cdef ptrdiff_t fx, ix
    cdef int16_t* at = values
    cdef bint single = row + g.stride_h >= g.kh and column + g.stride_w >= g.kw
    while fy < g.kh:
        ix = (ox + g.pad_w) / g.stride_w
        fx = column
        while fx < g.kw:
            if 0 <= iy < g.ih and 0 <= ix < g.iw:
                if single:
                    return image + (iy * g.iw + ix) * g.ic
                memcpy(at, image + (iy * g.iw + ix) * g.ic, 2 * g.ic)
            else:
                memset(at, 0, 2 * g.ic)
            at += g.ic
            ix -= 1
            fx += g.stride_w
        iy -= 1
        fy += g.stride_h
    return values


cdef inline void run_phases_i16(
    Context context, const Phases16* p, const ConvShape* g, ptrdiff_t pixels, const int16_t* x, const Rescale* out, int64_t first, int64_t end,
    int worker, int16_t* y,
) noexcept nogil:
    """Rows first .. end - 1 of the output, counted over all images, each of which has `pixels` in memory."""
    cdef ptrdiff_t phase
    cdef int64_t line
    for line in range(first, end):
        for phase in range(g.stride_w):
            run_phase_i16(
                context, p, g, x + line / g.oh * pixels * g.ic, line % g.oh, phase, out, worker, y + line * g.ow * g.oc)


cdef inline void run_phase_i16(
    Context context, const Phases16* p, const ConvShape* g, const int16_t* image, ptrdiff_t oy, ptrdiff_t column, const Rescale* out, int worker,
    int16_t* y,
) noexcept nogil:
    """The positions of an output row, which begins at y, that a phase's columns of the filter reach."""
    cdef ptrdiff_t row = (oy + g.pad_h) % g.stride_h
    cdef const ColumnsI16* v = &p.phases[row * g.stride_w + column]
    cdef char* scratch = <char*>context.worker_scratch(v.scratch, v.bytes, worker)
    cdef int16_t* values = <int16_t*>scratch
    cdef const int16_t* rows[POSITIONS_16]
    cdef ptrdiff_t ox = (column - g.pad_w % g.stride_w + g.stride_w) % g.stride_w
    cdef ptrdiff_t begin
    cdef int count
    scratch += sums_at(v)
    while ox < g.ow:
        count = 0
        begin = ox
        while count < POSITIONS_16 and ox < g.ow:
            rows[count] = gather_pixels(g, image, oy, ox, row, column, values + count * v.depth)
            count += 1
            ox += g.stride_w
        multiply_columns_i16(v, rows, count, 0, out, scratch, y + begin * g.oc, g.stride_w * g.oc)


cdef inline ptrdiff_t room_for_bytes(const ConvShape* g, ptrdiff_t pixels) noexcept nogil:
    """Bytes: of an image as int16, and of some positions' outputs."""
    return 2 * (pixels * g.ic + POSITIONS_16 * g.oc) + 64


cdef inline void run_phases_bytes(
    Context context, const Phases16* p, const ConvShape* g, ptrdiff_t pixels, const int8_t* x, int32_t x_zero_point, const Rescale* out,
    int32_t zero_point, int16_t* room, int8_t* y,
) noexcept nogil:
    cdef int16_t* made = room + pixels * g.ic
    cdef ptrdiff_t n, oy, phase, i
    for n in range(g.batches):
        for i in range(pixels * g.ic):
            room[i] = <int16_t>(x[i] - x_zero_point)
        for oy in range(g.oh):
            for phase in range(g.stride_w):
                run_phase_bytes(context, p, g, room, oy, phase, out, zero_point, made, y)
            y += g.ow * g.oc
        x += pixels * g.ic


cdef inline void run_phase_bytes(
    Context context, const Phases16* p, const ConvShape* g, const int16_t* image, ptrdiff_t oy, ptrdiff_t column, const Rescale* out,
    int32_t zero_point, int16_t* made, int8_t* y,
) noexcept nogil:
    """As run_phase_i16."""
    cdef ptrdiff_t row = (oy + g.pad_h) % g.stride_h
    cdef const ColumnsI16* v = &p.phases[row * g.stride_w + column]
    cdef char* scratch = <char*>context.worker_scratch(v.scratch, v.bytes, 0)
    cdef int16_t* values = <int16_t*>scratch
    cdef const int16_t* rows[POSITIONS_16]
    cdef ptrdiff_t ox = (column - g.pad_w % g.stride_w + g.stride_w) % g.stride_w
    cdef ptrdiff_t begin, c
    cdef int count, i
    scratch += sums_at(v)
    while ox < g.ow:
        count = 0
        begin = ox
        while count < POSITIONS_16 and ox < g.ow:
            rows[count] = gather_pixels(g, image, oy, ox, row, column, values + count * v.depth)
            count += 1
            ox += g.stride_w
        multiply_columns_i16(v, rows, count, 0, out, scratch, made, g.oc)
        for i in range(count):
            for c in range(g.oc):
                y[(begin + i * g.stride_w) * g.oc + c] = <int8_t>(made[i * g.oc + c] + zero_point)
