# Windows are conv_f32's: rows are copied, each once, to a ring of lines with zeros on both sides. Where a window is several stretches that are no
# multiples of eight, and some columns sum even and odd k apart, a tile's windows are copied to patches.
from libc.math cimport isfinite
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.eigen cimport row_f32
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused, ConvF32UnfusedKernels

cdef extern from "conv_f32_unfused.h" nogil:
    enum:
        ORDER
        PAIRS
        EIGHTS
        ORDERED_ROWS
    ctypedef struct Chains32:
        const float** stretches
        ptrdiff_t length
        ptrdiff_t row
        ptrdiff_t k
        ptrdiff_t block
        ptrdiff_t y_row
        float low
        float high
        int nan
    void chains32(
        Chains32* t, int kind, ptrdiff_t first, ptrdiff_t positions, const float* w, ptrdiff_t w_panel, const float* bias, ptrdiff_t n,
        float* y) noexcept
    vf rows32(const float* w, ptrdiff_t k, const float* x) noexcept
    int row_of_half32(int vector, int half) noexcept
    int vf_nan(vf a) noexcept

cdef enum:
    MOST_APART = 1 << 24         # floats from a position to the next


cdef ptrdiff_t depth32(const ConvF32Unfused* c) noexcept nogil:
    return c.window.shape.kh * c.window.shape.kw * c.window.shape.group_ic


cdef ptrdiff_t vectors32(ptrdiff_t columns, ptrdiff_t per_vector) noexcept nogil:
    return (columns + per_vector - 1) / per_vector


cdef ptrdiff_t rest_columns32(const ConvF32Unfused* c) noexcept nogil:
    """Packed a second time, for the last positions."""
    return c.window.shape.oc - c.first_rest if c.last_positions < c.window.shape.batches * c.window.shape.oh * c.window.shape.ow else 0


cdef ptrdiff_t group_vectors32(const ConvF32Unfused* c) noexcept nogil:
    """Of weights (`depth` * VL floats) and, in front of them all, of biases (VL)."""
    return (
        vectors32(c.first_rest, VL) + vectors32(c.first_last - c.first_rest, VL / 2)
        + vectors32(c.window.shape.oc / c.window.shape.groups - c.first_last, VL / 8) + vectors32(rest_columns32(c), VL))


cdef bint plan_conv_f32_unfused(ConvF32Unfused* c) noexcept nogil:
    """Fill in the plan; False where the scalar definition must serve."""
    cdef ConvShape* g = &c.window.shape
    cdef ptrdiff_t positions = g.batches * g.oh * g.ow
    c.pack = pack_conv_f32_unfused
    c.run = run_conv_f32_unfused
    c.window.period = 0
    if g.group_ic <= 0 or g.kh <= 0 or g.kw <= 0 or not plan_windows32(&c.window):
        return False
    if c.panels and (g.groups != 1 or max(g.stride_w * g.ic, depth32(c)) > MOST_APART):
        return False
    c.first_rest = c.first_last = g.oc / g.groups
    c.last_positions = positions
    if not c.panels:
        c.block = depth32(c)
    elif c.block <= 0 or (c.block < depth32(c) and c.block % 8 != 0):
        return False
    if c.panels and g.oc % 16 != 0:
        c.first_rest = g.oc / 16 * 16
        c.first_last = g.oc / 4 * 4
        c.last_positions = positions / 4 * 4
    c.copied = c.first_rest < g.oc and c.panels and c.window.stretches > 1 and c.window.length % 8 != 0
    # Biases have a line of their own behind each panel, which partly filled vectors may read.
    c.packed_bytes = g.groups * group_vectors32(c) * (depth32(c) + 1) * VL * <ptrdiff_t>sizeof(float) + LINE32 + 2 * VL * <ptrdiff_t>sizeof(float)
    c.scratch_bytes = c.window.scratch_bytes
    if c.copied:
        c.scratch_bytes += ORDERED_ROWS * depth32(c) * <ptrdiff_t>sizeof(float) + LINE32
    return True


cdef bint pack_conv_f32_unfused(ConvF32Unfused* c, const float* w) noexcept nogil:
    """False when a weight is infinite or NaN and the definition leaves out taps."""
    cdef ConvShape* g = &c.window.shape
    cdef ptrdiff_t group_oc = g.oc / g.groups
    cdef ptrdiff_t depth = depth32(c)
    cdef ptrdiff_t group, i, k
    cdef float* at
    if not c.panels and not c.window.flat and not (g.pad_h == 0 and g.pad_w == 0 and inside(g)):
        for i in range(g.oc):
            for k in range(depth):
                if not isfinite(w[i * c.column_stride + k * c.k_stride]):
                    return False
    c.packed = at = aligned32(c.packed)
    for group in range(g.groups):
        i = group * group_oc
        at = pack_panel32(c, ORDER, VL, w, i, c.first_rest, at)
        at = pack_panel32(c, PAIRS, VL / 2, w, i + c.first_rest, c.first_last - c.first_rest, at)
        at = pack_panel32(c, EIGHTS, VL / 8, w, i + c.first_last, group_oc - c.first_last, at)
        at = pack_panel32(c, ORDER, VL, w, i + c.first_rest, rest_columns32(c), at)
    return True


