# A pass computes up to four output rows, a vector of channels after the other. Rows outside of the image are a row of zeros, columns outside are
# told apart at both ends of a row. An image larger than the second cache is walked in short chunks of columns, so that a pixel's
# channels are read together; strides of two want chunks that small first caches hold. Rows that all begin at the same place of the first cache
# would drive each other out of it: what a chunk sees of them is copied to lines that do not.
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.optimized.cache cimport l1_data_bytes
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.xnnpack.depthwise cimport depthwise_pixel
from tflm_cy.arithmetic.xnnpack.lanes cimport LANES as XNNPACK_LANES, f32x8, splat8
from tflm_cy.simd.depthwise_f32 cimport DepthwiseF32, DepthwiseF32Kernels

cdef extern from "depthwise_f32.h" nogil:
    ctypedef struct Columns32:
        const float* rows[16]
        ptrdiff_t iw
        ptrdiff_t ic
        ptrdiff_t pad_w
        ptrdiff_t first
        ptrdiff_t end
        ptrdiff_t y_row
        ptrdiff_t n
        vf low
        vf high
    ctypedef void (*DepthwiseF32Function)(const Columns32* d, const float* w, float* y) noexcept nogil
    bint CACHED32(ptrdiff_t k, ptrdiff_t stride) noexcept
    bint tile_of_pixels32(
        const float** at, ptrdiff_t step, ptrdiff_t pixels, ptrdiff_t tile, const float* w, const float* bias, ptrdiff_t channels, vf low, vf high,
        float* y) noexcept
    DepthwiseF32Function depthwise_f32_function(ptrdiff_t channels, ptrdiff_t k, ptrdiff_t stride, ptrdiff_t rows) noexcept

cdef enum:
    LARGE_IMAGE = 1 << 20        # bytes
    SHORT_CHUNK = 16
    SHORTEST_CHUNK = 4
    CACHE_PLACES = 4096          # bytes from a line to the next one at the same place of the first cache
    CHUNK_LINES = 16384          # bytes of a chunk's inputs, where they must stay in that cache


cdef bint plan_depthwise_f32(DepthwiseF32* d) noexcept nogil:
    cdef ConvShape* g = &d.shape
    cdef bint square = g.kh == g.kw and (g.kh == 3 or g.kh == 5)
    cdef bint even = g.stride_h == g.stride_w and (g.stride_h == 1 or g.stride_h == 2) and g.dilation_h == 1 and g.dilation_w == 1
    if AARCH64 and g.kh == 5:                      # whose taps have two sums
        return False
    if not square or not even or g.batches * g.oh * g.ow <= 0 or g.ic <= 0 or g.pad_h < 0 or g.pad_w < 0 or g.pad_h >= g.kh or g.pad_w >= g.kw:
        return False
    d.pack = pack_depthwise_f32
    d.run = run_depthwise_f32
    d.rows = 4 if g.stride_h == 1 else 2
    d.chunk = SHORT_CHUNK if g.ih * g.iw * g.ic * <ptrdiff_t>sizeof(float) > LARGE_IMAGE else g.ow
    if CACHED32(g.kh, g.stride_h) and d.chunk < g.ow:
        d.chunk = max(min(cached_pixels32(d) / g.stride_w, d.chunk), SHORTEST_CHUNK)
    d.line = 0
    d.scratch_bytes = padded_bytes32(g.iw * g.ic)
    if collides32(d):
        plan_lines32(d)
    d.packed_bytes = (g.kh * g.kw + 1) * ((g.ic + VL - 1) / VL) * VL * <ptrdiff_t>sizeof(float) + LINE32
    return True


cdef ptrdiff_t inputs32(const ConvShape* g, ptrdiff_t rows) noexcept nogil:
    """Rows that some output rows see."""
    return (rows - 1) * g.stride_h + g.kh


cdef ptrdiff_t cached_pixels32(const DepthwiseF32* d) noexcept nogil:
    """Columns of the input that stay in the first cache, in all rows that a pass sees."""
    return CHUNK_LINES / (inputs32(&d.shape, d.rows) * d.shape.ic * <ptrdiff_t>sizeof(float))


cdef bint collides32(const DepthwiseF32* d) noexcept nogil:
    """The rows that a pass reads and writes begin at the same place, and are more than it has room for. Larger filters do more between misses."""
    cdef const ConvShape* g = &d.shape
    cdef ptrdiff_t row = g.iw * g.ic * <ptrdiff_t>sizeof(float)
    if row % CACHE_PLACES != 0 or g.kh > 3 and g.ih * row <= LARGE_IMAGE:
        return False
    return (inputs32(g, d.rows) + d.rows) * CACHE_PLACES > l1_data_bytes()


