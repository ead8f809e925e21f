"""TRANSPOSE_CONV of bytes, or with dynamic range, by the vector kernels: as convolutions of stride 1, one for each phase of the strides.

    if plan_phases_i8(context, node, &p, &shape, &common, x, w):     # prepare; else: the scalar definition
        ...
    run_phases_i8(context, &p, x, y, first, end, worker)               # some phases

Output row h = phase + stride * i meets the taps r with r = h + pad (mod stride), and tap r meets input row (h + pad - r) / stride. Of one phase these are
every stride-th tap in falling order, over input rows that follow each other: a convolution of stride 1 with a filter turned around. With a stride of 1
there is one phase, which writes the output itself; others write to scratch memory, and their pixels are then dealt out.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.copy_runs cimport copy_runs
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.ops.kernels.gemm_i8 cimport pack_conv_i8
from tflm_cy.ops.kernels.packed cimport plan_packed, reserve_packed
from tflm_cy.simd.ranges cimport conv_i8_time
from tflm_cy.simd.conv_i8 cimport ConvI8

cdef enum:
    MOST_PHASES = 64

cdef struct Axis8:               # of one phase
    ptrdiff_t phase
    ptrdiff_t outputs
    ptrdiff_t computed           # at least so many: with dynamic range an image is quantized whole, also where no output meets its end
    ptrdiff_t first_tap
    ptrdiff_t taps
    ptrdiff_t pad                # before the first row or column
    ptrdiff_t skipped            # of what is computed: outputs before the first one

cdef struct Phase8:
    ConvI8 fast
    Axis8 rows
    Axis8 columns
    bint empty                   # without a tap: all outputs of an image are one pixel, which is computed once

cdef struct Phases8:
    Phase8* phases
    int count
    ptrdiff_t stride_h
    ptrdiff_t stride_w
    ptrdiff_t oh
    ptrdiff_t ow
    ptrdiff_t pixel              # bytes of an output pixel
    bint direct                  # one phase writes the output itself
    int scratch
    ptrdiff_t outputs_at         # where in a worker's scratch memory a phase's outputs are
    ptrdiff_t worker_bytes
    double time                  # nanoseconds


cdef inline Axis8 axis_of_phase(ptrdiff_t phase, ptrdiff_t stride, ptrdiff_t taps, ptrdiff_t pad, ptrdiff_t outputs) noexcept nogil:
    cdef Axis8 axis
    axis.phase = phase
    axis.outputs = (outputs - phase + stride - 1) / stride if outputs > phase else 0
    axis.first_tap = (phase + pad) % stride
    axis.taps = (taps - axis.first_tap + stride - 1) / stride if taps > axis.first_tap else 0
    axis.pad = axis.taps - 1 - (phase + pad - axis.first_tap) / stride
    axis.skipped = 0
    axis.computed = axis.outputs
    return axis


cdef inline void compute_from_edge(Axis8* axis, ptrdiff_t inputs, bint whole) noexcept nogil:
    """Where the first output meets no tap at the image's edge, those before it are computed, too."""
    axis.skipped = max(-axis.pad, <ptrdiff_t>0)
    axis.pad += axis.skipped
    axis.computed = axis.skipped + axis.outputs
    if whole:
        axis.computed = max(axis.computed, inputs - axis.taps + 1 + axis.pad)


cdef inline void reverse_taps(const ConvShape* g, const Phase8* p, const uint8_t* w, uint8_t* filters) noexcept nogil:
    """The taps of a phase, the last one in front."""
    cdef ptrdiff_t oc, r, q
    for oc in range(g.oc):
        for r in range(p.rows.taps - 1, -1, -1):
            for q in range(p.columns.taps - 1, -1, -1):
                memcpy(
                    filters,
                    w + ((oc * g.kh + p.rows.first_tap + r * g.stride_h) * g.kw + p.columns.first_tap + q * g.stride_w) * g.ic, g.ic)
                filters += g.ic


