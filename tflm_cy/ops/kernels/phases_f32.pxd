"""Transposed convolutions in XNNPACK's arithmetic by the kernels of convolutions.

    if plan_phases_f32(context, &op.phases, &shape, order, low, high, w, bias):      # prepare; else the definition
    run_phases_f32(context, &op.phases, x, y, first, end, worker)                       # rows of the output

An output is one chain over the filter's taps in their order, which meet the image from its end to its beginning. So the image is copied, mirrored in
both axes and with zeros beside it, and the outputs of a row are computed from the last one to the first. Each phase of the strides is a convolution with
its own taps.

Where the filter is shorter than a stride all taps take part in each output, those of the other phases with zeros. Then the copy has zeros between its
pixels, and there is one phase. A filter of one row needs no rows of zeros between: most output rows meet nothing but zeros, and are all the same.
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.copy_runs cimport copy_runs
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport Context
from tflm_cy.ops.kernels.gemm_f32 cimport ready_part_f32
from tflm_cy.ops.kernels.phases_i8 cimport MOST_PHASES, Axis8, axis_of_phase
from tflm_cy.simd.conv_f32 cimport ConvF32
from tflm_cy.simd.ranges cimport time_of

cdef enum:
    MOST_COPIED = 4              # times the pixels of the input and of the output

cdef struct PhaseF32:
    ConvF32 fast                 # of one output row
    Axis8 rows
    Axis8 columns
    ptrdiff_t top                # mirrored row that the window of output row 0 begins at; the next one's begins one before
    ptrdiff_t left               # column of the copy that the window of the last output begins at

cdef struct PhasesF32:
    PhaseF32* phases
    int count
    ConvShape shape              # of the transposed convolution
    ptrdiff_t stride_h           # from an output of a phase to the next
    ptrdiff_t stride_w
    ptrdiff_t apart_h            # from a pixel to the next in the copy
    ptrdiff_t apart_w
    bint sparse                  # one filter row, which only some output rows meet pixels with
    ptrdiff_t height             # of the copy
    ptrdiff_t width
    ptrdiff_t before             # zeros in front of a row's pixels
    int scratch
    ptrdiff_t image_bytes        # of a worker's scratch memory
    ptrdiff_t scratch_bytes
    double time                  # nanoseconds


cdef inline bint plan_phases_f32(
    Context context, PhasesF32* p, const ConvShape* g, int order, float low, float high, const float* w, const float* bias,
) except -1:
    cdef bint every = g.kh < g.stride_h or g.kw < g.stride_w
    cdef ptrdiff_t behind = 0
    cdef ptrdiff_t scratch = 0
    cdef PhaseF32* phase
    cdef int i
    p.shape = g[0]
    p.stride_h = 1 if every else g.stride_h
    p.stride_w = 1 if every else g.stride_w
    p.sparse = every and g.kh == 1
    p.apart_h = g.stride_h if every and not p.sparse else 1
    p.apart_w = g.stride_w if every else 1
    p.height = (g.ih - 1) * p.apart_h + 1
    p.width = (g.iw - 1) * p.apart_w + 1
    p.before = 0
    p.time = 0
    if p.stride_h * p.stride_w > MOST_PHASES or g.batches * g.oh * g.ow <= 0 or p.height * p.width > MOST_COPIED * (g.ih * g.iw + g.oh * g.ow):
        return False
    p.count = <int>(p.stride_h * p.stride_w)
    p.phases = <PhaseF32*>context.persistent(p.count * sizeof(PhaseF32))
    for i in range(p.count):
        phase = &p.phases[i]
        phase.rows = axis_of_phase(i / p.stride_w, p.stride_h, g.kh, g.pad_h, g.oh)
        phase.columns = axis_of_phase(i % p.stride_w, p.stride_w, g.kw, g.pad_w, g.ow)
        phase.top = p.height - phase.rows.taps + phase.rows.pad
        phase.left = p.width - phase.columns.taps + phase.columns.pad + 1 - phase.columns.outputs
        p.before = max(p.before, -phase.left)
        behind = max(behind, phase.columns.pad)
    p.width += p.before + max(behind, <ptrdiff_t>0)
    for i in range(p.count):
        phase = &p.phases[i]
        phase.left += p.before
        if phase.rows.outputs * phase.columns.outputs > 0 and not plan_phase(context, p, phase, order, low, high, w, bias):
            return False
        scratch = max(scratch, phase.fast.scratch_bytes)
        p.time += g.batches * phase.rows.outputs * time_of(&phase.fast)
    p.image_bytes = (p.height * p.width * g.ic * <ptrdiff_t>sizeof(float) + 63) / 64 * 64
    p.scratch_bytes = (p.image_bytes + scratch + 63) / 64 * 64
    p.scratch = context.request_scratch(context.for_all_workers(p.scratch_bytes))
    return True


cdef inline bint plan_phase(
    Context context, const PhasesF32* p, PhaseF32* phase, int order, float low, float high, const float* w, const float* bias,
) except -1:
    cdef const ConvShape* g = &p.shape
    cdef ConvF32* c = &phase.fast
    cdef ptrdiff_t depth = phase.rows.taps * phase.columns.taps * g.ic
    cdef ptrdiff_t oc, r, q
    cdef bytearray room = bytearray(max(g.oc * depth * sizeof(float), 1))
    cdef float* filters = <float*><char*>room
    if phase.rows.taps == 0 or phase.columns.taps == 0:
        return False
    for oc in range(g.oc):
        for r in range(phase.rows.taps):
            for q in range(phase.columns.taps):
                memcpy(
                    filters, w + ((oc * g.kh + phase.rows.first_tap + r * p.stride_h) * g.kw + phase.columns.first_tap + q * p.stride_w) * g.ic,
                    g.ic * sizeof(float))
                filters += g.ic
    c.shape = g[0]
    c.shape.batches = c.shape.groups = c.shape.stride_h = c.shape.stride_w = c.shape.dilation_h = c.shape.dilation_w = 1
    c.shape.kh, c.shape.kw = phase.rows.taps, phase.columns.taps
    c.shape.ih, c.shape.iw = max(p.height, phase.rows.taps + 1), p.width       # a row of a taller image: never a mere product of matrices
    c.shape.oh, c.shape.ow = 1, phase.columns.outputs
    c.shape.pad_h = c.shape.pad_w = 0
    c.low, c.high = low, high
    c.order = order
    if not ready_part_f32(context, c, <const float*><char*>room, bias) or not c.direct:
        return False
    c.shape.ih = p.height
    c.y_row = -p.stride_w * g.oc
    return True


cdef inline void mirror_image(const PhasesF32* p, const float* x, ptrdiff_t first, ptrdiff_t end, float* image) noexcept nogil:
    """Some rows of the copy."""
    cdef const ConvShape* g = &p.shape
    cdef ptrdiff_t pixel = g.ic * sizeof(float)
    cdef ptrdiff_t row
    if end > first and (p.apart_h * p.apart_w > 1 or p.width > g.iw):
        memset(image + first * p.width * g.ic, 0, (end - first) * p.width * pixel)
    for row in range((first + p.apart_h - 1) / p.apart_h, (end + p.apart_h - 1) / p.apart_h):
        copy_runs(
            <char*>(image + (row * p.apart_h * p.width + p.before + (g.iw - 1) * p.apart_w) * g.ic), -p.apart_w * pixel,
            <const char*>(x + (g.ih - 1 - row) * g.iw * g.ic), pixel, pixel, g.iw)


cdef inline ptrdiff_t window_top(const PhasesF32* p, const PhaseF32* phase, ptrdiff_t row) noexcept nogil:
    """Mirrored row that the window of a phase's output row begins at; outside of the image where it meets zeros alone."""
    if not p.sparse:
        return phase.top - row
    row += p.shape.pad_h
    return p.height - 1 - row / p.shape.stride_h if row % p.shape.stride_h == 0 else -1