cdef float* pack_panel32(
    const ConvF32Unfused* c, int kind, ptrdiff_t per_vector, const float* w, ptrdiff_t first, ptrdiff_t columns, float* at,
) noexcept nogil:
    """The biases, whole vectors of them, then each vector's weights; returns what lies behind."""
    cdef ptrdiff_t depth = depth32(c)
    cdef ptrdiff_t vectors = vectors32(columns, per_vector)
    cdef ptrdiff_t v, j, n, k
    cdef const float* from_column
    # Columns in order are written with what is missing behind them.
    memset(at, 0, vectors * (1 if kind == ORDER and c.k_stride == 1 else depth + 1) * VL * sizeof(float))
    for j in range(columns):
        at[j] = c.bias[first + j]
    at += vectors * VL
    for v in range(vectors):
        n = columns - v * per_vector if columns - v * per_vector < per_vector else per_vector
        from_column = w + (first + v * per_vector) * c.column_stride
        if kind == ORDER and c.k_stride == 1:
            turn_dwords(
                <const uint8_t*>from_column, c.column_stride * <ptrdiff_t>sizeof(float), n, depth * <ptrdiff_t>sizeof(float),
                <uint8_t*>at, VL * <ptrdiff_t>sizeof(float))
            at += depth * VL
            continue
        for j in range(n):
            from_column = w + (first + v * per_vector + j) * c.column_stride
            if kind == ORDER:
                for k in range(depth):
                    at[k * VL + j] = from_column[k * c.k_stride]
            else:
                pack_blocks32(c, kind, per_vector, from_column, c.k_stride, j, at)
        at += depth * VL
    return at


cdef void pack_blocks32(
    const ConvF32Unfused* c, int kind, ptrdiff_t per_vector, const float* column, ptrdiff_t k_stride, ptrdiff_t j, float* at,
) noexcept nogil:
    """One column of pairs or of eights: per block its multiples of eight, then what is left."""
    cdef ptrdiff_t depth = depth32(c)
    cdef ptrdiff_t together = VL / per_vector
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t block, main, k
    while start < depth:
        block = c.block if c.block < depth - start else depth - start
        main = block / 8 * 8
        for k in range(main):
            at[k / together * VL + j * together + k % together] = column[(start + k) * k_stride]
        at += main / together * VL
        for k in range(main, block):
            at[(k - main) * (VL if kind == PAIRS else per_vector) + j] = column[(start + k) * k_stride]
        at += (block - main) * (VL if kind == PAIRS else per_vector)
        start += block


cdef void columns32o(
    const ConvF32Unfused* c, Chains32* t, const float* w, ptrdiff_t first, ptrdiff_t positions, ptrdiff_t ordered, float* y,
) noexcept nogil:
    """All columns of a group for positions of an output row, of which those from `ordered` on are among the last ones."""
    cdef ptrdiff_t depth = t.k
    cdef ptrdiff_t group_oc = c.window.shape.oc / c.window.shape.groups
    cdef ptrdiff_t vectors = vectors32(c.first_rest, VL)
    cdef ptrdiff_t panel = depth * VL
    if c.first_rest > 0:
        chains32(t, ORDER, first, positions, w + vectors * VL, panel, w, c.first_rest, y)
        w += vectors * (VL + panel)
    if c.first_rest == group_oc:
        return
    if ordered > 0:
        vectors = vectors32(c.first_last - c.first_rest, VL / 2)
        if vectors > 0:
            chains32(t, PAIRS, first, ordered, w + vectors * VL, panel, w, c.first_last - c.first_rest, y + c.first_rest)
        w += vectors * (VL + panel)
        vectors = vectors32(group_oc - c.first_last, VL / 8)
        if vectors > 0:
            chains32(t, EIGHTS, first, ordered, w + vectors * VL, panel, w, group_oc - c.first_last, y + c.first_last)
        w += vectors * (VL + panel)
    else:
        w += (vectors32(c.first_last - c.first_rest, VL / 2) + vectors32(group_oc - c.first_last, VL / 8)) * (VL + panel)
    if ordered < positions:
        vectors = vectors32(group_oc - c.first_rest, VL)
        chains32(
            t, ORDER, first + ordered, positions - ordered, w + vectors * VL, panel, w, group_oc - c.first_rest, y + c.first_rest)