cdef inline bint plan_phases_i8(
    Context context, Phases8* p, const ConvShape* g, const ConvI8* common, const Tensor* x, const Tensor* w, ptrdiff_t y_size,
) except -1:
    """True when `run_phases_i8` will serve. `common` is the plan's first part, but for the shape; `g` is that of the transposed convolution."""
    cdef ptrdiff_t scratch = 0, outputs = 0
    cdef ptrdiff_t row
    cdef Phase8* phase
    cdef ConvI8* c
    cdef uint8_t* filters
    cdef int i
    if g.stride_h * g.stride_w > MOST_PHASES or g.batches <= 0:
        return False
    p.count = <int>(g.stride_h * g.stride_w)
    p.phases = <Phase8*>context.persistent(p.count * sizeof(Phase8))
    p.stride_h, p.stride_w, p.oh, p.ow = g.stride_h, g.stride_w, g.oh, g.ow
    p.pixel = g.oc * y_size
    p.time = 0
    p.direct = p.count == 1
    for i in range(p.count):
        phase = &p.phases[i]
        phase.rows = axis_of_phase(i / g.stride_w, g.stride_h, g.kh, g.pad_h, g.oh)
        phase.columns = axis_of_phase(i % g.stride_w, g.stride_w, g.kw, g.pad_w, g.ow)
        if phase.rows.outputs == 0 or phase.columns.outputs == 0:
            continue
        phase.empty = phase.rows.taps == 0 or phase.columns.taps == 0
        if phase.empty:                          # filters shorter than the stride: of some outputs there is only the bias
            phase.rows.taps = phase.columns.taps = phase.rows.computed = phase.columns.computed = 1
            phase.rows.pad = phase.columns.pad = 0
        else:
            compute_from_edge(&phase.rows, g.ih, common.dynamic)
            compute_from_edge(&phase.columns, g.iw, common.dynamic)
        c = &phase.fast
        c[0] = common[0]
        c.shape = g[0]
        c.shape.groups = 1
        c.shape.kh, c.shape.kw = phase.rows.taps, phase.columns.taps
        c.shape.oh, c.shape.ow = phase.rows.computed, phase.columns.computed
        c.shape.pad_h, c.shape.pad_w = phase.rows.pad, phase.columns.pad
        c.shape.stride_h = c.shape.stride_w = c.shape.dilation_h = c.shape.dilation_w = 1
        row = c.shape.kh * c.shape.kw * g.ic
        c.slack = context.aligned_slack and not is_constant(x)
        filters = <uint8_t*>context.unfilled(g.oc * row + 64)
        if phase.empty:
            memset(filters, common.w_zero_point & 255, g.oc * row)
        else:
            reverse_taps(g, phase, <const uint8_t*>w.data, filters)
        c.w, c.w_row = filters, row
        if not plan_packed(c):
            return False
        reserve_packed(context, c)
        pack_conv_i8(c)
        scratch = max(scratch, c.scratch_bytes)
        outputs = max(outputs, g.batches * c.shape.oh * c.shape.ow * p.pixel)
        p.time += conv_i8_time(c)
        p.direct = p.direct and not phase.empty and phase.rows.computed == phase.rows.outputs and phase.columns.computed == phase.columns.outputs
    p.outputs_at = (scratch + 127) // 64 * 64
    p.worker_bytes = p.outputs_at + (0 if p.direct else outputs)
    p.scratch = context.request_scratch(context.for_all_workers(p.worker_bytes))
    return True


cdef inline void scatter_outputs(const Phases8* p, const Phase8* phase, const char* computed, char* y) noexcept nogil:
    """The outputs of a phase to where they belong."""
    cdef ptrdiff_t pixel = 0 if phase.empty else p.pixel                  # from an output to the next
    cdef ptrdiff_t row = phase.columns.computed * pixel
    cdef ptrdiff_t n, i
    cdef const char* source
    cdef char* to
    for n in range(phase.fast.shape.batches):
        for i in range(phase.rows.outputs):
            source = computed + (phase.rows.skipped + i) * row + phase.columns.skipped * pixel
            to = y + (((n * p.oh + phase.rows.phase + i * p.stride_h) * p.ow) + phase.columns.phase) * p.pixel
            copy_runs(to, p.stride_w * p.pixel, source, pixel, p.pixel, phase.columns.outputs)
        computed += phase.rows.computed * phase.columns.computed * p.pixel


cdef inline void run_phases_i8(Context context, const Phases8* p, const void* x, void* y, int first, int end, int worker) noexcept nogil:
    cdef char* scratch = <char*>context.worker_scratch(p.scratch, p.worker_bytes, worker)
    cdef const Phase8* phase
    cdef int i
    for i in range(first, end):
        phase = &p.phases[i]
        if phase.rows.outputs == 0 or phase.columns.outputs == 0:
            continue
        if p.direct:
            phase.fast.run(&phase.fast, x, scratch, y)
        else:
            phase.fast.run(&phase.fast, x, scratch, scratch + p.outputs_at)
            scatter_outputs(p, phase, scratch + p.outputs_at, <char*>y)