cdef void plan_lines32(DepthwiseF32* d) noexcept nogil:
    """Chunks whose rows are copied: as long as their lines stay in the first cache."""
    cdef ConvShape* g = &d.shape
    cdef ptrdiff_t lines = inputs32(g, d.rows)
    d.chunk = max((cached_pixels32(d) - g.kw) / g.stride_w + 1, SHORTEST_CHUNK)
    d.line = gathered_floats32(((d.chunk - 1) * g.stride_w + g.kw) * g.ic)
    d.scratch_bytes += lines * d.line * <ptrdiff_t>sizeof(float) + LINE32


cdef void pack_depthwise_f32(
    DepthwiseF32* d, const float* w, const float* bias, ptrdiff_t tap_stride, ptrdiff_t channel_stride,
) noexcept nogil:
    cdef ConvShape* g = &d.shape
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t kx, ky, c
    cdef float* at
    d.packed = at = aligned32(d.packed)
    while first < g.ic:
        for c in range(first, first + VL):
            at[c - first] = bias[c] if c < g.ic else <float>0
        at += VL
        for kx in range(g.kw):
            for ky in range(g.kh):
                for c in range(first, first + VL):
                    at[c - first] = w[(ky * g.kw + kx) * tap_stride + c * channel_stride] if c < g.ic else <float>0
                at += VL
        first += VL


cdef void run_depthwise_f32(const DepthwiseF32* d, const void* images, void* scratch, void* outputs) noexcept nogil:
    cdef const ConvShape* g = &d.shape
    cdef const float* x = <const float*>images
    cdef float* y = <float*>outputs
    cdef const float* zeros = <const float*>scratch
    cdef ptrdiff_t block = (g.kh * g.kw + 1) * VL
    cdef ptrdiff_t passes = (g.oh + d.rows - 1) / d.rows
    cdef ptrdiff_t n, i, oy, rows
    cdef Columns32 t
    t.iw = g.iw
    t.ic = g.ic
    t.pad_w = g.pad_w
    t.y_row = g.ow * g.ic
    t.low = vf_set1(d.low)
    t.high = vf_set1(d.high)
    memset(scratch, 0, g.iw * g.ic * sizeof(float))
    for n in range(g.batches):
        oy = 0
        for i in range(passes):
            rows = g.oh / passes + (1 if i < g.oh % passes else 0)
            t.first = 0
            while t.first < g.ow:
                t.end = t.first + d.chunk if t.first + d.chunk < g.ow else g.ow
                channels32(d, &t, x, zeros, oy, rows, y + oy * g.ow * g.ic)
                t.first = t.end
            oy += rows
        x += g.ih * g.iw * g.ic
        y += g.oh * g.ow * g.ic


cdef void channels32(
    const DepthwiseF32* d, Columns32* t, const float* image, const float* zeros, ptrdiff_t oy, ptrdiff_t rows, float* y,
) noexcept nogil:
    """All channels of some columns of some output rows."""
    cdef const ConvShape* g = &d.shape
    cdef float* copies = aligned32(<void*>(zeros + g.iw * g.ic))
    cdef ptrdiff_t left = max(t.first * g.stride_w - g.pad_w, 0)
    cdef ptrdiff_t right = min((t.end - 1) * g.stride_w - g.pad_w + g.kw, g.iw)
    cdef ptrdiff_t inputs = inputs32(g, rows)
    cdef ptrdiff_t c = 0
    cdef ptrdiff_t i, iy
    cdef const float* w = d.packed
    for i in range(inputs):
        iy = oy * g.stride_h - g.pad_h + i
        t.rows[i] = image + iy * g.iw * g.ic if 0 <= iy < g.ih else zeros
        if d.line > 0 and 0 <= iy < g.ih and left < right:
            memcpy(copies + i * d.line, t.rows[i] + left * g.ic, (right - left) * g.ic * sizeof(float))
            t.rows[i] = copies + i * d.line - left * g.ic
    while c < g.ic:
        t.n = g.ic - c if g.ic - c < VL else VL
        depthwise_f32_function(t.n, g.kh, g.stride_h, rows)(t, w, y + c)
        for i in range(inputs):
            t.rows[i] += VL
        w += (g.kh * g.kw + 1) * VL
        c += VL


cdef void depthwise_pixels(
    const float** at, ptrdiff_t step, ptrdiff_t pixels, ptrdiff_t tile, const float* w, const float* bias, ptrdiff_t channels, float low,
    float high, float* y,
) noexcept nogil:
    """The definition, in this instruction set's vectors."""
    cdef f32x8 bottom = splat8(low)
    cdef f32x8 top = splat8(high)
    cdef ptrdiff_t i
    if tile_of_pixels32(at, step, pixels, tile, w, bias, channels, vf_set1(low), vf_set1(high), y):
        return
    for i in range(pixels):
        depthwise_pixel(at + i * step, tile, w, bias, channels, bottom, top, y + i * channels)


cdef void fill_depthwise_f32(DepthwiseF32Kernels* table) noexcept:
    table.plan = plan_depthwise_f32
    if <int>VL == <int>XNNPACK_LANES and <int>XNNPACK_LANES > 8:
        table.pixels = depthwise_pixels