cdef void row32o(const ConvF32Unfused* c, Chains32* t, const float* w, ptrdiff_t positions, ptrdiff_t ordered, float* patches, float* y) noexcept nogil:
    """A row of positions; copied windows some at a time."""
    cdef const float** windows = t.stretches
    cdef const float* patch = patches
    cdef ptrdiff_t row = t.row
    cdef ptrdiff_t length = t.length
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t now, r, s
    if not c.copied:
        columns32o(c, t, w, 0, positions, ordered, y)
        return
    t.length = t.k
    t.row = t.k * sizeof(float)
    while first < positions:
        now = positions - first if positions - first < ORDERED_ROWS else ORDERED_ROWS
        if first < ordered < first + now:
            now = ordered - first
        for r in range(now):
            for s in range(c.window.stretches):
                memcpy(patches + r * t.k + s * length, windows[s] + (first + r) * (row / <ptrdiff_t>sizeof(float)), length * sizeof(float))
        t.stretches = &patch
        columns32o(c, t, w, 0, now, now if first < ordered else 0, y + first * t.y_row)
        first += now
    t.stretches = windows
    t.length = length
    t.row = row


cdef bint run_conv_f32_unfused(const ConvF32Unfused* c, const float* x, void* scratch, float* y) noexcept nogil:
    cdef const ConvShape* g = &c.window.shape
    cdef const float** stretches = <const float**>aligned32(scratch)
    cdef float* zeros = aligned32(stretches + c.window.stretches)
    cdef float* patches = aligned32(<char*>scratch + c.window.scratch_bytes)
    cdef ptrdiff_t line_bytes = padded_bytes32(c.window.width * g.ic)
    cdef ptrdiff_t group_floats = group_vectors32(c) * (depth32(c) + 1) * VL
    cdef ptrdiff_t position = 0
    cdef ptrdiff_t n, oy, group, ordered
    cdef Chains32 t
    t.stretches = stretches
    t.length = c.window.length
    t.row = g.stride_w * g.ic * <ptrdiff_t>sizeof(float)
    t.k = depth32(c)
    t.block = c.block
    t.y_row = g.oc
    t.low = c.window.low
    t.high = c.window.high
    t.nan = 0
    if c.window.flat:
        stretches[0] = x
        row32o(c, &t, c.packed, g.batches * g.oh * g.ow, c.last_positions, patches, y)
        return t.nan != 0
    memset(zeros, 0, line_bytes * (1 if c.window.direct else 1 + c.window.lines))
    for n in range(g.batches):
        for oy in range(g.oh):
            if not c.window.direct:
                copy_lines32(&c.window, x, oy, zeros + line_bytes / <ptrdiff_t>sizeof(float))
            ordered = c.last_positions - position
            ordered = 0 if ordered < 0 else g.ow if ordered > g.ow else ordered
            for group in range(g.groups):
                set_stretches32(&c.window, c.window.direct, x, oy, zeros, group * g.group_ic, stretches)
                row32o(c, &t, c.packed + group * group_floats, g.ow, ordered, patches, y + group * (g.oc / g.groups))
            y += g.ow * g.oc
            position += g.ow
        x += g.ih * g.iw * g.ic
    return t.nan != 0


cdef ptrdiff_t rows_bytes_conv_f32_unfused(ptrdiff_t n, ptrdiff_t k) noexcept nogil:
    return (n + VL - 1) / VL * VL * (k / 8 * 8) * <ptrdiff_t>sizeof(float) + LINE32


cdef void pack_rows_conv_f32_unfused(const float* w, ptrdiff_t n, ptrdiff_t k, float* packed) noexcept nogil:
    """What is left of k beyond a multiple of eight stays where it is."""
    cdef float* at = aligned32(packed)
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t row, t
    cdef int i, half
    while first < n:
        for t in range(k / 8):
            for i in range(8):
                for half in range(VL / 8):
                    row = first + row_of_half32(i, half)
                    if row < n:
                        memcpy(at, w + row * k + 8 * t, 8 * sizeof(float))
                    else:
                        memset(at, 0, 8 * sizeof(float))
                    at += 8
        first += VL


cdef bint rows_conv_f32_unfused(
    const float* packed, const float* w, ptrdiff_t n, ptrdiff_t k, const float* x, const float* bias, float low, float high, float* y,
) noexcept nogil:
    cdef const float* at = aligned32(<void*>packed)
    cdef const float* row
    cdef float sums[16]
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t some, r, i
    cdef int nan = 0
    cdef float v
    while first < n:
        some = n - first if n - first < VL else VL
        vf_store(sums, rows32(at, k, x))
        at += VL * (k / 8 * 8)
        for r in range(some):
            v = sums[r]
            row = w + (first + r) * k
            for i in range(k / 8 * 8, k):
                v = v + row[i] * x[i]
            if first + r == n - 1 and n & 1:
                v = row_f32(row, x, k, True)
            nan |= v != v
            v = v + bias[first + r]
            v = low if v < low else v
            y[first + r] = high if high < v else v
        first += some
    return nan != 0


cdef void fill_conv_f32_unfused(ConvF32UnfusedKernels* table) noexcept:
    table.plan = plan_conv_f32_unfused
    table.rows_bytes = rows_bytes_conv_f32_unfused
    table.pack_rows = pack_rows_conv_f32_unfused
    table.rows = rows_conv_f32_unfused