cdef inline ptrdiff_t first_row(const PhasesF32* p, const PhaseF32* phase, ptrdiff_t y) noexcept nogil:
    """Of a phase, the first output row that is not above row y of the output."""
    return min(max(y - phase.rows.phase + p.stride_h - 1, <ptrdiff_t>0) / p.stride_h, phase.rows.outputs)


cdef inline void mirror_for(const PhasesF32* p, const float* x, ptrdiff_t first, ptrdiff_t end, float* image) noexcept nogil:
    """What the windows of some rows of the output meet."""
    cdef ptrdiff_t low = p.height
    cdef ptrdiff_t high = 0
    cdef const PhaseF32* phase
    cdef ptrdiff_t row, top
    cdef int i
    for i in range(p.count):
        phase = &p.phases[i]
        for row in range(first_row(p, phase, first), first_row(p, phase, end)):
            top = window_top(p, phase, row)
            if top < p.height and top + phase.rows.taps > 0:
                low, high = min(low, max(top, <ptrdiff_t>0)), max(high, min(top + phase.rows.taps, p.height))
    mirror_image(p, x, low, high, image)


cdef inline void run_phases_f32(
    Context context, const PhasesF32* p, const float* x, float* y, ptrdiff_t first, ptrdiff_t end, int worker,
) noexcept nogil:
    """Rows of the output, counted through all images."""
    cdef const ConvShape* g = &p.shape
    cdef float* image = <float*>context.worker_scratch(p.scratch, p.scratch_bytes, worker)
    cdef ptrdiff_t n, top, bottom
    while first < end:
        n = first / g.oh
        top, bottom = first - n * g.oh, min(end - n * g.oh, g.oh)
        mirror_for(p, x + n * g.ih * g.iw * g.ic, top, bottom, image)
        run_rows_f32(p, image, top, bottom, y + n * g.oh * g.ow * g.oc)
        first = n * g.oh + bottom


cdef inline void run_rows_f32(const PhasesF32* p, const float* image, ptrdiff_t first, ptrdiff_t end, float* y) noexcept nogil:
    """Rows of one image's output."""
    cdef const ConvShape* g = &p.shape
    cdef ptrdiff_t line = g.ow * g.oc
    cdef const PhaseF32* phase
    cdef const float* empty
    cdef ptrdiff_t row, top
    cdef float* out
    cdef ConvF32 c
    cdef int i
    for i in range(p.count):
        phase = &p.phases[i]
        empty = NULL                         # a row of this image that met zeros alone
        c = phase.fast
        if phase.columns.outputs == 0:
            continue
        for row in range(first_row(p, phase, first), first_row(p, phase, end)):
            top = window_top(p, phase, row)
            out = y + (phase.rows.phase + row * p.stride_h) * line
            if empty != NULL and p.stride_w == 1 and (top >= p.height or top + phase.rows.taps <= 0):
                memcpy(out, empty, line * sizeof(float))
                continue
            c.shape.pad_h = -top
            c.run(
                &c, image + phase.left * g.ic, <char*>image + p.image_bytes,
                out + (phase.columns.phase + (phase.columns.outputs - 1) * p.stride_w) * g.oc)
            if top >= p.height or top + phase.rows.taps <= 0:
                empty = out
