"""How the hybrid operators (float32 values, 8-bit weights) use the vector kernels for bytes: a quantized image, exact sums, and floats of them.

    if ready_hybrid_i8(context, &op.fast, &shape, x, w, bytes, scales, params, asymmetric, bias, low, high):     # else: the scalar definition
        parallelize_hybrid_i8(context, node, &op.fast, range)
    run_hybrid_i8(context, &op.fast, x, y, 0, all_rows(&op.fast), 0)

and ready_hybrid_depthwise_i8 for depthwise convolutions. The plan is made for one image at a time. Weights and biases are constants, packed at the first
invoke. The zero point becomes known when an image is quantized: weights are packed for 0, and each sum loses the zero point times the sum of its weights.

Threads share the output rows of the images. A single image they quantize together, block by block (once.pxd); of several each quantizes those whose
rows it computes. A single one that holds a NaN is quantized by one of them: the order of all values says what becomes of it.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.hybrid cimport sum_rows
from tflm_cy.arithmetic.hybrid_quantization cimport plan_by_ranges
from tflm_cy.arithmetic.hybrid_scaling cimport HybridScaling
from tflm_cy.arithmetic.row_kernels cimport RowKernels, RowRange, RowScale, RowSteps
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport Context, IterationSpace, Node, Packing, WorkFunction, iteration_space
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.ops.kernels.gemm_i8 cimport pack_conv_i8, pack_depthwise_i8
from tflm_cy.ops.kernels.once cimport Steps, begin_once, end_once, end_step, leave_steps, take_step, wait_for_steps
from tflm_cy.ops.kernels.packed cimport plan_packed
from tflm_cy.ops.kernels.packings cimport find_packed
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8
from tflm_cy.simd.ranges cimport TILE_POSITIONS, by_panels, conv_i8_time, depthwise_i8_time, rows_of, run_columns_conv_i8
from tflm_cy.simd.table cimport row_kernels

cdef enum:
    BLOCK = 8192                 # values that one thread quantizes at a time; whole blocks of quantize_part
    NARROWED = 512               # of them become bytes at a time, before these are repeated

cdef struct HybridI8:
    HybridScaling out
    ConvI8 sums                  # of a convolution,
    DepthwiseI8 taps             # or of a depthwise one
    bint depthwise
    const RowKernels* rows
    ptrdiff_t batches
    ptrdiff_t size               # of an image
    ptrdiff_t filter             # taps of a depthwise filter
    ptrdiff_t multiplier         # outputs of a depthwise one's channel: pixels are quantized with each channel so many times
    bint asymmetric
    int32_t* w_sums
    const int8_t* w
    int waits                    # 1: to be packed
    Packing* packing
    int image                    # scratch: a single image as int16, then
    ptrdiff_t narrow_at          # as bytes, and
    ptrdiff_t ranges_at          # the ranges of its blocks; of several images each worker has one in its own scratch memory, without ranges
    int32_t blocks
    Steps ranging
    Steps quantizing
    RowScale with_nan            # of a single image that holds one
    int scratch
    ptrdiff_t outside_at         # where in a worker's scratch memory: a row of zero points,
    ptrdiff_t kernel_at          # what the kernel needs
    ptrdiff_t bytes              # of a worker


cdef inline ptrdiff_t hybrid_line(ptrdiff_t bytes) noexcept nogil:
    return (bytes + 127) // 64 * 64      # products may read behind


cdef inline int begin_hybrid(
    Context context, HybridI8* h, const ConvShape* g, const int8_t* w, const float* scales, int params, bint asymmetric, const float* bias,
    float low, float high,
) except -1:
    h.batches = g.batches
    h.size = g.ih * g.iw * g.ic
    h.filter = g.kh * g.kw
    h.multiplier = 1
    h.asymmetric = asymmetric
    h.w = w
    h.w_sums = <int32_t*>context.persistent(4 * g.oc + 4)
    h.out = HybridScaling(
        columns=g.oc, params=params, scales=scales, bias=bias, low=low, high=high, w_sums=h.w_sums, zero_point=0, scale=0, fused=False,
        bias_first=0)
    return 0


cdef inline int end_hybrid(Context context, HybridI8* h, ptrdiff_t outside, ptrdiff_t scratch) except -1:
    h.narrow_at = hybrid_line(2 * h.size)
    h.ranges_at = h.narrow_at + hybrid_line(h.size * h.multiplier)
    h.outside_at = 0 if h.batches == 1 else h.ranges_at
    h.blocks = <int32_t>((h.size + BLOCK - 1) / BLOCK)
    h.image = context.request_scratch(h.ranges_at + h.blocks * sizeof(RowRange)) if h.batches == 1 else -1
    h.kernel_at = h.outside_at + hybrid_line(outside)
    h.bytes = h.kernel_at + hybrid_line(scratch)
    h.scratch = context.request_scratch(context.for_all_workers(h.bytes))
    h.waits = True
    return 0


cdef inline bint ready_hybrid_i8(
    Context context, HybridI8* h, const ConvShape* g, const Tensor* x, const int8_t* w, const float* scales, int params, bint asymmetric,
    const float* bias, float low, float high,
) except -1:
    """Filters of kh * kw * group_ic bytes."""
    cdef ptrdiff_t depth = g.kh * g.kw * g.group_ic
    cdef ConvI8* c = &h.sums
    h.rows = row_kernels()
    if h.rows == NULL or w == NULL or bias == NULL or g.groups <= 0 or depth > 60000 or g.oc <= 0 or g.batches <= 0:
        return False
    begin_hybrid(context, h, g, w, scales, params, asymmetric, bias, low, high)
    h.out.columns = g.oc / g.groups
    c.shape = g[0]
    c.shape.batches = 1
    c.is_signed = True
    c.out.bias = <int32_t*>context.persistent(4 * g.oc + 4)
    c.finish = h.rows.scale_rows
    c.params = &h.out
    c.y_size = sizeof(float)
    c.slack = True
    c.w, c.w_row = w, depth
    if not plan_packed(c):
        return False
    h.packing = find_packed(context, c)
    end_hybrid(context, h, 0, c.scratch_bytes)
    return True


cdef inline bint ready_hybrid_depthwise_i8(
    Context context, HybridI8* h, const ConvShape* g, const int8_t* w, const float* scales, int params, const float* bias, float low, float high,
) except -1:
    """Always asymmetric."""
    cdef DepthwiseI8* d = &h.taps
    h.rows = row_kernels()
    if h.rows == NULL or w == NULL or bias == NULL or g.batches <= 0 or g.oc <= 0:
        return False
    begin_hybrid(context, h, g, w, scales, params, True, bias, low, high)
    h.depthwise = True
    h.multiplier = g.oc / g.ic
    d.shape = g[0]
    d.shape.batches = 1
    d.shape.ic = d.shape.groups = g.oc
    d.is_signed = True
    d.out.bias = <int32_t*>context.persistent(4 * g.oc + 4)
    d.finish = h.rows.scale_rows
    d.params = &h.out
    d.y_size = sizeof(float)
    d.w = <const uint8_t*>w
    if not plan_packed(d):
        return False
    h.packing = find_packed(context, d)
    end_hybrid(context, h, d.outside_bytes, d.scratch_bytes)
    return True


cdef inline void pack_hybrid_i8(HybridI8* h) noexcept nogil:
    cdef const ConvShape* g = &h.sums.shape
    cdef ptrdiff_t c, k
    if not begin_once(&h.waits):
        return
    if not h.depthwise:
        sum_rows(h.w, g.oc, h.sums.w_row, h.w_sums)
        pack_conv_i8(&h.sums, h.packing)
        end_once(&h.waits)
        return
    for k in range(h.taps.shape.oc):
        h.w_sums[k] = 0
    for k in range(h.filter):
        for c in range(h.taps.shape.oc):
            h.w_sums[c] += h.w[k * h.taps.shape.oc + c]
    pack_depthwise_i8(&h.taps, h.packing)
    end_once(&h.waits)


cdef inline ptrdiff_t hybrid_rows(const HybridI8* h) noexcept nogil:
    """What threads share of one image: output rows, or panels of the columns of few positions."""
    cdef const ConvI8* c = &h.sums
    if h.depthwise:
        return h.taps.shape.oh if h.taps.upright == 0 else 1
    if c.plan.flat and c.tiles.share_columns:
        return 1
    if by_panels(c):
        return (c.plan.group_columns + c.plan.panel_columns - 1) / c.plan.panel_columns
    return c.shape.oh if not c.plan.flat or c.shape.ow == 1 else c.shape.oh * c.shape.ow


cdef inline ptrdiff_t all_rows(const HybridI8* h) noexcept nogil:
    return h.batches * hybrid_rows(h)


cdef inline int parallelize_hybrid_i8(Context context, Node* node, HybridI8* h, WorkFunction work) except -1:
    cdef double time = depthwise_i8_time(&h.taps) if h.depthwise else conv_i8_time(&h.sums)
    cdef IterationSpace space = iteration_space(all_rows(h), 1)
    if h.batches == 1 and not h.depthwise and h.sums.plan.flat and not by_panels(&h.sums):
        space.min_chunk = min(space.units, <int64_t>TILE_POSITIONS)
    elif h.batches > 1 and hybrid_rows(h) > 1:
        space.min_chunk = min(space.units, max(<int64_t>1, hybrid_rows(h) / 4))
    return context.parallelize(node, work, space, h.batches * (time + h.size * 0.2))


cdef inline void run_band(
    const HybridI8* h, const int8_t* image, char* scratch, const HybridScaling* out, ptrdiff_t first, ptrdiff_t end, float* y,
) noexcept nogil:
    """Some rows of one image."""
    cdef ConvI8 c
    cdef DepthwiseI8 d
    cdef const ConvShape* g
    cdef ptrdiff_t above
    cdef ptrdiff_t all = hybrid_rows(h)
    if h.depthwise:
        d = h.taps
        d.params = out
        d.x_zero_point = out.zero_point
        d.outside = <const uint8_t*>scratch + h.outside_at
        if end - first < all:
            d.shape = rows_of(&h.taps.shape, first, end - first)
            y += first * d.shape.ow * d.shape.oc
        h.taps.run(&d, image, scratch + h.kernel_at, y)
        return
    c = h.sums
    g = &h.sums.shape
    c.params = out
    c.x_zero_point = out.zero_point          # what padding is
    if end - first == all:
        c.run(&c, image, scratch + h.kernel_at, y)
    elif by_panels(&c):
        run_columns_conv_i8(&c, image, scratch + h.kernel_at, y, first * c.plan.panel_columns, end * c.plan.panel_columns)
    elif c.plan.flat:
        c.shape.batches = end - first
        c.shape.oh = c.shape.ow = c.shape.ih = c.shape.iw = 1
        c.run(&c, image + first * g.ic, scratch + h.kernel_at, y + first * g.oc)
    else:
        c.shape = rows_of(g, first, end - first)
        c.plan.image_bytes = ((end - first - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1) * c.plan.row_bytes
        above = max(-c.shape.pad_h, <ptrdiff_t>0)            # rows that no window sees
        c.shape.pad_h += above
        c.shape.ih -= above
        image += above * g.iw * g.ic
        c.run(&c, image, scratch + h.kernel_at, y + first * g.ow * g.oc)


cdef inline void narrow_values(const HybridI8* h, const int16_t* q, ptrdiff_t n, int8_t* y) noexcept nogil:
    """Quantized values as the kernel reads them: bytes, each as often as the filter has outputs of its channel."""
    cdef unsigned char[NARROWED] narrow
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t some
    if h.multiplier == 1:
        h.rows.narrow(q, n, y)
        return
    while first < n:
        some = min(n - first, <ptrdiff_t>NARROWED)
        h.rows.narrow(q + first, some, <int8_t*>narrow)
        h.rows.repeat(narrow, 1, some, h.multiplier, <unsigned char*>y + first * h.multiplier, 0)
        first += some


cdef inline void quantize_image(const HybridI8* h, const float* x, char* room, RowScale* s) noexcept nogil:
    """A whole one; room: narrow_at says where its bytes are."""
    h.rows.quantize(x, h.size, h.asymmetric, <int16_t*>room, s)
    narrow_values(h, <const int16_t*>room, h.size, <int8_t*>room + h.narrow_at)


cdef inline void quantize_together(HybridI8* h, const float* x, char* room, RowScale* s) noexcept nogil:
    """The only image, by all threads that come."""
    cdef RowRange* ranges = <RowRange*>(room + h.ranges_at)
    cdef int16_t* q = <int16_t*>room
    cdef int32_t step = 0
    cdef bint plain
    cdef RowSteps steps
    cdef ptrdiff_t first, n
    while take_step(&h.ranging, h.blocks, &step):
        first = step * <ptrdiff_t>BLOCK
        h.rows.find_range(x + first, min(<ptrdiff_t>BLOCK, h.size - first), &ranges[step])
        end_step(&h.ranging)
    wait_for_steps(&h.ranging, h.blocks)
    plain = plan_by_ranges(ranges, h.blocks, h.asymmetric, s, &steps)
    while take_step(&h.quantizing, h.blocks, &step):
        first = step * <ptrdiff_t>BLOCK
        n = min(<ptrdiff_t>BLOCK, h.size - first)
        if plain:
            h.rows.quantize_part(x + first, n, s, &steps, q + first)
            narrow_values(h, q + first, n, <int8_t*>room + h.narrow_at + first * h.multiplier)
        elif step == 0:
            quantize_image(h, x, room, &h.with_nan)
        end_step(&h.quantizing)
    wait_for_steps(&h.quantizing, h.blocks)
    if not plain:
        s[0] = h.with_nan


cdef inline void run_hybrid_i8(Context context, HybridI8* h, const float* x, float* y, int64_t first, int64_t end, int worker) noexcept nogil:
    """Rows first .. end - 1, counted over all images."""
    cdef char* scratch = <char*>context.worker_scratch(h.scratch, h.bytes, worker)
    cdef char* room = <char*>context.scratch(h.image) if h.batches == 1 else scratch
    cdef ptrdiff_t rows = hybrid_rows(h)
    cdef ptrdiff_t outputs = h.taps.shape.oh * h.taps.shape.ow * h.taps.shape.oc if h.depthwise else 0
    cdef HybridScaling out = h.out
    cdef RowScale s
    cdef int64_t stop, count = end - first
    cdef bint together = h.batches == 1 and count < rows
    pack_hybrid_i8(h)
    if not h.depthwise:
        outputs = h.sums.shape.oh * h.sums.shape.ow * h.sums.shape.oc
    elif h.taps.upright > 0:
        outputs = h.taps.shape.ow * h.taps.shape.oc
    while first < end:
        stop = min(end, (first / rows + 1) * rows)
        if together:
            quantize_together(h, x, room, &s)
        else:
            quantize_image(h, x + first / rows * h.size, room, &s)
        out.zero_point, out.scale = s.zero_point, s.scale
        if h.depthwise:
            memset(scratch + h.outside_at, s.zero_point, h.taps.outside_bytes)
        run_band(h, <const int8_t*>room + h.narrow_at, scratch, &out, first % rows, stop - first / rows * rows, y + first / rows * outputs)
        first = stop
    if together:
        leave_steps(&h.ranging, count, rows)
        leave_steps(&h.quantizing, count, rows)
